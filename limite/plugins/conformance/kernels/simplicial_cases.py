"""What the laws of 2-simplicial attention are tried on."""

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
from limite.plugins.conformance.kernels.attention_cases import (
    compilable,
    numbered,
    tile_sizes,
    windows,
)
from limite.plugins.conformance.kernels.measure import Tolerance
from limite.plugins.conformance.kernels.run import Backend, Outcome
from limite.plugins.conformance.kernels.values import LAYOUTS, REGIMES, broadcast, fill

INPUTS = ("q", "k1", "k2", "v1", "v2")
SWAPPED = {"q": "q", "k1": "k2", "k2": "k1", "v1": "v2", "v2": "v1"}
MILD = ("normal", "constant", "one-hot", "ties")
KERNELS = ("simplicial_forward", "simplicial_backward_dq", "simplicial_backward_dkv")


@attrs.frozen(eq=False, repr=False)
class Case:
    """One call of ``simplicial_attention`` and the gradients that flow back into it."""

    inputs: Mapping[str, Tensor]
    arguments: Mapping[str, Any]  # segments are among the inputs
    upstream: tuple[Tensor | None, ...]  # of the output and the log-sum-exp
    layout: str
    blocks: tuple[int, int]  # rows and keys of a tile, where there are tiles
    parameters: Mapping[str, Any]  # of ``build``

    @property
    def group(self) -> int:
        return self.inputs["q"].shape[1] // self.inputs["k1"].shape[1]

    @property
    def first(self) -> int:
        """The position of the first query."""
        return self.inputs["k1"].shape[2] - self.inputs["q"].shape[2]

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
    keys: int = 9,
    queries: int | None = None,
    width: int = 16,
    window1: int | None = None,
    window2: int | None = 4,
    segments: Sequence[Sequence[int]] | None = None,
    peak: float = 4.0,
    regimes: Sequence[str] = ("normal",) * 5,
    layout: str = "contiguous",
    flows: str = "both",
    blocks: tuple[int, int] = (8, 8),
    seed: int = 0,
) -> Case:
    """The case of these parameters. The scale makes ``peak`` the largest score; ``flows``: to what
    a gradient flows back, ``"out"``, ``"lse"`` or ``"both"``."""
    parameters = {name: value for name, value in locals().items() if name != "parameters"}
    count = keys if queries is None else queries
    query_shape = (batch, kv_heads * group, count, width)
    key_shape = (batch, kv_heads, keys, width)
    inputs = {
        name: broadcast(
            fill(query_shape if name == "q" else key_shape, regime, seed + place, dtype), layout
        )
        for place, (name, regime) in enumerate(zip(INPUTS, regimes, strict=True))
    }
    largest = _scores(inputs).abs().max().item() if inputs["q"].numel() else 0.0
    if segments is not None:
        inputs["segments"] = torch.tensor(segments)
    out = fill(query_shape, "normal", seed + 5, dtype)
    lse = fill(query_shape[:3], "normal", seed + 6, torch.promote_types(dtype, torch.float32))
    return Case(
        inputs,
        {
            "scale": peak / largest if largest else 1.0,
            "window1": window1,
            "window2": window2,
        },
        (None if flows == "lse" else out, None if flows == "out" else lse),
        layout,
        blocks,
        parameters,
    )


def _scores(inputs: Mapping[str, Tensor]) -> Tensor:
    """Of all pairs, visible or not, without the scale: ``[B, H, Tq, Tk, Tk]`` float64."""
    group = inputs["q"].shape[1] // inputs["k1"].shape[1]
    q, k1, k2 = (inputs[name].double().nan_to_num() for name in ("q", "k1", "k2"))
    k1, k2 = (each.repeat_interleave(group, 1) for each in (k1, k2))
    return torch.einsum("bhid,bhjd,bhkd->bhijk", q, k1, k2)


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
    """Any call of 2-simplicial attention; ``fixed`` parameters of ``build`` are not drawn."""
    sizes = st.sampled_from(tile_sizes(backend))
    chosen: dict[str, Any] = {"blocks": (draw(sizes), draw(sizes)), **fixed}

    def choose(name: str, strategy: st.SearchStrategy[Any]) -> Any:
        if name not in chosen:
            chosen[name] = draw(strategy)
        return chosen[name]

    block = chosen["blocks"][1]
    batch = choose("batch", st.sampled_from((1, 1, 2)))
    if "group" not in chosen:
        heads = st.sampled_from(((1, 1), (1, 2), (2, 1), (1, 3), (1, 5)))
        chosen["kv_heads"], chosen["group"] = draw(heads)
    # Pairs of keys are many, and an interpreted kernel goes through them one by one.
    large = batch * chosen.get("kv_heads", 1) > 1
    some = (1, 2, 7, 8, 9) if large else (7, 8, 9, 16, 17)
    keys = choose("keys", st.sampled_from(some))
    few = st.sampled_from([size for size in (1, 2, 7, 8, 9) if size <= keys])
    choose("queries", st.one_of(st.none(), st.none(), few))
    choose("window1", windows(keys, block))
    choose("window2", windows(min(keys, 5), block))
    rows = st.lists(numbered(keys), min_size=batch, max_size=batch)
    choose("segments", st.one_of(st.none(), rows))
    choose("width", st.sampled_from((16, 16, 32)))
    # A score of 200 has no digits behind the point left where its terms are half precision.
    choose("peak", st.sampled_from((0.5, 4.0, 4.0, 200.0 if dtype.itemsize > 2 else 1.0)))
    choose("layout", st.sampled_from(LAYOUTS))
    choose("flows", st.sampled_from(("both", "both", "out", "lse")))
    choose("seed", st.integers(0, 2**31))
    return build(dtype=dtype, regimes=[draw(st.sampled_from(regimes)) for _ in INPUTS], **chosen)


