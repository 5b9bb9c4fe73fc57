"""Matrices as decoding steps multiply rows with them."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.kernels.native.product import Packed

Stored = Tensor | Packed
"""``[input, output]``, or packed where kernels in C are the choice when it is taken."""


def stored(weight: Tensor) -> Stored:
    """Of ``weight [output, input]``, as it is now."""
    if dispatch.compiled(weight):
        return Packed.of(weight)
    return weight.t().contiguous()


def product(
    inputs: Tensor,
    matrix: Stored,
    more: Tensor | None = None,
    *,
    keep: float = 1.0,
    scale: float = 1.0,
) -> Tensor:
    """``keep more + scale (inputs matrix)``: ``inputs [R, input]`` to ``[R, output]``.

    ``more`` is ``[R, output]``, or ``[output]`` for all rows the same; None: nothing is added, and
    nothing scaled.
    """
    if isinstance(matrix, Packed):
        return matrix(inputs, more, keep=keep, scale=scale)
    if more is None:
        return inputs.mm(matrix)
    return torch.addmm(more, inputs, matrix, beta=keep, alpha=scale)
