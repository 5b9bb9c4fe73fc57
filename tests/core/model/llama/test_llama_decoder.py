"""Decoders of Llama's family: rows, chunks, steps and gradients, whatever the variant."""

from __future__ import annotations

import pytest
import torch

from limite.core.errors import LimiteError
from limite.core.kernels import ops
from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder
from limite.core.model.llama.scaling import YarnScaling
from limite.core.model.llama.spec import LlamaSpec
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal

SMALL = {
    "width": 24,
    "layers": 3,
    "heads": 4,
    "kv_heads": 2,
    "head_width": 6,
    "mlp_width": 40,
    "vocabulary": 40,
    "context": 64,
}
SPECS = {
    "plain": LlamaSpec(**SMALL),
    "biased": LlamaSpec(
        **SMALL, query_key_value_bias=True, output_bias=True, mlp_bias=True, tied_head=False
    ),
    "normed": LlamaSpec(
        **SMALL,
        query_key_norm=True,
        rope_scaling=YarnScaling(factor=4.0, original_context=16),
        attention=LocalGlobal(window=5, global_layers=(1,), global_rotary=True),
    ),
    "windowed": LlamaSpec(**SMALL | {"kv_heads": 1}, attention=Local(window=4)),
    "without positions": LlamaSpec(**SMALL, attention="global"),
}
CHUNKS = ([7, 1, 0], [2, 0, 5], [1, 1, 1], [4, 3, 9])


@pytest.fixture(scope="module", params=SPECS)
def noisy(request):
    """``noisy(dtype)``: a decoder in which nothing is 0 or 1."""

    def make(dtype=torch.float32):
        decoder = build_decoder(SPECS[request.param], 3, dtype=dtype)
        noise = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for parameter in decoder.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=noise).to(dtype) * 0.2)
        return decoder

    return make


def tokens(*shape, seed=0):
    return torch.randint(40, shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_chunks_and_steps_give_what_whole_rows_give(noisy, dtype):
    decoder, rows = noisy(dtype), [tokens(20, seed=row) for row in range(3)]
    cache = decoder.new_cache(3, 24)
    found = [[], [], []]
    with torch.no_grad():
        for chunk in CHUNKS:
            parts = [
                row[start : start + size]
                for row, start, size in zip(rows, cache.seen, chunk, strict=True)
            ]
            hidden = decoder.extend(torch.cat(parts), Layout.from_lengths(chunk), cache)
            for row, part in enumerate(hidden.split(chunk)):
                found[row].append(part)
        for _ in range(3):
            picked = [row[seen] for row, seen in zip(rows, cache.seen, strict=True)]
            hidden = decoder.step(torch.stack(picked), cache)
            for row in range(3):
                found[row].append(hidden[row, None])
        for row, parts in enumerate(found):
            whole = decoder(rows[row][: cache.seen[row]], Layout.from_lengths([cache.seen[row]]))
            tolerance = 1e-5 if dtype == torch.float32 else 1e-12
            torch.testing.assert_close(torch.cat(parts), whole, rtol=tolerance, atol=tolerance)


def test_a_step_in_half_precision_is_a_chunk_of_one(noisy):
    decoder = noisy(torch.bfloat16)
    caches = [decoder.new_cache(2, 16) for _ in range(2)]
    assert caches[0].weights.get() is None
    for cache in caches:
        decoder.extend(tokens(9), Layout.from_lengths([6, 3]), cache)
    later = tokens(2, seed=1)
    stepped = decoder.step(later, caches[0])
    extended = decoder.extend(later, Layout.from_lengths([1, 1]), caches[1])
    assert stepped.dtype == torch.bfloat16
    assert torch.equal(stepped, extended)


def test_the_reference_operations_give_the_same(noisy):
    decoder, layout = noisy(torch.float64), Layout.from_lengths([9, 4])
    found = []
    for name in ("cpu", "reference"):
        with ops.use(name), torch.no_grad():
            cache = decoder.new_cache(2, 16)
            hidden = decoder.extend(tokens(13), layout, cache)
            found.append(torch.cat((hidden, decoder.step(tokens(2, seed=1), cache))))
    torch.testing.assert_close(found[0], found[1], rtol=1e-11, atol=1e-11)


def test_gradients_are_those_of_each_row_alone(noisy):
    decoder, lengths = noisy(torch.float64), [7, 3, 12]
    rows = [tokens(length, seed=length) for length in lengths]

    def gradients(batches):
        decoder.zero_grad()
        for batch in batches:
            layout = Layout.from_lengths([len(row) for row in batch])
            packed = torch.cat(batch)
            logp, _ = decoder.log_probabilities(decoder(packed, layout), packed.roll(-1))
            # The token after a row's last is not that row's: it has no weight.
            last = layout.starts + layout.lengths_tensor - 1
            (logp * torch.ones_like(logp).index_fill(0, last, 0.0)).sum().backward()
        return {name: parameter.grad.clone() for name, parameter in decoder.named_parameters()}

    together, apart = gradients([rows]), gradients([[row] for row in rows])
    for name in together:
        torch.testing.assert_close(together[name], apart[name], rtol=1e-9, atol=1e-10)
        assert together[name].abs().sum() > 0, name


def test_a_prompt_is_read_once_and_continued_many_times(noisy):
    decoder = noisy()
    cache = decoder.new_cache(2, 16)
    decoder.extend(tokens(9), Layout.from_lengths([6, 3]), cache)
    many = cache.select([0, 0, 1])
    later = tokens(3, seed=1)
    found = decoder.step(later, many)
    for row, source in enumerate([0, 0, 1]):
        alone = cache.select([source])
        expected = decoder.step(later[row, None], alone)
        torch.testing.assert_close(found[row, None], expected, rtol=1e-5, atol=1e-5)


def test_every_layer_can_be_watched(noisy):
    decoder, layout = noisy(), Layout.from_lengths([5])
    streams, inputs = decoder.watch(tokens(5), layout)
    assert len(streams) == len(inputs) + 1 == 4
    normal = ops.rms_norm(streams[-1], decoder.norm.weight, eps=decoder.spec.norm_epsilon)
    assert torch.equal(normal, decoder(tokens(5), layout))


def test_rows_longer_than_the_context_are_refused(noisy):
    with pytest.raises(LimiteError, match="65 tokens is longer than the model's context of 64"):
        noisy()(tokens(65), Layout.from_lengths([65]))


def test_a_decoder_learns():
    decoder = build_decoder(SPECS["normed"], 1)
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=3e-3)
    text, layout = tokens(48), Layout.from_lengths([24, 24])
    targets = torch.cat([row.roll(-1) for row in text.split(24)])
    losses = []
    for _ in range(60):
        logp, _ = decoder.log_probabilities(decoder(text, layout), targets)
        losses.append(-logp.mean())
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.2 * losses[0]
