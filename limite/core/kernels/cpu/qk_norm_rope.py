"""Norm and rotation of queries and keys: neighbours turn as complex numbers, in place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.cpu.rms_norm import inverse_rms, norm_backward
from limite.core.kernels.reference.rms_norm import cast, widened
from limite.core.kernels.rotation import Rotation, RotationTable

SMALL_TABLE = 1 << 20
"""Turns of all heads at every position that may be held ready for a model."""


def qk_norm_rope_forward(
    qk: Tensor, rotation: Rotation | None, *, eps: float
) -> tuple[Tensor, Tensor]:
    """The turned norms, and the inverses of the heads' root mean squares, wide, ``[..., 1]``."""
    wide = widened(qk)
    inverse = inverse_rms(wide, eps)
    normal = (wide * inverse).contiguous()
    _turn(normal, rotation, back=False)
    return cast(normal, qk.dtype), inverse


def qk_norm_rope_backward(
    gradient: Tensor, qk: Tensor, rotation: Rotation | None, inverse: Tensor
) -> Tensor:
    """The gradient of ``qk``, wide: the upstream one turned back, then the norm's."""
    wide = widened(gradient)
    if rotation is not None:
        if wide is gradient or not wide.is_contiguous():
            wide = wide.clone(memory_format=torch.contiguous_format)
        _turn(wide, rotation, back=True)
    return norm_backward(wide, widened(qk), inverse)


def _turn(values: Tensor, rotation: Rotation | None, *, back: bool) -> None:
    """Turns dense ``values [..., heads, D]`` in place, by the opposite angle for ``back``."""
    if rotation is None or not rotation.pairs or not values.numel():
        return
    heads, width = values.shape[-2:]
    if rotation.style == "adjacent" and width % 2 == 0:
        turn = complex_turns(rotation, heads, width // 2, values.dtype, back)
        torch.view_as_complex(values.view(-1, heads * width // 2, 2)).mul_(turn)
        return
    cos, sin = _tables(rotation, values.dtype)
    turning = values[..., : 2 * rotation.pairs]
    if rotation.style == "adjacent":
        a, b = turning[..., ::2], turning[..., 1::2]
    else:
        a, b = turning.split(rotation.pairs, -1)
    by = -1.0 if (rotation.style == "adjacent") != back else 1.0  # theta's sign
    turned = torch.addcmul(a * cos, b, sin, value=-by)
    b.mul_(cos).addcmul_(a, sin, value=by)
    a.copy_(turned)


def _tables(rotation: Rotation, kind: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosines and sines ``[..., 1, pairs]``, to go with every head."""
    found: tuple[Tensor, Tensor] | None = rotation.memo.get(kind)
    if found is None:
        found = rotation.cos.to(kind).unsqueeze(-2), rotation.sin.to(kind).unsqueeze(-2)
        rotation.memo[kind] = found
    return found


def complex_turns(
    rotation: Rotation, heads: int, half: int, kind: torch.dtype, back: bool
) -> Tensor:
    """``e^(-i theta)`` of every pair, or its conjugate: ``[N, heads * D/2]``; 1 where none turns.

    Repeated for each head: a product of two dense tensors is the fastest.
    """
    key = (heads, half, kind, back)
    turn: Tensor | None = rotation.memo.get(key)
    if turn is None:
        if rotation.origin is None:
            turn = _complex(rotation.cos, rotation.sin, half, kind, back).repeat(1, heads)
        else:  # fewer steps than from the tokens' own cosines and sines
            table, positions = rotation.origin
            small = len(table.cos) * heads * half <= SMALL_TABLE
            whole = _whole(table, heads if small else 1, half, kind, back)
            turn = whole.index_select(0, positions.reshape(-1))
            turn = turn if small else turn.repeat(1, heads)
        rotation.memo[key] = turn
    return turn


def _whole(table: RotationTable, heads: int, half: int, kind: torch.dtype, back: bool) -> Tensor:
    """The turns of some heads at every position of a table: ``[context, heads * D/2]``."""
    name = (heads, half, kind, back)
    turns: Tensor | None = table.memo.get(name)
    if turns is None:
        with torch.inference_mode(False):  # it outlives the caller's mode
            turns = _complex(table.cos, table.sin, half, kind, back).repeat(1, heads)
        table.memo[name] = turns
    return turns


def _complex(cos: Tensor, sin: Tensor, half: int, kind: torch.dtype, back: bool) -> Tensor:
    pairs = cos.shape[-1]
    cos, sin = (each.reshape(-1, pairs).to(kind) for each in (cos, sin))  # [N, pairs]
    turn = torch.complex(cos, sin if back else -sin)
    if pairs < half:
        turn = torch.cat((turn, turn.new_ones(len(turn), half - pairs)), 1)
    return turn


class _QKNormRope(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qk: Tensor, rotation: Rotation | None, eps: float) -> Tensor:
        turned, inverse = qk_norm_rope_forward(qk, rotation, eps=eps)
        ctx.save_for_backward(qk, inverse)
        ctx.rotation = rotation
        return turned

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        qk, inverse = ctx.saved_tensors
        return qk_norm_rope_backward(gradient, qk, ctx.rotation, inverse).to(qk.dtype), None, None


def qk_norm_rope(qk: Tensor, rotation: Rotation | None, *, eps: float) -> Tensor:
    """Every head at unit root mean square, turned by its token's position."""
    if torch.is_grad_enabled():
        result: Tensor = _QKNormRope.apply(qk, rotation, eps)  # type: ignore[no-untyped-call]
        return result
    return qk_norm_rope_forward(qk, rotation, eps=eps)[0]
