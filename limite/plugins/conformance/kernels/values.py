"""Tensors whose values, and place in memory, lie where kernels go wrong."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from hypothesis import strategies as st
from torch import Tensor

REGIMES = ("normal", "constant", "one-hot", "zeros", "ties", "tiny", "huge")
LAYOUTS = ("contiguous", "transposed", "sliced", "broadcast")
MATRIX_LAYOUTS = ("contiguous", "columns", "sliced", "repeated")


def fill(shape: Sequence[int], regime: str, seed: int, dtype: torch.dtype) -> Tensor:
    """Values of a regime; the seed gives what it leaves open."""
    stream = torch.Generator().manual_seed(seed)
    normal = torch.randn(tuple(shape), generator=stream)
    match regime:
        case "normal":
            values = normal
        case "constant":
            values = torch.full_like(normal, normal.flatten()[0].item() if normal.numel() else 0)
        case "one-hot":
            values = torch.zeros_like(normal)
            if normal.numel():
                values.scatter_(-1, normal.argmax(-1, keepdim=True), 1.0)
        case "zeros":
            values = torch.zeros_like(normal)
        case "ties":
            values = normal.round()
        case "tiny":
            values = normal * 1e-4
        case "huge":
            values = normal * 30.0
        case _:
            raise AssertionError(regime)
    return values.to(dtype)


@st.composite
def tensors(
    draw: st.DrawFn,
    shape: Sequence[int],
    dtype: torch.dtype = torch.float32,
    regimes: Sequence[str] = REGIMES,
) -> Tensor:
    """A tensor of a drawn regime."""
    return fill(shape, draw(st.sampled_from(regimes)), draw(st.integers(0, 2**31)), dtype)


def arrange(values: Tensor, layout: str) -> Tensor:
    """The same values laid out otherwise, the last axis still contiguous.

    ``[B, heads, T, D]``, or anything of three axes and more; other tensors stay as they are.
    """
    if values.dim() < 3 or layout == "contiguous" or not values.numel():
        return fenced(values)
    if layout == "transposed":
        return fenced(values.transpose(-3, -2).contiguous()).transpose(-3, -2)
    if layout == "sliced":
        wide = fenced(torch.cat((values, torch.full_like(values, torch.nan)), -1))
        return wide[..., : values.shape[-1]]
    assert layout == "broadcast", layout
    return fenced(values[:1]).expand_as(values)


def broadcast(values: Tensor, layout: str) -> Tensor:
    """``values`` as ``arrange`` leaves them: with all batch rows equal where so laid out."""
    return values[:1].expand_as(values).clone() if layout == "broadcast" else values


def arrange_matrix(values: Tensor, layout: str) -> Tensor:
    """The same matrix column by column, as a part of a wider one, or as one row read repeatedly.

    The last where all rows are equal; others stay as they are.
    """
    if layout == "columns":
        return fenced(values.t().contiguous()).t()
    if layout == "sliced":
        wide = fenced(torch.cat((values, torch.full_like(values, torch.nan)), 1))
        return wide[:, : values.shape[1]]
    if layout == "repeated" and len(values) and torch.equal(values, values[:1].expand_as(values)):
        return fenced(values[:1]).expand_as(values)
    return fenced(values)


FENCE = 64  # elements


def fenced(values: Tensor) -> Tensor:
    """A contiguous copy within a larger buffer of NaN: reading beside it shows."""
    buffer = torch.full(
        (values.numel() + 2 * FENCE,), torch.nan, dtype=values.dtype, device=values.device
    )
    inside = buffer[FENCE : FENCE + values.numel()].view(values.shape)
    inside.copy_(values)
    return inside


CANARY = 1.25e4


class Fences:
    """An allocator of results that fills what lies around each, and looks at it afterwards.

    Inside is NaN: an element that a kernel forgot to write shows in every comparison.
    """

    def __init__(self) -> None:
        self.buffers: list[Tensor] = []

    def __call__(self, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
        count = int(torch.Size(tuple(shape)).numel())
        fill_with = CANARY if dtype.is_floating_point else 77
        buffer = torch.full((count + 2 * FENCE,), fill_with, dtype=dtype, device=device)
        self.buffers.append(buffer)
        inside = buffer[FENCE : FENCE + count]
        inside.fill_(torch.nan if dtype.is_floating_point else -77)
        return inside.view(tuple(shape))

    def check(self) -> None:
        for buffer in self.buffers:
            around = torch.cat((buffer[:FENCE], buffer[-FENCE:]))
            untouched = torch.full_like(around, CANARY if around.dtype.is_floating_point else 77)
            assert torch.equal(around, untouched), "a kernel wrote outside its result"
