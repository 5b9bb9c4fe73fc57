"""What kernels that turn heads share: pairs of channels, and a turn for each token's."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from limite.core.kernels.dispatch import Case
from limite.core.kernels.rotation import Rotation
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime

WIDEST = 1024
"""Channels of the widest head."""


def refuses(case: Case) -> str | None:
    if case.width is not None and case.width > WIDEST:
        return f"heads have at most {WIDEST} channels, these have {case.width}"
    return None


@triton.jit
def load_pairs(at, there, PAIRS: tl.constexpr, BP: tl.constexpr, ADJACENT: tl.constexpr):
    # Both channels of every pair [ROWS, BP], of heads that start at the pointers [ROWS, 1].
    if ADJACENT:
        channel = tl.arange(0, 2 * BP)[None, :]
        both = tl.load(at + channel, mask=there & (channel < 2 * PAIRS), other=0.0)
        a, b = tl.split(tl.reshape(both.to(tl.float32), (both.shape[0], BP, 2)))
    else:
        channel = tl.arange(0, BP)[None, :]
        inside = there & (channel < PAIRS)
        a = tl.load(at + channel, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(at + PAIRS + channel, mask=inside, other=0.0).to(tl.float32)
    return a, b


@triton.jit
def store_pairs(at, a, b, there, PAIRS: tl.constexpr, BP: tl.constexpr, ADJACENT: tl.constexpr):
    if ADJACENT:
        channel = tl.arange(0, 2 * BP)[None, :]
        both = tl.reshape(tl.join(a, b), (a.shape[0], 2 * BP))
        tl.store(at + channel, both, mask=there & (channel < 2 * PAIRS))
    else:
        channel = tl.arange(0, BP)[None, :]
        inside = there & (channel < PAIRS)
        tl.store(at + channel, a, mask=inside)
        tl.store(at + PAIRS + channel, b, mask=inside)


@triton.jit
def load_turns(
    cos_ptr, sin_ptr, token, stride_cos, stride_sin, there, PAIRS: tl.constexpr, BP: tl.constexpr
):
    # Cosines and sines [ROWS, BP] of the tokens [ROWS, 1]; no turn beyond the last pair.
    pair = tl.arange(0, BP)[None, :]
    turning = there & (pair < PAIRS)
    cos = tl.load(cos_ptr + token * stride_cos + pair, mask=turning, other=1.0)
    sin = tl.load(sin_ptr + token * stride_sin + pair, mask=turning, other=0.0)
    return cos, sin


def tables_of(rotation: Rotation | None, pairs: int) -> tuple[Tensor | None, Tensor | None]:
    """Cosines and sines ``[tokens, pairs]`` in float32."""
    if rotation is None or not pairs:
        return None, None
    found: tuple[Tensor, Tensor] | None = rotation.memo.get("rows")
    if found is None:
        cos, sin = (
            table.reshape(-1, pairs).to(torch.float32) for table in (rotation.cos, rotation.sin)
        )
        if cos.stride(1) != 1 or sin.stride(1) != 1:
            cos, sin = cos.contiguous(), sin.contiguous()
        found = rotation.memo["rows"] = cos, sin
    return found


def table_strides(cos: Tensor | None, sin: Tensor | None) -> tuple[int, int]:
    """From one token's cosines, and sines, to the next's."""
    return 0 if cos is None else cos.stride(0), 0 if sin is None else sin.stride(0)


def constants_of(heads: int, width: int, rotation: Rotation | None, tile: Tile) -> dict[str, Any]:
    """What a kernel over heads ``[tokens, heads, width]`` is compiled for."""
    pairs = 0 if rotation is None else rotation.pairs
    return {
        "HEADS": heads,
        "D": width,
        "PAIRS": pairs,
        "ADJACENT": rotation is None or rotation.style == "adjacent",
        "ROWS": max(1, tile["elements"] // runtime.next_power_of_2(width)),
        "BP": runtime.next_power_of_2(max(pairs, 1)),
        "BR": runtime.next_power_of_2(max(width - 2 * pairs, 1)),
    }
