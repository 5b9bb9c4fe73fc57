"""Tensors as kernels read them: neighbours in the last axis side by side, few axes before it."""

from __future__ import annotations

from torch import Tensor


def side_by_side(x: Tensor) -> Tensor:
    """``x`` with neighbours in its last axis side by side: nearly always as it is."""
    return x if x.stride(-1) == 1 or x.shape[-1] == 1 else x.contiguous()


def in_rows(x: Tensor) -> Tensor:
    """``[N, D]``, side by side; a view where the strides allow one."""
    return side_by_side(x.reshape(-1, x.shape[-1]))


def in_heads(x: Tensor) -> Tensor:
    """``[tokens, heads, D]``, side by side; a view where the strides allow one."""
    return side_by_side(x.reshape(-1, *x.shape[-2:]))


def strides_of(*tensors: Tensor) -> tuple[int, ...]:
    """Of batch rows, heads and tokens, of one ``[B, heads, T, D]`` after the other."""
    return tuple(stride for each in tensors for stride in each.stride()[:3])
