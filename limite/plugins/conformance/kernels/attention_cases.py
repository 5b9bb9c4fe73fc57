"""What the laws of attention are tried on: shapes, windows and rows at the edges of tiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import attrs
import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels import tiles
from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import measure, run
from limite.plugins.conformance.kernels.measure import Tolerance
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.values import LAYOUTS, REGIMES, broadcast, fill

INPUTS = ("q", "k", "v")
MILD = ("normal", "constant", "one-hot", "ties")
"""Regimes whose scores are not so large that two right sums of them differ visibly."""

SMALLEST_SUM = 16
"""Terms of a compiled matrix product's sums in half precision, at least."""

KERNELS = ("attention_forward", "attention_backward_dq", "attention_backward_dkv")


@attrs.frozen(eq=False, repr=False)
class Case:
    """One call of ``attention`` and the gradients that flow back into it."""

    inputs: Mapping[str, Tensor]
    arguments: Mapping[str, Any]  # segments are among the inputs
    upstream: tuple[Tensor | None, ...]  # of the output and the log-sum-exp
    layout: str
    blocks: tuple[int, int]  # queries and keys of a tile, where there are tiles
    parameters: Mapping[str, Any]  # of ``build``

    @property
    def group(self) -> int:
        return self.inputs["q"].shape[1] // self.inputs["k"].shape[1]

    def __repr__(self) -> str:
        return f"build(**{dict(self.parameters)})"

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(repr(self))


def build(
    *,
    dtype: torch.dtype = torch.float32,
    batch: int = 1,
    kv_heads: int = 1,
    group: int = 1,
    keys: int = 17,
    queries: int | None = None,
    width: int = 16,
    window: int | None = None,
    segments: Sequence[Sequence[int]] | None = None,
    softcap: float | None = None,
    scale: float = 0.25,
    regimes: Sequence[str] = ("normal", "normal", "normal"),
    offset: float = 0.0,
    layout: str = "contiguous",
    flows: str = "both",
    blocks: tuple[int, int] = (8, 8),
    seed: int = 0,
) -> Case:
    """The case of these parameters. ``offset`` is added to all scores; ``flows``: to what a
    gradient flows back, ``"out"``, ``"lse"`` or ``"both"``."""
    parameters = {name: value for name, value in locals().items() if name != "parameters"}
    count = keys if queries is None else queries
    shapes = {
        "q": (batch, kv_heads * group, count, width),
        "k": (batch, kv_heads, keys, width),
        "v": (batch, kv_heads, keys, width),
    }
    inputs = {
        name: broadcast(fill(shapes[name], regime, seed + place, dtype), layout)
        for place, (name, regime) in enumerate(zip(INPUTS, regimes, strict=True))
    }
    if offset:
        inputs["q"][..., 0] = 14.0
        inputs["k"][..., 0] = offset / 14.0 / scale
    if segments is not None:
        inputs["segments"] = torch.tensor(segments)
    out = fill(shapes["q"], "normal", seed + 3, dtype)
    lse = fill(shapes["q"][:3], "normal", seed + 4, torch.promote_types(dtype, torch.float32))
    return Case(
        inputs,
        {"scale": scale, "window": window, "softcap": softcap},
        (None if flows == "lse" else out, None if flows == "out" else lse),
        layout,
        blocks,
        parameters,
    )


def edges(block: int, *, brief: bool = False) -> list[int]:
    """Numbers of tokens that just fill, or just miss, one tile, or (not ``brief``) up to three."""
    one = [1, 2, block - 1, block, block + 1]
    return one if brief else [*one, 2 * block, 2 * block + 1, 3 * block + 1]


@st.composite
def windows(draw: st.DrawFn, keys: int, block: int) -> int | None:
    near = {1, keys - 1, keys, keys + 1, block - 1, block, block + 1, 2 * block + 1}
    chosen = st.one_of(
        st.sampled_from(sorted(size for size in near if size > 0)),
        st.integers(1, keys + 1),
    )
    return draw(chosen) if draw(st.integers(0, 4)) else None


