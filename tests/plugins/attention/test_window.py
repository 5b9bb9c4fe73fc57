"""Softmax attention against its formula: short rows, long rows, windows of every width."""

from __future__ import annotations

import pytest
import torch

from limite.core.kernels.cpu import attention as cpu_attention
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.slots import bucket, tiles
from limite.core.model.spec import AttentionShape
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.keyvalue import KeyValueCache
from limite.plugins.attention.local import Local
from limite.plugins.attention.local_global import LocalGlobal

CLOSE = {"rtol": 1e-9, "atol": 1e-10}  # float64: the order of sums


def shape(heads=4, kv_heads=2, head_width=4, layer=0):
    return AttentionShape(
        layer=layer,
        layers=4,
        heads=heads,
        kv_heads=kv_heads,
        head_width=head_width,
        width=heads * head_width,
        scale=0.4,
    )


def plain(queries, keys, values, lengths, window):
    """Row by row, head by head, from the formula."""
    groups = queries.shape[1] // keys.shape[1]
    keys, values = (x.repeat_interleave(groups, dim=1) for x in (keys, values))
    outs = []
    for q, k, v in zip(*(x.split(lengths) for x in (queries, keys, values)), strict=True):
        distance = torch.arange(len(q))[:, None] - torch.arange(len(q))
        hidden = (distance < 0) | (distance >= window)
        scores = torch.einsum("ihd,jhd->hij", q, k) * 0.4
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        outs.append(torch.einsum("hij,jhd->ihd", weights, v))
    return torch.cat(outs)


def streams(tokens, heads, kv_heads, seed=0):
    draw = torch.Generator().manual_seed(seed)

    def one(count):
        values = torch.randn(tokens, count, 4, dtype=torch.float64, generator=draw)
        return values.requires_grad_()

    return [one(heads), one(kv_heads), one(kv_heads)]


LENGTHS = {
    "one row": [9],
    "equal rows": [12, 12, 12],
    "ragged rows": [1, 9, 33, 4, 70],
    "an empty row": [3, 0, 5],
}


@pytest.mark.parametrize("way", ["stretches", "fused"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=list(LENGTHS))
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 2), (3, 1), (2, 2)])
@pytest.mark.parametrize("window", [None, 1, 3, 8, 12, 40])
def test_values_and_gradients(monkeypatch, way, lengths, heads, kv_heads, window):
    monkeypatch.setattr(cpu_attention, "NARROW", 64 if way == "stretches" else 0)
    component = Global() if window is None else Local(window=window)
    mixer = component.build(shape(heads, kv_heads))
    inputs = streams(sum(lengths), heads, kv_heads)
    found = mixer(*inputs, torch.empty(0), Layout.from_lengths(lengths))
    wanted = plain(*inputs, lengths, window or sum(lengths))
    torch.testing.assert_close(found, wanted, **CLOSE)
    upstream = torch.linspace(-1, 1, found.numel(), dtype=torch.float64).view_as(found)
    torch.testing.assert_close(
        torch.autograd.grad(found, inputs, upstream),
        torch.autograd.grad(wanted, inputs, upstream),
        **CLOSE,
    )


@pytest.mark.parametrize("window", [None, 1025, 70, 20])
def test_long_rows(window):
    lengths = [300, 7]
    component = Global() if window is None else Local(window=window)
    inputs = streams(307, 2, 1)
    with torch.no_grad():
        found = component.build(shape(2, 1))(*inputs, torch.empty(0), Layout.from_lengths(lengths))
        torch.testing.assert_close(found, plain(*inputs, lengths, window or 300), **CLOSE)


def test_bfloat16_is_near():
    inputs = [x.detach() for x in streams(20, 4, 2)]
    narrow = [x.bfloat16() for x in inputs]
    found = Local(window=6).build(shape())(*narrow, torch.empty(0), Layout.from_lengths([20]))
    assert found.dtype == torch.bfloat16
    wanted = plain(*(x.double() for x in narrow), [20], 6)
    # Weights and outputs rounded to 8 bits each, of values up to about 3.
    torch.testing.assert_close(found.double(), wanted, rtol=0, atol=3 * 2**-7)


