"""Laws of ``simplicial_attention_decode``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import tiles
from limite.core.kernels.moment import Moment
from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.run import Backend, Law, Outcome, examples
from limite.plugins.conformance.kernels.values import LAYOUTS, broadcast, fill

CACHES = ("k1_cache", "k2_cache", "v1_cache", "v2_cache")
WINDOWS = st.one_of(st.none(), st.sampled_from((1, 2, 3, 4, 7, 8, 9)))


def build(
    lengths: Sequence[int],
    *,
    heads: tuple[int, int] = (1, 1),
    width: int = 16,
    windows: tuple[int | None, int | None] = (4, None),
    slots: tuple[int, int] = (16, 16),
    dtype: torch.dtype = torch.float32,
    layout: str = "contiguous",
    seed: int = 0,
) -> tuple[dict[str, Tensor], dict[str, Any], dict[str, Tensor]]:
    """Inputs with rings of so many ``slots``, arguments, and the streams the rings were filled
    from, ``[B, K, longest, D]``. Slots never written hold NaN."""
    batch, longest = len(lengths), max([1, *lengths])
    kv_heads, group = heads
    streams = {
        name: broadcast(fill((batch, kv_heads, longest, width), "normal", seed + at, dtype), layout)
        for at, name in enumerate(CACHES)
    }
    inputs = {
        "q": broadcast(fill((batch, kv_heads * group, 1, width), "normal", seed + 4, dtype), layout)
    }
    for name, size in zip(CACHES, (*slots, *slots), strict=True):
        inputs[name] = _ring(streams[name], lengths, size, layout)
    inputs["lengths"] = torch.tensor(lengths)
    window1, window2 = windows
    return inputs, {"scale": 0.2, "window1": window1, "window2": window2}, streams


def _ring(stream: Tensor, lengths: Sequence[int], slots: int, layout: str) -> Tensor:
    """Every row's tokens one after the other at their position mod ``slots``."""
    ring = torch.full((*stream.shape[:2], slots, stream.shape[3]), torch.nan, dtype=stream.dtype)
    for row, length in enumerate(lengths if layout != "broadcast" else [max(lengths)] * len(ring)):
        for token in range(length):
            ring[row, :, token % slots] = stream[row, :, token]
    return ring


def decode(
    backend: Backend,
    inputs: Mapping[str, Tensor],
    arguments: Mapping[str, Any],
    layout: str = "contiguous",
    block: int = 8,
) -> Outcome:
    with _tiled(backend, block):
        return run.run("simplicial_attention_decode", backend, inputs, arguments, layout=layout)


def _tiled(backend: Backend, block: int) -> AbstractContextManager[None]:
    if not backend.tiled:
        return nullcontext()
    rows = 16 if backend.compiled else 4
    block = max(block, 16) if backend.compiled else block
    return tiles.use(simplicial_decode=Tile({"R": rows, "BN": block}, warps=4, stages=1))


def require(
    inputs: Mapping[str, Tensor], found: Outcome, exact: Outcome, *, times: float = 1.0
) -> None:
    """Fails unless the output and the log-sum-exp are as close as ``measure`` allows."""
    dtype = inputs["q"].dtype
    out, lse = found.outputs
    exact_out, exact_lse = exact.outputs
    assert out is not None
    assert lse is not None
    assert exact_out is not None
    assert exact_lse is not None
    # A score's own rounding: of its terms in float32, and of half its factors in half precision.
    strain = 4.0 * torch.finfo(torch.promote_types(dtype, torch.float32)).eps
    strain += torch.finfo(dtype).eps if dtype.itemsize == 2 else 0.0
    base = measure.OUTPUT[dtype]
    tolerance = measure.Tolerance(
        times * (base.relative + strain), times * (base.absolute + strain)
    )
    measure.require_close("out", out, exact_out, tolerance)
    height = 1.0 + 2 * math.log(max(inputs["k1_cache"].shape[2], 1))
    wide = measure.OUTPUT[torch.promote_types(dtype, torch.float32)]
    tolerance = measure.Tolerance(
        times * (wide.relative + strain), times * (wide.absolute + strain)
    )
    measure.require_close("lse", lse, exact_lse, tolerance, size=height)


