"""A decoder as a whole: rows apart, cached as uncached, the same bits whoever is in the batch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.kernels import dispatch, ops
from limite.core.kernels.layout import Layout
from limite.core.model.init import build_decoder, count_parameters
from limite.core.model.presets import preset
from limite.core.model.spec import ModelSpec
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local_global import LocalGlobal

# Float32 hidden states of unit root mean square, through four layers.
ROUNDING = {"rtol": 0, "atol": 2e-4}

token_rows = st.lists(st.lists(st.integers(0, 39), min_size=1, max_size=40), min_size=1, max_size=5)


def packed(rows):
    flat = [token for row in rows for token in row]
    return torch.tensor(flat, dtype=torch.int64), Layout.from_lengths([len(row) for row in rows])


def hidden_of(decoder, rows):
    with torch.no_grad():
        return decoder(*packed(rows))


@given(token_rows)
def test_rows_do_not_touch(tiny, rows):
    alone = torch.cat([hidden_of(tiny, [row]) for row in rows])
    torch.testing.assert_close(hidden_of(tiny, rows), alone, **ROUNDING)


@given(token_rows, st.lists(st.integers(0, 9), min_size=1, max_size=60))
def test_any_chunks_give_what_whole_rows_give(tiny, rows, sizes):
    cache, at = tiny.new_cache(len(rows), 40), [0] * len(rows)
    found = [[] for _ in rows]
    draw = iter(sizes)
    while any(done < len(row) for done, row in zip(at, rows, strict=True)):
        left = [len(row) - done for done, row in zip(at, rows, strict=True)]
        if all(left) and next(draw, 0) % 2:
            taken = [1] * len(rows)
            hidden = tiny.step(
                torch.tensor([row[i] for row, i in zip(rows, at, strict=True)]), cache
            )
        else:
            taken = [min(next(draw, 4), rest) for rest in left]
            pieces = [row[i : i + n] for row, i, n in zip(rows, at, taken, strict=True)]
            hidden = tiny.extend(*packed(pieces), cache)
        for into, part in zip(found, hidden.split(taken), strict=True):
            into.append(part)
        at = [done + n for done, n in zip(at, taken, strict=True)]
        assert cache.lengths.tolist() == at == list(cache.seen)
    got = torch.cat([torch.cat(parts) for parts in found])
    torch.testing.assert_close(got, hidden_of(tiny, rows), **ROUNDING)


@given(st.integers(8, 20), st.integers(0, 2**16), st.sampled_from((41, 64, 70, 128)))
def test_a_row_has_the_same_bits_in_every_batch(tiny, count, seed, capacity):
    draw = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 38, (20,), generator=draw).tolist()
    rows = [torch.randint(0, 40, (length + 3,), generator=draw).tolist() for length in lengths]

    def decode(chosen, capacity):
        cache = tiny.new_cache(len(chosen), capacity)
        hidden = [tiny.extend(*packed([rows[i][:-3] for i in chosen]), cache)]
        for step in (-3, -2, -1):
            hidden.append(tiny.step(torch.tensor([rows[i][step] for i in chosen]), cache))
        read = hidden[0].split([lengths[i] for i in chosen])
        later = torch.stack(hidden[1:], dim=1)
        return {i: torch.cat(parts) for i, *parts in zip(chosen, read, later, strict=True)}

    some = torch.randperm(20, generator=draw)[:count].tolist()
    everyone = decode(range(20), 128)
    for row, hidden in decode(some, capacity).items():
        assert torch.equal(hidden, everyone[row])


def test_a_prompt_is_read_once_and_continued_many_times(tiny):
    rows = [[5, 1, 2], [7, 8, 9, 10, 11]]
    cache = tiny.new_cache(2, 20)
    tiny.extend(*packed(rows), cache)
    order = [1, 0, 1, 1]
    repeated = cache.select(torch.tensor(order))
    following = [20, 21, 22, 23]
    found = tiny.step(torch.tensor(following), repeated)
    expected = [hidden_of(tiny, [rows[i] + [t]])[-1] for i, t in zip(order, following, strict=True)]
    torch.testing.assert_close(found, torch.stack(expected), **ROUNDING)
    assert cache.lengths.tolist() == [3, 5], "the cache selected from goes on by itself"
    assert repeated.lengths.tolist() == [6, 4, 6, 6]


def test_a_finished_row_gives_its_place_to_another(tiny):
    cache, other = tiny.new_cache(3, 20), tiny.new_cache(1, 20)
    tiny.extend(*packed([[1, 2], [3, 4, 5], [6]]), cache)
    tiny.extend(*packed([[9, 8, 7, 6]]), other)
    cache.replace([1], other)
    found = tiny.step(torch.tensor([10, 11, 12]), cache)
    rows = [[1, 2, 10], [9, 8, 7, 6, 11], [6, 12]]
    expected = torch.stack([hidden_of(tiny, [row])[-1] for row in rows])
    torch.testing.assert_close(found, expected, **ROUNDING)


def test_inference_mode_leaves_training_alone(tiny):
    with torch.inference_mode():
        cache = tiny.new_cache(8, 10)
        tiny.extend(*packed([[1, 2]] * 8), cache)
        tiny.step(torch.zeros(8, dtype=torch.int64), cache.select(range(8)))
    logp, _ = tiny.log_probabilities(tiny(*packed([[1, 2, 3]])), torch.tensor([2, 3, 4]))
    gradients = torch.autograd.grad(logp.sum(), list(tiny.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_gradients_are_those_of_each_row_alone(tiny):
    rows = [[5, 1, 2, 30], [7], [7, 8, 9, 10, 11, 12]]
    decoder = build_double(tiny)
    parameters = list(decoder.parameters())

    def gradients(rows):
        tokens, layout = packed(rows)
        logp, _ = decoder.log_probabilities(decoder(tokens, layout), tokens)
        weights = 1.0 + tokens.double() / 10  # not the same for every token
        return torch.autograd.grad((logp * weights).sum(), parameters)

    alone = [sum(parts) for parts in zip(*(gradients([row]) for row in rows), strict=True)]
    torch.testing.assert_close(list(gradients(rows)), alone, rtol=1e-8, atol=1e-10)


def build_double(decoder):
    copy = build_decoder(decoder.spec, dtype=torch.float64)
    copy.load_state_dict(decoder.state_dict())
    return copy


def test_rows_longer_than_the_context_are_refused(tiny):
    with pytest.raises(LimiteError, match="129 tokens is longer than the model's context of 128"):
        hidden_of(tiny, [[1] * 129])
    with pytest.raises(LimiteError, match="context"):
        tiny.new_cache(2, 129)


def test_shapes_alone_take_no_memory():
    decoder = build_decoder(preset("limite-1b"), device="meta")
    assert {p.device.type for p in decoder.parameters()} == {"meta"}
    hidden = decoder(
        torch.zeros(4, dtype=torch.int64, device="meta"), Layout.from_lengths([2, 2], "meta")
    )
    assert hidden.shape == (4, 1280)
    assert count_parameters(decoder) == 1_035_254_176


def test_the_first_values_follow_the_seed():
    spec = ModelSpec(vocabulary=30)
    one, same, other = (build_decoder(spec, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)
    # A deeper model's first layers do not move.
    deeper = build_decoder(ModelSpec(vocabulary=30, layers=5), 1).state_dict()
    name = "layers.0.self_attn.q_proj.weight"
    assert torch.equal(one[name], deeper[name])


def test_random_state_is_not_touched():
    before = torch.random.get_rng_state()
    build_decoder(ModelSpec(vocabulary=30), 1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_mixtures_start_with_the_current_stream():
    spec = ModelSpec(vocabulary=30, layers=6)
    mixing, plain = (
        build_decoder(s, 1)
        for s in (spec, ModelSpec(vocabulary=30, layers=6, mudd_layers=(), mudd_taps=()))
    )
    assert mixing.mudd is not None
    assert plain.mudd is None
    rows = [[1, 2, 3, 4], [5, 6]]
    assert torch.equal(hidden_of(mixing, rows), hidden_of(plain, rows))


@pytest.mark.parametrize(
    "spec",
    [
        ModelSpec(vocabulary=9, layers=1),
        ModelSpec(vocabulary=9, layers=2, head_gate_channels=0, value_layers=(), xsa_layers=()),
        ModelSpec(vocabulary=9, heads=4, kv_heads=2, head_width=6, rope_pairs=0, value_width=4),
        ModelSpec(vocabulary=9, padded_vocabulary=16, mudd_residual=False, value_heads=2),
        ModelSpec(vocabulary=9, attention=LocalGlobal(window=2, global_every=2), width=48),
        ModelSpec(vocabulary=9, attention="global"),
        ModelSpec(vocabulary=9, attention=Global(rotary=True), head_width=4, heads=3, kv_heads=3),
        ModelSpec(vocabulary=9, layers=3, mudd_layers=(1, 2), mudd_taps=((0,), (1,))),
    ],
)
def test_every_shape_trains_and_decodes(spec):
    decoder = build_decoder(spec, 2)
    rows = [[1, 2, 3, 4, 5], [8], [6, 7]]
    logp, _ = decoder.log_probabilities(decoder(*packed(rows)), packed(rows)[0])
    logp.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in decoder.parameters())
    cache = decoder.new_cache(3, 8)
    decoder.extend(*packed(rows), cache)
    found = decoder.step(torch.tensor([3, 3, 3]), cache)
    expected = torch.stack([hidden_of(decoder, [[*row, 3]])[-1] for row in rows])
    torch.testing.assert_close(found, expected, **ROUNDING)
    assert decoder.logits(found).shape == (3, decoder.spec.padded_vocabulary)


def test_weights_are_taken_at_the_first_step_and_shared(tiny, monkeypatch):
    taken, take = [], tiny.step_weights

    def noted():
        taken.append(take())
        return taken[-1]

    monkeypatch.setattr(tiny, "step_weights", noted)
    cache, other = tiny.new_cache(2, 16), tiny.new_cache(1, 16)
    tiny.extend(*packed([[1, 2], [3]]), cache)
    tiny.extend(*packed([[4]]), other)
    many = cache.select([0, 1, 1])
    assert not taken
    tiny.step(torch.tensor([5, 6, 7]), many)
    assert len(taken) == 1
    cache.replace([0], other)
    for each in (cache, cache.select([1]), many.select([0, 2])):
        tiny.step(torch.full((each.rows,), 5), each)
        assert len(taken) == 1
    tiny.step(torch.tensor([5]), other)
    assert len(taken) == 2


def test_a_step_follows_what_is_asked_for_at_the_time(tiny):
    calls = []

    def noted(gate, up):
        calls.append(gate.shape)
        return torch.nn.functional.silu(gate) * up

    dispatch.register(dispatch.Implementation("swiglu", "noted", lambda: noted))
    tokens, cache = torch.tensor([3, 5]), tiny.new_cache(2, 16)
    try:
        for _ in range(2):
            tiny.step(tokens, cache)
        assert not calls
        for steps in (1, 2):
            with ops.use("swiglu=noted"):
                tiny.step(tokens, cache)
            assert len(calls) == steps * tiny.spec.layers
            tiny.step(tokens, cache)
            assert len(calls) == steps * tiny.spec.layers
    finally:
        dispatch.forget("swiglu", "noted")


def test_a_step_takes_one_token_for_each_row(tiny):
    cache = tiny.new_cache(2, 16)
    for _ in range(2):
        with pytest.raises(AssertionError, match="3,\\) tokens for 2 rows"):
            tiny.step(torch.tensor([3, 5, 7]), cache)
        tiny.step(torch.tensor([3, 5]), cache)


def test_a_mixer_that_passes_what_does_not_fit_is_told_at_any_step(tiny, monkeypatch):
    """Unless it has its steps recorded: those were looked at when they were taken."""
    mixer = tiny.layers[0].self_attn.mixer
    monkeypatch.setattr(mixer, "decided", lambda cache: None)
    tokens, cache = torch.tensor([3, 5]), tiny.new_cache(2, 16)
    tiny.step(tokens, cache)
    tiny.step(tokens, cache)
    step = mixer.step

    def narrow(queries, *others):
        return step(queries[..., :-1], *others)

    monkeypatch.setattr(mixer, "step", narrow)
    with pytest.raises(ValueError, match="attention_decode: k_cache: expected"):
        tiny.step(tokens, cache)
