"""The linear scan by halving: neighbours become one token, until few are left.

Doubling takes log2(T) passes over all tokens; halving, as much work as three of them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def linear_scan(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None) -> Tensor:
    if torch.is_grad_enabled() and (
        a.requires_grad or b.requires_grad or (carry is not None and carry.requires_grad)
    ):
        result: Tensor = _LinearScan.apply(a, b, reverse, carry)  # type: ignore[no-untyped-call]
        return result
    return linear_scan_forward(a, b, reverse, carry)


def linear_scan_forward(a: Tensor, b: Tensor, reverse: bool, carry: Tensor | None) -> Tensor:
    """``[R, T]``."""
    y = torch.empty_like(b, memory_format=torch.contiguous_format)
    if y.numel():
        _scan(a, b, reverse, b.new_zeros(b.shape[0]) if carry is None else carry, y)
    return y


FEW = 4  # tokens are gone through one by one


def _scan(a: Tensor, b: Tensor, reverse: bool, carry: Tensor, y: Tensor) -> None:
    tokens = a.shape[1]
    first = tokens - 1 if reverse else 0
    torch.addcmul(b[:, first], a[:, first], carry, out=y[:, first])
    if tokens <= FEW:
        for step in range(1, tokens):
            token, before = (first - step, first - step + 1) if reverse else (step, step - 1)
            torch.addcmul(b[:, token], a[:, token], y[:, before], out=y[:, token])
        return
    # Steps are numbered from the first on: the odd ones take in the even ones just before them,
    # and are scanned; the even ones then follow from the odd ones before them.
    pairs, rest = tokens // 2, (tokens - 1) // 2
    if reverse:
        odd, even = slice(tokens % 2, tokens - 1, 2), slice(tokens % 2 + 1, tokens, 2)
        left = slice((tokens + 1) % 2, tokens - 2, 2)
    else:
        odd, even, left = slice(1, tokens, 2), slice(0, 2 * pairs, 2), slice(2, tokens, 2)
    a_pair = a[:, odd] * a[:, even]  # [R, T / 2]
    b_pair = torch.addcmul(b[:, odd], a[:, odd], b[:, even])  # [R, T / 2]
    y_odd = torch.empty_like(b_pair, memory_format=torch.contiguous_format)  # [R, T / 2]
    _scan(a_pair, b_pair, reverse, carry, y_odd)
    y[:, odd] = y_odd
    before_left = y_odd[:, pairs - rest :] if reverse else y_odd[:, :rest]
    torch.addcmul(b[:, left], a[:, left], before_left, out=y[:, left])


def linear_scan_backward(
    a: Tensor, y: Tensor, carry: Tensor | None, dy: Tensor, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of ``a``, ``b`` and ``carry``: a scan the other way, each factor one token on."""
    db = linear_scan_forward(shifted(a, 1 if reverse else -1), dy, not reverse, None)  # [R, T]
    before = shifted(y, -1 if reverse else 1)  # [R, T]
    dcarry = torch.zeros_like(a[:, :1]).sum(1)  # [R]
    if a.shape[1]:
        first = -1 if reverse else 0
        if carry is not None:
            before[:, first] = carry
        dcarry = a[:, first] * db[:, first]
    return db * before, db, dcarry


def shifted(x: Tensor, by: int) -> Tensor:
    """``x`` moved along the tokens, zeros moving in."""
    moved = torch.zeros_like(x, memory_format=torch.contiguous_format)
    if by > 0:
        moved[:, by:] = x[:, :-by]
    else:
        moved[:, :by] = x[:, -by:]
    return moved


class _LinearScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, reverse: bool, carry: Tensor | None) -> Tensor:
        y = linear_scan_forward(a, b, reverse, carry)
        ctx.save_for_backward(a, y, carry)
        ctx.reverse = reverse
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None, Tensor | None]:
        a, y, carry = ctx.saved_tensors
        da, db, dcarry = linear_scan_backward(a, y, carry, dy, ctx.reverse)
        return da, db, None, None if carry is None else dcarry