@st.composite
def settings_of(draw: st.DrawFn) -> dict[str, Any]:
    """Everything ``build`` takes besides lengths and dtype."""
    return {
        "heads": draw(st.sampled_from(((1, 1), (1, 2), (2, 1), (1, 5), (2, 3)))),
        "width": draw(st.sampled_from((16, 32))),
        "windows": (draw(WINDOWS), draw(WINDOWS)),
        "slots": (draw(st.sampled_from((1, 4, 8, 9, 17))), draw(st.sampled_from((2, 7, 16)))),
        "layout": draw(st.sampled_from(LAYOUTS)),
        "seed": draw(st.integers(0, 2**31)),
    }


LENGTHS = st.lists(st.sampled_from((0, 1, 2, 7, 8, 9, 16, 17)), min_size=1, max_size=3)


def equals_reference(backend: Backend) -> None:
    """The output and the log-sum-exp are those of the float64 reference."""
    for dtype in backend.dtypes:
        count = 12 if dtype == torch.float32 else 4

        @given(LENGTHS, settings_of(), st.sampled_from((8, 16)), st.just(dtype))
        @example([17, 0, 3], {"windows": (9, 3), "slots": (9, 3), "heads": (2, 3)}, 8, dtype)
        @example([16], {"windows": (8, 4), "slots": (17, 7), "heads": (1, 5)}, 8, dtype)
        @examples(backend, count)
        def equal(
            lengths: list[int], chosen: dict[str, Any], block: int, kind: torch.dtype
        ) -> None:
            inputs, arguments, _ = build(lengths, dtype=kind, **chosen)
            exact = run.exact("simplicial_attention_decode", inputs, arguments)
            layout = chosen.get("layout", "contiguous")
            require(inputs, decode(backend, inputs, arguments, layout, block), exact)

        equal()


def is_last_row_of_prefill(backend: Backend) -> None:
    """Each row gets what its last token gets when all its tokens are there."""

    @given(LENGTHS, settings_of())
    @example([9, 17], {"windows": (4, 8), "slots": (4, 8), "heads": (1, 2)})
    @examples(backend, 4)
    def same(lengths: list[int], chosen: dict[str, Any]) -> None:
        slots = tuple(17 if each is None else each for each in chosen["windows"])
        chosen = {**chosen, "slots": slots, "layout": "contiguous"}
        inputs, arguments, streams = build(lengths, **chosen)
        found = decode(backend, inputs, arguments)
        outs, lses = [], []
        for row, length in enumerate(lengths):
            tokens = {
                name.removesuffix("_cache"): each[row : row + 1, :, :length]
                for name, each in streams.items()
            }
            # One query over no keys does not fit; a row without tokens has its own law.
            if not length:
                outs.append(torch.zeros_like(inputs["q"][:1]).double())
                lses.append(torch.full(inputs["q"].shape[1:3], -torch.inf)[None].double())
                continue
            tokens["q"] = inputs["q"][row : row + 1]
            whole = run.exact("simplicial_attention", tokens, arguments).outputs
            assert whole[0] is not None
            assert whole[1] is not None
            outs.append(whole[0])
            lses.append(whole[1])
        require(inputs, found, Outcome((torch.cat(outs), torch.cat(lses)), {}))

    same()