def test_a_local_cache_is_bounded():
    cpu = torch.device("cpu")
    make = lambda component, capacity: (  # noqa: E731
        component.build(shape()).new_cache(3, capacity, torch.float32, cpu).values.shape[2]
    )
    assert make(Local(window=16), 100_000) == 16
    assert make(Local(window=1025), 100_000) == 1025
    assert make(Local(window=1025), 50) == 64
    assert make(Global(), 100) == 128


def test_tiles_are_the_same_for_every_size():
    ends = [64, 128, 256, 512, 1024, 2048, 3072]
    assert [stop for _, stop in tiles(3072)] == ends
    assert list(tiles(100)) == [(0, 64), (64, 100)]
    for length, end in [(1, 64), (64, 64), (65, 128), (1025, 2048), (2049, 3072)]:
        assert bucket(length) == end


def test_the_pattern():
    pattern = LocalGlobal()
    assert [layer for layer in range(12) if pattern.is_global(layer)] == [3, 7, 11]
    assert [LocalGlobal(global_every=2).is_global(i) for i in range(4)] == [False, True] * 2
    named = LocalGlobal(global_layers=(0, 2))
    assert [named.is_global(layer) for layer in range(4)] == [True, False, True, False]
    built = [pattern.build(shape(layer=layer)) for layer in (2, 3)]
    assert [mixer.rotary for mixer in built] == [True, False]
    assert [mixer.window for mixer in built] == [16, None]
    assert Global(rotary=True).build(shape()).rotary


@pytest.mark.parametrize(
    ("component", "settings", "field"),
    [
        (Local, {"window": 0}, "window"),
        (LocalGlobal, {"window": -1}, "window"),
        (LocalGlobal, {"global_every": 0}, "global_every"),
        (LocalGlobal, {"global_layers": (3, 1)}, "global_layers"),
        (LocalGlobal, {"global_layers": (-1, 1)}, "global_layers"),
    ],
)
def test_impossible_settings_are_named(component, settings, field):
    with pytest.raises(ValueError, match=field):
        component(**settings)


def test_a_cache_off_the_cpu_stores_keys_like_values():
    """The other order of keys, tried where there is no GPU: the same rows, to rounding."""
    mixer = Global().build(shape())
    caches = [mixer.new_cache(9, 80, torch.float64, torch.device("cpu")) for _ in range(2)]
    caches[1] = KeyValueCache(caches[1].values.clone(), caches[1].values.clone(), by_channel=False)
    whole = [x.detach() for x in streams(9 * 12, 4, 2)]
    outs = []
    for cache in caches:
        layout = Layout.from_lengths([10] * 9)
        rows = [x.view(9, 12, *x.shape[1:]) for x in whole]
        begun = [x[:, :10].flatten(0, 1) for x in rows]
        mixer.extend(*begun, torch.empty(0), layout, cache, (0,) * 9)
        for place in (10, 11):
            moment = Moment.of(torch.full((9,), place + 1))
            last = mixer.step(*(x[:, place] for x in rows), torch.empty(0), cache, moment)
        outs.append(last)
    assert caches[0].keys.shape == caches[1].keys.shape
    torch.testing.assert_close(caches[0].keys, caches[1].keys, rtol=0, atol=0)
    torch.testing.assert_close(outs[0], outs[1], **CLOSE)
    wanted = plain(*whole, [12] * 9, 12).view(9, 12, 4, 4)[:, -1]
    torch.testing.assert_close(outs[0], wanted, **CLOSE)


def test_a_cache_refuses_memory_that_it_could_only_copy():
    keys, values = torch.zeros(3, 2, 4, 16), torch.zeros(3, 2, 16, 4)
    with pytest.raises(RuntimeError, match="view"):
        KeyValueCache(keys, values.transpose(1, 2).contiguous().transpose(1, 2), by_channel=True)
    with pytest.raises(RuntimeError, match="view"):
        KeyValueCache(keys.transpose(0, 1).contiguous().transpose(0, 1), values, by_channel=True)


@pytest.mark.parametrize(("component", "window"), [(Global(), 99), (Local(window=3), 3)])
def test_arithmetic_counts_what_is_seen(component, window):
    mixer = component.build(shape(heads=4, head_width=4))
    for tokens in range(8):
        seen = sum(min(place, window) for place in range(1, tokens + 1))
        assert mixer.arithmetic(tokens) == 4 * 4 * 4 * seen