@st.composite
def numbered(draw: st.DrawFn, keys: int) -> list[int]:
    """Rows packed into one axis, some of them padding."""
    lengths = draw(st.lists(st.integers(1, max(1, keys // 2)), min_size=1, max_size=4))
    labels = [draw(st.sampled_from((row, row, row, -1))) for row in range(len(lengths))]
    tokens = [label for label, size in zip(labels, lengths, strict=True) for _ in range(size)]
    return (tokens + keys * [draw(st.sampled_from((len(lengths), -1)))])[:keys]


def tile_sizes(backend: Backend) -> tuple[int, ...]:
    """Tiles small enough that few tokens cross several."""
    return (SMALLEST_SUM, SMALLEST_SUM, 32) if backend.compiled else (8, 8, 16)


def compilable(backend: Backend, blocks: tuple[int, int]) -> tuple[int, int]:
    """The tile, made larger where a GPU could not sum over so few of its rows or columns."""
    if not backend.compiled:
        return blocks
    return max(blocks[0], SMALLEST_SUM), max(blocks[1], SMALLEST_SUM)


@st.composite
def cases(
    draw: st.DrawFn,
    /,
    backend: Backend,
    dtype: torch.dtype = torch.float32,
    *,
    regimes: Sequence[str] = REGIMES,
    **fixed: Any,
) -> Case:
    """Any call of attention; ``fixed`` parameters of ``build`` are not drawn."""
    sizes = st.sampled_from(tile_sizes(backend))
    chosen: dict[str, Any] = {"blocks": (draw(sizes), draw(sizes)), **fixed}

    def choose(name: str, strategy: st.SearchStrategy[Any]) -> Any:
        if name not in chosen:
            chosen[name] = draw(strategy)
        return chosen[name]

    query_block, key_block = chosen["blocks"]
    brief = not backend.compiled and query_block > 8  # what is interpreted is slow
    keys = choose("keys", st.sampled_from(edges(query_block, brief=brief)))
    few = st.sampled_from([size for size in edges(key_block) if size <= keys])
    choose("queries", st.one_of(st.none(), st.none(), few))
    choose("window", windows(keys, key_block))
    if "group" not in chosen:  # two rows, or several heads: a kernel's time grows with both
        shapes = st.sampled_from(((1, 1, 1), (2, 1, 1), (1, 1, 2), (1, 2, 1), (1, 1, 3), (2, 1, 2)))
        drawn, chosen["kv_heads"], chosen["group"] = draw(shapes)
        chosen.setdefault("batch", drawn)
    batch = choose("batch", st.sampled_from((1, 2)))
    rows = st.lists(numbered(keys), min_size=batch, max_size=batch)
    choose("segments", st.one_of(st.none(), rows))
    choose("width", st.sampled_from((16, 16, 32)))
    choose("softcap", st.sampled_from((None, None, 0.7, 20.0)))
    choose("scale", st.sampled_from((0.1, 0.25, 1.0, -0.5)))
    choose("offset", st.sampled_from((0.0, 0.0, 0.0, -200.0, 200.0)))
    choose("layout", st.sampled_from(LAYOUTS))
    choose("flows", st.sampled_from(("both", "both", "out", "lse")))
    choose("seed", st.integers(0, 2**31))
    return build(dtype=dtype, regimes=[draw(st.sampled_from(regimes)) for _ in INPUTS], **chosen)


def several(backend: Backend, count: int) -> settings:
    """``examples``, four times as many where they cost little."""
    return run.examples(backend, count if backend.tiled else 4 * count)


def tiled(backend: Backend, blocks: tuple[int, int]) -> AbstractContextManager[None]:
    """Within the block, tiles of these numbers of queries and keys."""
    if not backend.tiled:
        return nullcontext()
    queries, keys = compilable(backend, blocks)
    tile = Tile({"BM": queries, "BN": keys}, warps=4, stages=2)
    return tiles.use(**dict.fromkeys(KERNELS, tile))


def outcome(backend: Backend, case: Case, *, gradients: bool = True) -> Outcome:
    """What the backend makes of the case."""
    with tiled(backend, case.blocks):
        return run.run(
            "attention",
            backend,
            case.inputs,
            case.arguments,
            differentiate=INPUTS if gradients else (),
            upstream=case.upstream if gradients else (),
            layout=case.layout,
        )


def expected(case: Case) -> Outcome:
    """What the float64 reference makes of the case."""
    return run.exact(
        "attention", case.inputs, case.arguments, differentiate=INPUTS, upstream=case.upstream
    )


def strain(case: Case) -> float:
    """By how much the size of the scores, in float32, may add to the relative error.

    A score is wrong by the rounding of the products it is the sum of, and a weight relatively by
    as much as its score is absolutely.
    """
    q, k = (case.inputs[name].double().nan_to_num().abs() for name in ("q", "k"))
    if not q.numel() or not k.numel():
        return 0.0
    scores = q @ k.repeat_interleave(case.group, 1).mT  # [B, H, Tq, Tk]
    wide = torch.promote_types(case.inputs["q"].dtype, torch.float32)
    return float(2 * torch.finfo(wide).eps * abs(case.arguments["scale"]) * scores.max().item())


def require_outcome(case: Case, found: Outcome, exact: Outcome, *, times: float = 1.0) -> None:
    """Fails unless outputs and gradients are as close as ``measure`` allows (``times`` that)."""
    dtype = case.inputs["q"].dtype
    wide = torch.promote_types(dtype, torch.float32)
    extra = strain(case)

    def allowed(base: Tolerance) -> Tolerance:
        return Tolerance(times * (base.relative + extra), times * (base.absolute + extra))

    q, k, v = (case.inputs[name] for name in INPUTS)
    out, lse = (None if each is None else each.nan_to_num() for each in case.upstream)
    flow = 0.0 if out is None else measure.size_of(out, v)
    flow += 0.0 if lse is None else measure.size_of(lse)
    scale = abs(case.arguments["scale"])
    sizes = {
        "q": flow * scale * measure.size_of(k),
        "k": flow * scale * measure.size_of(q),
        "v": 1.0 if out is None else measure.size_of(out),
    }
    found_out, found_lse = found.outputs
    exact_out, exact_lse = exact.outputs
    assert found_out is not None
    assert exact_out is not None
    output = allowed(measure.OUTPUT[dtype])
    measure.require_close("out", found_out, exact_out, output, size=measure.size_of(v))
    if found_lse is not None and exact_lse is not None:
        height = 1.0 + math.log(max(k.shape[2], 1))
        measure.require_close(
            "lse", found_lse, exact_lse, allowed(measure.OUTPUT[wide]), size=height
        )
    for name, gradient in exact.gradients.items():
        measure.require_close(
            f"gradient of {name}",
            found.gradients[name],
            gradient,
            allowed(measure.GRADIENT[dtype]),
            size=sizes[name],
        )


def changed(case: Case, **changes: Any) -> Case:
    """The case with other inputs, by name, or other ``arguments``, ``upstream`` or ``layout``."""
    fields: dict[str, Any] = {
        name: changes.pop(name) for name in ("arguments", "upstream", "layout") if name in changes
    }
    return attrs.evolve(case, inputs={**case.inputs, **changes}, **fields)


def tokens_of(case: Case, start: int, stop: int) -> Case:
    """Some tokens of a case."""
    inputs = {name: case.inputs[name][:, :, start:stop] for name in INPUTS}
    upstream = tuple(None if each is None else each[:, :, start:stop] for each in case.upstream)
    return changed(case, upstream=upstream, **inputs)


def joined(parts: list[Outcome]) -> Outcome:
    outputs = []
    for each in zip(*(part.outputs for part in parts), strict=True):
        outputs.append(torch.cat([one for one in each if one is not None], 2))
    gradients = {name: torch.cat([part.gradients[name] for part in parts], 2) for name in INPUTS}
    return Outcome(tuple(outputs), gradients)


def require_same_outputs(one: Outcome, two: Outcome, rows: slice) -> None:
    for name, first, second in zip(("out", "lse"), one.outputs, two.outputs, strict=True):
        assert first is not None
        assert second is not None
        measure.require_same_bits(name, first[:, :, rows], second[:, :, rows])
