"""The decoder against numbers of another implementation, to the tolerances written beside them."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder, count_parameters
from limite.core.model.presets import preset
from limite.core.model.rope import frequencies
from limite.core.pretrained.directory import file_name
from limite.core.pretrained.families.limite import spec_from_config

ROWS, TOKENS = 2, 24
# Rounding of a float64 run is far below the float32 expectations it is compared with.
PRECISIONS = [torch.float32, torch.float64]


def hidden_of(decoder, ids):
    with torch.no_grad():
        return decoder(ids.flatten(), Layout.from_lengths([ids.shape[1]] * ROWS))


def difference(found, expected):
    return (found.double() - expected.double()).abs()


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_logits(golden, golden_decoder, dtype):
    decoder = golden_decoder(dtype)
    hidden = hidden_of(decoder, golden["input_ids"])
    assert (
        difference(hidden.view(ROWS, TOKENS, -1), golden["final_hidden"]).max()
        <= golden.tolerance["residual_states_fp32_max_abs"]
    )
    logits = decoder.logits(hidden).view(ROWS, TOKENS, -1)
    far = difference(logits, golden["logits"])
    assert far.max() <= golden.tolerance["logits_fp32_max_abs"]
    assert far.median() <= golden.tolerance["logits_fp32_median_abs"]


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_streams_and_attention_inputs(golden, golden_decoder, dtype):
    layout = Layout.from_lengths([TOKENS] * ROWS)
    streams, inputs = golden_decoder(dtype).watch(golden["input_ids"].flatten(), layout)
    for found, expected in [
        *zip(streams, golden["residual_states"], strict=True),
        *zip(inputs, golden["attn_inputs"], strict=True),
    ]:
        far = difference(found.view(ROWS, TOKENS, -1), expected)
        assert far.max() <= golden.tolerance["residual_states_fp32_max_abs"]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("one_by_one", ["step", "extend"])
def test_cached_decoding_in_chunks(golden, golden_decoder, dtype, one_by_one):
    decoder, ids = golden_decoder(dtype), golden["input_ids"]
    schedule = golden.about["cached_chunk_schedule"]
    assert sum(schedule) == TOKENS
    cache, found, at = decoder.new_cache(ROWS, TOKENS), [], 0
    for size in schedule:
        chunk = ids[:, at : at + size].flatten()
        if size == 1 and one_by_one == "step":
            hidden = decoder.step(chunk, cache)
        else:
            hidden = decoder.extend(chunk, Layout.from_lengths([size] * ROWS), cache)
        found.append(decoder.logits(hidden).view(ROWS, size, -1))
        at += size
        check_cache(golden, cache, at)
    far = difference(torch.cat(found, dim=1), golden["logits"])
    assert far.max() <= golden.tolerance["cached_decode_vs_prefill_fp32_max_abs"]
    assert far.median() <= golden.tolerance["logits_fp32_median_abs"]


def check_cache(golden, cache, seen):
    """Every slot holds what the position in it should have left there."""
    window = golden.about["config"]["sliding_window"] + 1
    for number, layer in enumerate(cache.layers):
        is_global = number in golden.about["config"]["global_layers"]
        positions = layer.positions(cache.lengths)
        held = [sorted(p for p in row if p >= 0) for row in positions.tolist()]
        first = 0 if is_global else max(0, seen - window)
        assert held == [list(range(first, seen))] * ROWS
        if f"cache_k.{number}" not in golden.numbers:
            continue  # the file has one layer of each kind
        for row in range(ROWS):
            slots = (positions[row] >= 0).nonzero().squeeze(1)
            places = positions[row, slots]
            keys, values = layer.keys[row, :, slots], layer.values[row, :, slots]
            expected_keys = golden[f"cache_k.{number}"][row, places].transpose(0, 1)
            expected_values = golden[f"cache_v.{number}"][row, places].transpose(0, 1)
            # Keys and values are of order 1; so is the tolerance of the streams they come from.
            limit = golden.tolerance["residual_states_fp32_max_abs"]
            assert difference(keys, expected_keys).max() <= limit
            assert difference(values, expected_values).max() <= limit


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_next_token_log_probabilities(golden, golden_decoder, dtype):
    decoder, ids = golden_decoder(dtype), golden["input_ids"]
    hidden = hidden_of(decoder, ids).view(ROWS, TOKENS, -1)[:, :-1].reshape(-1, decoder.spec.width)
    found, _ = decoder.log_probabilities(hidden, ids[:, 1:].flatten())
    far = difference(found.view(ROWS, -1), golden["next_token_logprob"])
    assert far.max() <= golden.tolerance["logits_fp32_max_abs"]


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_greedy_tokens(golden, golden_decoder, dtype):
    decoder, prompt = golden_decoder(dtype), golden["greedy_prompt"]
    expected = golden["greedy_tokens"]
    length, steps = prompt.shape[1], expected.shape[1]
    cache = decoder.new_cache(ROWS, length + steps)
    layout = Layout.from_lengths([length] * ROWS)
    hidden = decoder.extend(prompt.flatten(), layout, cache).view(ROWS, length, -1)[:, -1]
    tokens, padded_wins = [], 0
    for _ in range(steps):
        logits = decoder.logits(hidden)
        padded_wins += int((logits.argmax(-1) >= decoder.vocabulary).sum())
        tokens.append(logits[:, : decoder.vocabulary].argmax(-1))
        hidden = decoder.step(tokens[-1], cache)
    assert torch.equal(torch.stack(tokens, dim=1), expected)
    assert padded_wins == golden.about["greedy_steps_where_a_padded_id_has_the_largest_logit"]


def test_bfloat16_agrees_on_average(golden, golden_decoder):
    decoder = golden_decoder(torch.bfloat16)
    hidden = hidden_of(decoder, golden["input_ids"])
    assert hidden.dtype == torch.bfloat16
    logits = decoder.logits(hidden).view(ROWS, TOKENS, -1)
    assert logits.dtype == torch.float32
    limit = golden.tolerance["bf16_run_mean_abs"]
    assert difference(logits, golden["logits_bf16_run"]).mean() <= limit
    assert difference(logits, golden["logits"]).mean() <= limit


def test_bfloat16_decodes_as_it_reads(golden, golden_decoder):
    decoder, ids = golden_decoder(torch.bfloat16), golden["input_ids"]
    cache = decoder.new_cache(ROWS, TOKENS)
    found = [decoder.logits(decoder.step(ids[:, at], cache)) for at in range(TOKENS)]
    limit = golden.tolerance["bf16_run_mean_abs"]
    assert difference(torch.stack(found, dim=1), golden["logits_bf16_run"]).mean() <= limit


def test_the_inventory_of_the_published_model(inventory):
    spec = spec_from_config(inventory["config"])
    assert spec.filled() == preset("limite-1b").filled()
    decoder = build_decoder(spec, dtype=torch.bfloat16, device="meta")
    kinds = {torch.bfloat16: "BF16", torch.float32: "F32"}
    found = {
        file_name(name): [kinds[value.dtype], list(value.shape)]
        for name, value in decoder.state_dict().items()
    }
    assert found == inventory["tensors"]
    assert len(found) == inventory["tensor_count"] == 743
    assert count_parameters(decoder) == inventory["parameter_count"]


def test_rotary_frequencies_bit_for_bit(inventory):
    bits = [f"0x{value:08x}" for value in frequencies(32, 1024.0).view(torch.int32).tolist()]
    assert bits == inventory["rope_frequency_float32_bits"]
