"""How far a result may lie from the exact one."""

from __future__ import annotations

import math

import attrs
import torch
from torch import Tensor


@attrs.frozen
class Tolerance:
    """``|x - y| <= relative |y| + absolute sqrt(n)`` in the two-norm over a whole tensor.

    The absolute part, times ``size`` (of a typical element), is for results that are exactly 0.
    """

    relative: float
    absolute: float


OUTPUT = {
    torch.float64: Tolerance(1e-12, 1e-13),
    torch.float32: Tolerance(2e-6, 1e-6),
    torch.float16: Tolerance(6e-4, 1e-4),
    torch.bfloat16: Tolerance(4e-3, 1e-3),
}
"""Ten times what right kernels were measured at in float32; half types: 2.5 times the rounding of
the exact result alone."""

GRADIENT = {
    torch.float64: Tolerance(1e-11, 1e-13),
    torch.float32: Tolerance(1e-5, 1e-6),
    torch.float16: Tolerance(1.5e-3, 1e-4),
    torch.bfloat16: Tolerance(1e-2, 1e-3),
}


def require_close(
    name: str, found: Tensor, exact: Tensor, tolerance: Tolerance, *, size: float = 1.0
) -> None:
    """Fails unless ``found`` is as close to ``exact`` as allowed, with NaN in the same places."""
    assert found.shape == exact.shape, f"{name}: shape {list(found.shape)} not {list(exact.shape)}"
    if not exact.numel():
        return
    x, y = found.detach().double().cpu(), exact.detach().double().cpu()
    lost = x.isnan() != y.isnan()
    assert not lost.any(), f"{name}: NaN in {int(lost.sum())} places where only one has it"
    endless = x.isinf() | y.isinf()
    assert torch.equal(x[endless], y[endless]), f"{name}: infinities differ"
    there = ~(y.isnan() | endless)
    x, y = x[there], y[there]
    error, norm = (x - y).norm().item(), y.norm().item()
    allowed = tolerance.relative * norm + tolerance.absolute * size * math.sqrt(max(y.numel(), 1))
    assert error <= allowed, (
        f"{name}: off by {error:.3g}, allowed {allowed:.3g} "
        f"(size {norm:.3g}, {y.numel()} elements, worst {(x - y).abs().max().item():.3g})"
    )


def require_same_bits(name: str, found: Tensor, other: Tensor) -> None:
    """Fails unless two results are equal to the last bit (NaN equals NaN)."""
    same = (found == other) | (found.isnan() & other.isnan())
    assert found.shape == other.shape, f"{name}: shapes differ"
    assert bool(same.all()), f"{name}: {int((~same).sum())} of {same.numel()} elements differ"


def size_of(*tensors: Tensor) -> float:
    """A natural size for results made of these: the product of their largest magnitudes."""
    size = 1.0
    for tensor in tensors:
        if tensor.numel():
            size *= max(tensor.detach().abs().nan_to_num(0.0, 0.0, 0.0).max().item(), 1e-30)
    return size
