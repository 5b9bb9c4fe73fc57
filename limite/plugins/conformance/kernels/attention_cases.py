"""What the laws of attention are tried on: shapes, windows and rows at the edges of tiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from hypothesis import settings
from hypothesis import strategies as st

from limite.core.kernels.tiles import Tile
from limite.plugins.conformance.kernels import measure, run, streams
from limite.plugins.conformance.kernels.run import Backend
from limite.plugins.conformance.kernels.streams import numbered, tile_sizes, windows
from limite.plugins.conformance.kernels.values import LAYOUTS, REGIMES, broadcast, fill

INPUTS = ("q", "k", "v")


class Case(streams.Case):
    """One call of ``attention`` and the gradients that flow back into it."""

    op = "attention"
    names = INPUTS
    kernels = ("attention_forward", "attention_backward_dq", "attention_backward_dkv")

    def rebuilt(self, **parameters: Any) -> Case:
        return build(**{**self.parameters, **parameters})

    @staticmethod
    def tile(queries: int, keys: int) -> Tile:
        return Tile({"BM": queries, "BN": keys}, warps=4, stages=2)

    def strain(self) -> float:
        """By how much the size of the scores, in float32, may add to the relative error.

        A score is wrong by the rounding of the products it is the sum of, and a weight relatively
        by as much as its score is absolutely.
        """
        q, k = (self.inputs[name].double().nan_to_num().abs() for name in ("q", "k"))
        if not q.numel() or not k.numel():
            return 0.0
        scores = q @ k.repeat_interleave(self.group, 1).mT  # [B, H, Tq, Tk]
        wide = torch.promote_types(self.dtype, torch.float32)
        scale = abs(self.arguments["scale"])
        return float(2 * torch.finfo(wide).eps * scale * scores.max().item())

    def sizes(self) -> Mapping[str, float]:
        q, k, v = (self.inputs[name] for name in INPUTS)
        out, lse = (None if each is None else each.nan_to_num() for each in self.upstream)
        flow = 0.0 if out is None else measure.size_of(out, v)
        flow += 0.0 if lse is None else measure.size_of(lse)
        flow *= abs(self.arguments["scale"])
        return {
            "out": measure.size_of(v),
            "lse": 1.0 + math.log(max(self.keys, 1)),
            "q": flow * measure.size_of(k),
            "k": flow * measure.size_of(q),
            "v": 1.0 if out is None else measure.size_of(out),
        }


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