def tiled(backend: Backend, blocks: tuple[int, int]) -> AbstractContextManager[None]:
    """Within the block, tiles of these numbers of rows and keys."""
    if not backend.tiled:
        return nullcontext()
    rows, keys = compilable(backend, blocks)
    tile = Tile({"R": rows, "BN": keys}, warps=4, stages=1)
    return tiles.use(**dict.fromkeys(KERNELS, tile))


def outcome(backend: Backend, case: Case, *, gradients: bool = True) -> Outcome:
    """What the backend makes of the case."""
    with tiled(backend, case.blocks):
        return run.run(
            "simplicial_attention",
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
        "simplicial_attention",
        case.inputs,
        case.arguments,
        differentiate=INPUTS,
        upstream=case.upstream,
    )


def strain(case: Case) -> float:
    """By how much the size of the scores may add to the relative error.

    A score is wrong by the rounding, in float32, of the products it is the sum of, and a weight
    relatively by as much as its score is absolutely. In half precision, moreover, the products of
    query and first key are rounded to it, as factors of a matrix product; these errors add up as
    a random walk does.
    """
    if not case.inputs["q"].numel():
        return 0.0
    scale, dtype = abs(case.arguments["scale"]), case.inputs["q"].dtype
    sums = {name: case.inputs[name].double() for name in ("q", "k1", "k2")}
    largest = _scores({name: each.abs() for name, each in sums.items()}).max().item()
    found = 2 * torch.finfo(torch.promote_types(dtype, torch.float32)).eps * scale * largest
    if dtype.itemsize == 2:
        walk = _scores({name: each.square() for name, each in sums.items()}).max().item() ** 0.5
        found += torch.finfo(dtype).eps / 2 * scale * walk
    return float(found)


def require_outcome(case: Case, found: Outcome, exact: Outcome, *, times: float = 1.0) -> None:
    """Fails unless outputs and gradients are as close as ``measure`` allows (``times`` that)."""
    dtype = case.inputs["q"].dtype
    wide = torch.promote_types(dtype, torch.float32)
    extra = strain(case)

    def allowed(base: Tolerance) -> Tolerance:
        return Tolerance(times * (base.relative + extra), times * (base.absolute + extra))

    q, k1, k2, v1, v2 = (case.inputs[name] for name in INPUTS)
    out, lse = (None if each is None else each.nan_to_num() for each in case.upstream)
    flow = 0.0 if out is None else measure.size_of(out, v1, v2)
    flow += 0.0 if lse is None else measure.size_of(lse)
    flow *= abs(case.arguments["scale"])
    back = 0.0 if out is None else measure.size_of(out)
    sizes = {
        "q": flow * measure.size_of(k1, k2),
        "k1": flow * measure.size_of(q, k2),
        "k2": flow * measure.size_of(q, k1),
        "v1": back * measure.size_of(v2),
        "v2": back * measure.size_of(v1),
    }
    found_out, found_lse = found.outputs
    exact_out, exact_lse = exact.outputs
    assert found_out is not None
    assert exact_out is not None
    output = allowed(measure.OUTPUT[dtype])
    measure.require_close("out", found_out, exact_out, output, size=measure.size_of(v1, v2))
    if found_lse is not None and exact_lse is not None:
        height = 1.0 + 2 * math.log(max(k1.shape[2], 1))
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
    """The outcomes of neighbouring tokens as one."""
    outputs = []
    for each in zip(*(part.outputs for part in parts), strict=True):
        outputs.append(torch.cat([one for one in each if one is not None], 2))
    gradients = {name: torch.cat([part.gradients[name] for part in parts], 2) for name in INPUTS}
    return Outcome(tuple(outputs), gradients)
