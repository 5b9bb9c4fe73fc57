"""What the laws of 2-simplicial attention are tried on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import measure, streams
from limite.plugins.conformance.kernels.run import Backend
from limite.plugins.conformance.kernels.streams import numbered, tile_sizes, windows
from limite.plugins.conformance.kernels.values import LAYOUTS, REGIMES, broadcast, fill

INPUTS = ("q", "k1", "k2", "v1", "v2")
SWAPPED = {"q": "q", "k1": "k2", "k2": "k1", "v1": "v2", "v2": "v1"}


class Case(streams.Case):
    """One call of ``simplicial_attention`` and the gradients that flow back into it."""

    op = "simplicial_attention"
    names = INPUTS
    kernels = ("simplicial_forward", "simplicial_backward_dq", "simplicial_backward_dkv")

    def rebuilt(self, **parameters: Any) -> Case:
        return build(**{**self.parameters, **parameters})

    @staticmethod
    def tile(queries: int, keys: int) -> Tile:
        return Tile({"R": queries, "BN": keys}, warps=4, stages=1)

    def strain(self) -> float:
        """By how much the size of the scores may add to the relative error.

        A score is wrong by the rounding, in float32, of the products it is the sum of, and a
        weight relatively by as much as its score is absolutely. In half precision, moreover, the
        products of query and first key are rounded to it, as factors of a matrix product; these
        errors add up as a random walk does.
        """
        if not self.inputs["q"].numel():
            return 0.0
        scale, dtype = abs(self.arguments["scale"]), self.dtype
        sums = {name: self.inputs[name].double() for name in ("q", "k1", "k2")}
        largest = _scores({name: each.abs() for name, each in sums.items()}).max().item()
        found = 2 * torch.finfo(torch.promote_types(dtype, torch.float32)).eps * scale * largest
        if dtype.itemsize == 2:
            squares = _scores({name: each.square() for name, each in sums.items()})
            found += torch.finfo(dtype).eps / 2 * scale * squares.max().item() ** 0.5
        return float(found)

    def sizes(self) -> Mapping[str, float]:
        q, k1, k2, v1, v2 = (self.inputs[name] for name in INPUTS)
        out, lse = (None if each is None else each.nan_to_num() for each in self.upstream)
        flow = 0.0 if out is None else measure.size_of(out, v1, v2)
        flow += 0.0 if lse is None else measure.size_of(lse)
        flow *= abs(self.arguments["scale"])
        back = 0.0 if out is None else measure.size_of(out)
        return {
            "out": measure.size_of(v1, v2),
            "lse": 1.0 + 2 * math.log(max(self.keys, 1)),
            "q": flow * measure.size_of(k1, k2),
            "k1": flow * measure.size_of(q, k2),
            "k2": flow * measure.size_of(q, k1),
            "v1": back * measure.size_of(v2),
            "v2": back * measure.size_of(v1),
        }


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
