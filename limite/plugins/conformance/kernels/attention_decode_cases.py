"""What the laws of ``attention_decode`` are tried on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import attrs
import torch
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import tiles
from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.measure import Tolerance
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.values import LAYOUTS, REGIMES, broadcast, fill

INPUTS = ("q", "k_cache", "v_cache")
FEWEST = 8
"""Rows from which on the bits of one do not depend on their number: libraries multiply fewer
with other code."""


@attrs.frozen(eq=False, repr=False)
class Case:
    """One call of ``attention_decode``."""

    inputs: Mapping[str, Tensor]
    arguments: Mapping[str, Any]
    layout: str
    blocks: tuple[int, int, int]  # keys of a tile, of a split; splits merged at once
    parameters: Mapping[str, Any]  # of ``build``

    def __repr__(self) -> str:
        return f"build(**{dict(self.parameters)})"


def build(
    *,
    dtype: torch.dtype = torch.float32,
    slots: int = 33,
    lengths: Sequence[int] = (1, 33, 20),
    kv_heads: int = 1,
    group: int = 1,
    width: int = 16,
    window: int | None = None,
    softcap: float | None = None,
    scale: float = 0.25,
    regimes: Sequence[str] = ("normal", "normal", "normal"),
    offset: float = 0.0,
    layout: str = "contiguous",
    blocks: tuple[int, int, int] = (16, 16, 2),
    seed: int = 0,
) -> Case:
    """The case of these parameters. ``offset`` is added to all scores."""
    parameters = {name: value for name, value in locals().items() if name != "parameters"}
    rows = len(lengths)
    shapes = {
        "q": (rows, kv_heads * group, 1, width),
        "k_cache": (rows, kv_heads, slots, width),
        "v_cache": (rows, kv_heads, slots, width),
    }
    inputs = {
        name: broadcast(fill(shapes[name], regime, seed + place, dtype), layout)
        for place, (name, regime) in enumerate(zip(INPUTS, regimes, strict=True))
    }
    if offset:
        inputs["q"][..., 0] = 14.0
        inputs["k_cache"][..., 0] = offset / 14.0 / scale
    inputs["lengths"] = torch.tensor(list(lengths), dtype=torch.int64)
    arguments = {"scale": scale, "window": window, "softcap": softcap}
    return Case(inputs, arguments, layout, blocks, parameters)


def slot_counts(backend: Backend) -> tuple[int, ...]:
    """At the edges of splits, and where nothing is slow to interpret of the CPU's own tiles."""
    few = (1, 2, 15, 16, 17, 31, 33)
    return few if backend.tiled and not backend.compiled else (*few, 63, 64, 65, 128, 150)


@st.composite
def cases(
    draw: st.DrawFn,
    /,
    backend: Backend,
    dtype: torch.dtype = torch.float32,
    *,
    rows: tuple[int, int] = (1, 3),
    regimes: Sequence[str] = REGIMES,
    **fixed: Any,
) -> Case:
    """Any call of attention_decode; ``fixed`` parameters of ``build`` are not drawn."""
    chosen = dict(fixed)

    def choose(name: str, strategy: st.SearchStrategy[Any]) -> Any:
        if name not in chosen:
            chosen[name] = draw(strategy)
        return chosen[name]

    slots = choose("slots", st.sampled_from(slot_counts(backend)))
    near = {0, 1, 2, 16, 17, 32, slots - 1, slots, slots + 1, 2 * slots + 3}
    lengths = st.one_of(st.sampled_from(sorted(near)), st.integers(1, 2 * slots))
    choose("lengths", st.lists(lengths, min_size=rows[0], max_size=rows[1]).map(tuple))
    windows = st.sampled_from(sorted({1, 2, 15, 16, 17, max(1, slots - 1), slots, slots + 1}))
    choose("window", st.one_of(st.none(), windows))
    if "group" not in chosen:
        shapes = st.sampled_from(((1, 1), (2, 1), (1, 2), (1, 3), (2, 3), (1, 5)))
        chosen["kv_heads"], chosen["group"] = draw(shapes)
    choose("width", st.sampled_from((16, 16, 32)))
    choose("softcap", st.sampled_from((None, None, 0.7, 20.0)))
    choose("scale", st.sampled_from((0.1, 0.25, 1.0)))
    choose("offset", st.sampled_from((0.0, 0.0, 0.0, -200.0, 200.0)))
    choose("layout", st.sampled_from(LAYOUTS))
    choose("blocks", st.sampled_from(((16, 16, 2), (16, 32, 4))))
    choose("seed", st.integers(0, 2**31))
    return build(dtype=dtype, regimes=[draw(st.sampled_from(regimes)) for _ in INPUTS], **chosen)


def tiled(backend: Backend, blocks: tuple[int, int, int]) -> AbstractContextManager[None]:
    if not backend.tiled:
        return nullcontext()
    return tiles.use(
        attention_decode=Tile({"BN": blocks[0], "SPLIT": blocks[1]}),
        attention_decode_merge=Tile({"BS": blocks[2]}),
    )


def outcome(backend: Backend, case: Case) -> Outcome:
    """What the backend makes of the case."""
    with tiled(backend, case.blocks):
        return run.run("attention_decode", backend, case.inputs, case.arguments, layout=case.layout)


def expected(case: Case) -> Outcome:
    """What the float64 reference makes of the case."""
    return run.exact("attention_decode", case.inputs, case.arguments)


def require_outcome(case: Case, found: Outcome, exact: Outcome) -> None:
    """Fails unless output and log-sum-exp are as close as ``measure`` allows."""
    q, k, v = (case.inputs[name] for name in INPUTS)
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = q.double() @ k.double().repeat_interleave(q.shape[1] // k.shape[1], 1).mT
    highest = scores.abs().nan_to_num().max().item() if scores.numel() else 0.0
    # A score is wrong by the rounding of the products it is the sum of, and a weight relatively
    # by as much as its score is absolutely.
    extra = 2 * torch.finfo(wide).eps * abs(case.arguments["scale"]) * highest

    def allowed(dtype: torch.dtype) -> Tolerance:
        base = measure.OUTPUT[dtype]
        return Tolerance(base.relative + extra, base.absolute + extra)

    (out, lse), (right, right_lse) = found.outputs, exact.outputs
    assert out is not None
    assert right is not None
    measure.require_close("out", out, right, allowed(q.dtype), size=measure.size_of(v))
    if lse is not None and right_lse is not None:
        height = 1.0 + math.log(k.shape[2])
        measure.require_close("lse", lse, right_lse, allowed(wide), size=height)


def changed(case: Case, **inputs: Tensor) -> Case:
    return attrs.evolve(case, inputs={**case.inputs, **inputs})


def require_same_rows(found: Outcome, other: Outcome, rows: slice | Sequence[int]) -> None:
    """Fails unless ``rows`` of one are all of the other, to the bit."""
    for name, one, two in zip(("out", "lse"), found.outputs, other.outputs, strict=True):
        assert (one is None) == (two is None)
        if one is not None and two is not None:
            measure.require_same_bits(name, one[rows], two)


def seen_slots(case: Case) -> Tensor:
    """Which slots each row sees: ``[B, S]`` bool."""
    slots = case.inputs["k_cache"].shape[2]
    window = case.arguments["window"]
    seen = torch.zeros(len(case.inputs["lengths"]), slots, dtype=torch.bool)
    for row, length in enumerate(case.inputs["lengths"].tolist()):
        first = max(0, length - min(slots, slots if window is None else window))
        for position in range(first, length):
            seen[row, position % slots] = True
    return seen