def ring_equals_full_cache(backend: Backend) -> None:
    """Rings of just the windows give what caches of all tokens give."""

    @given(LENGTHS, settings_of(), st.integers(1, 9), st.integers(1, 9))
    @example([17, 8], {"heads": (1, 2)}, 8, 3)
    @examples(backend, 4)
    def same(lengths: list[int], chosen: dict[str, Any], one: int, two: int) -> None:
        chosen = {**chosen, "windows": (one, two), "layout": "contiguous"}
        inputs, arguments, _ = build(lengths, **{**chosen, "slots": (one, two)})
        full, _, _ = build(lengths, **{**chosen, "slots": (17, 17)})
        require(inputs, decode(backend, inputs, arguments), decode(backend, full, arguments))
        unbounded = {**arguments, "window1": None, "window2": None}
        require(inputs, decode(backend, inputs, unbounded), decode(backend, full, arguments))

    same()


def rows_are_alone(backend: Backend) -> None:
    """A row's bits do not depend on the rows beside it, nor on how many there are, in 32s."""

    @given(settings_of(), st.integers(0, 17))
    @example({"windows": (8, 4), "slots": (9, 4), "heads": (1, 2)}, 17)
    @examples(backend, 2)
    def same(chosen: dict[str, Any], other: int) -> None:
        chosen = {**chosen, "layout": "contiguous"}
        some = 32 if not backend.tiled else 2
        lengths = [(3 * row + 5) % 18 for row in range(2 * some)]
        inputs, arguments, _ = build(lengths, **chosen)
        together = decode(backend, inputs, arguments)
        few = {name: each[:some] for name, each in inputs.items()}
        alone = decode(backend, few, arguments)
        altered = {name: each.clone() for name, each in few.items()}
        altered["lengths"][1:] = other
        for name in ("q", *CACHES):
            altered[name][1:] = fill(altered[name][1:].shape, "normal", 77, torch.float32)
        beside = decode(backend, altered, arguments)
        for one, two, three in zip(together.outputs, alone.outputs, beside.outputs, strict=True):
            assert one is not None
            assert two is not None
            assert three is not None
            measure.require_same_bits("fewer rows", two, one[:some])
            measure.require_same_bits("other rows", three[0], two[0])

    same()


def no_tokens_give_nothing(backend: Backend) -> None:
    """A row of length 0 gives 0, and -inf."""
    inputs, arguments, _ = build([0, 3, 0], heads=(2, 2))
    out, lse = decode(backend, inputs, arguments).outputs
    assert out is not None
    assert lse is not None
    for row in (0, 2):
        assert bool((out[row] == 0).all())
        assert bool((lse[row] == -torch.inf).all())
    assert bool(lse[1].isfinite().all())


def moment_is_as_lengths(backend: Backend) -> None:
    """A ``Moment``, shared by several calls, gives what the lengths give."""
    inputs, arguments, _ = build([3, 9], heads=(1, 2), windows=(4, 2), slots=(4, 9))
    plain = decode(backend, inputs, arguments)
    moment = Moment.of(inputs.pop("lengths").to(backend.device))
    for _ in range(2):
        again = decode(backend, inputs, {**arguments, "lengths": moment})
        for one, two in zip(plain.outputs, again.outputs, strict=True):
            assert one is not None
            assert two is not None
            measure.require_same_bits("a moment", one, two)


def empty(backend: Backend) -> None:
    """No rows, or no heads: empty outputs."""
    for batch, heads in ((0, 2), (2, 0)):
        inputs = {name: torch.zeros(batch, 1, 4, 16) for name in CACHES}
        inputs |= {"q": torch.zeros(batch, heads, 1, 16), "lengths": torch.ones(batch).long()}
        arguments = {"scale": 1.0, "window1": 2, "window2": None}
        out, lse = decode(backend, inputs, arguments).outputs
        assert out is not None
        assert lse is not None
        assert out.shape == (batch, heads, 1, 16)
        assert lse.shape == (batch, heads, 1)


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        equals_reference,
        is_last_row_of_prefill,
        ring_equals_full_cache,
        rows_are_alone,
        no_tokens_give_nothing,
        moment_is_as_lengths,
        empty,
    )
}
