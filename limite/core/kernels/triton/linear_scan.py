"""The linear scan in Triton: a program for each row, which it goes along block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.views import side_by_side


@triton.jit
def _after(a1, b1, a2, b2):
    # y -> a1 y + b1, and after it y -> a2 y + b2.
    return a1 * a2, b2 + a2 * b1


@triton.jit
def _forward_kernel(
    a_ptr, b_ptr, carry_ptr, y_ptr, stride_a, stride_b, T,
    CARRY: tl.constexpr, REVERSE: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, BT)
    state = 0.0
    if CARRY:
        state = tl.load(carry_ptr + row)
    for start in range(0, T, BT):
        step = start + place
        inside = step < T
        token = step
        if REVERSE:
            token = T - 1 - step
        a = tl.load(a_ptr + row * stride_a + token, mask=inside, other=0.0)
        b = tl.load(b_ptr + row * stride_b + token, mask=inside, other=0.0)
        b = tl.where(place == 0, b + a * state, b)
        _, y = tl.associative_scan((a, b), 0, _after)
        tl.store(y_ptr + row * T + token, y, mask=inside)
        state = tl.sum(tl.where(place == BT - 1, y, 0.0), 0)


@triton.jit
def _backward_kernel(
    a_ptr, y_ptr, carry_ptr, dy_ptr, da_ptr, db_ptr, dcarry_ptr, stride_a, stride_dy, T,
    CARRY: tl.constexpr, REVERSE: tl.constexpr, BT: tl.constexpr,
):  # fmt: skip
    # The way of the gradient is the other one: REVERSE is that of the scan forward.
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, BT)
    first = 0.0
    if CARRY:
        first = tl.load(carry_ptr + row)
    state = 0.0
    # One step beyond the last token gives the gradient of the carry.
    for start in range(0, T + CARRY, BT):
        step = start + place
        inside = step < T
        token = T - 1 - step
        after = token + 1
        before = token - 1
        if REVERSE:
            token = step
            after = token - 1
            before = token + 1
        a = tl.load(a_ptr + row * stride_a + after, mask=(step > 0) & (step < T + CARRY), other=0.0)
        dy = tl.load(dy_ptr + row * stride_dy + token, mask=inside, other=0.0)
        dy = tl.where(place == 0, dy + a * state, dy)
        _, db = tl.associative_scan((a, dy), 0, _after)
        y = tl.load(y_ptr + row * T + before, mask=step < T - 1, other=0.0)
        y = tl.where(step == T - 1, first, y)
        tl.store(db_ptr + row * T + token, db, mask=inside)
        tl.store(da_ptr + row * T + token, db * y, mask=inside)
        if CARRY:
            tl.store(dcarry_ptr + row + step - T, db, mask=step == T)
        state = tl.sum(tl.where(place == BT - 1, db, 0.0), 0)


def linear_scan(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None) -> Tensor:
    tile = runtime.tile("linear_scan_forward", a)
    if torch.is_grad_enabled() and (
        a.requires_grad or b.requires_grad or (carry is not None and carry.requires_grad)
    ):
        result: Tensor = _LinearScan.apply(  # type: ignore[no-untyped-call]
            a, b, reverse, carry, tile, runtime.tile("linear_scan_backward", a)
        )
        return result
    return linear_scan_forward(a, b, reverse, carry, tile)


def linear_scan_forward(
    a: Tensor, b: Tensor, reverse: bool, carry: Tensor | None, tile: Tile
) -> Tensor:
    """``[R, T]``."""
    a, b = side_by_side(a), side_by_side(b)
    rows, tokens = a.shape
    y = runtime.empty((rows, tokens), a.dtype, a.device)
    if y.numel():
        _forward_kernel[(rows,)](
            a, b, a if carry is None else carry.contiguous(), y, a.stride(0), b.stride(0), tokens,
            CARRY=carry is not None, REVERSE=reverse, BT=tile["BT"], **runtime.options(tile),
        )  # fmt: skip
    return y


def linear_scan_backward(
    a: Tensor, y: Tensor, carry: Tensor | None, dy: Tensor, reverse: bool, tile: Tile
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Gradients of ``a``, ``b`` and ``carry`` (None without one), in one pass."""
    a, dy = side_by_side(a), side_by_side(dy)
    rows, tokens = a.shape
    da = runtime.empty((rows, tokens), a.dtype, a.device)
    db = runtime.empty((rows, tokens), a.dtype, a.device)
    dcarry = None if carry is None else runtime.empty((rows,), a.dtype, a.device)
    if da.numel():
        _backward_kernel[(rows,)](
            a, y, a if carry is None else carry.contiguous(), dy, da, db,
            a if dcarry is None else dcarry, a.stride(0), dy.stride(0), tokens,
            CARRY=carry is not None, REVERSE=reverse, BT=tile["BT"], **runtime.options(tile),
        )  # fmt: skip
    elif dcarry is not None:
        dcarry.zero_()
    return da, db, dcarry


class _LinearScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, a: Tensor, b: Tensor, reverse: bool, carry: Tensor | None, tile: Tile, back: Tile
    ) -> Tensor:
        y = linear_scan_forward(a, b, reverse, carry, tile)
        ctx.save_for_backward(a, y, carry)
        ctx.reverse, ctx.tile = reverse, back
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None, Tensor | None, None, None]:
        a, y, carry = ctx.saved_tensors
        da, db, dcarry = linear_scan_backward(a, y, carry, dy, ctx.reverse, ctx.tile)
        return da, db, None, dcarry, None, None


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Both kernels, as for advantages and for what is carried on; in float32 alone, whose factors
    alone are near enough to 1."""
    if dtype != "fp32":
        return
    uses = ({"CARRY": False, "REVERSE": True}, {"CARRY": True, "REVERSE": False})
    results = {
        "linear_scan_forward": (_forward_kernel, ("a_ptr", "b_ptr", "carry_ptr", "y_ptr"), "b"),
        "linear_scan_backward": (
            _backward_kernel,
            ("a_ptr", "y_ptr", "carry_ptr", "dy_ptr", "da_ptr", "db_ptr", "dcarry_ptr"),
            "dy",
        ),
    }
    for kernel, (function, pointers, second) in results.items():
        tile = tile_of(kernel)
        strides = ("stride_a", f"stride_{second}", "T")
        for constants in uses:
            yield runtime.Specimen(
                kernel=kernel,
                function=function,
                signature=dict.fromkeys(pointers, "*fp32") | dict.fromkeys(strides, "i32"),
                constants=constants | {"BT": tile["BT"]},
                aligned=(*pointers, *strides),
                tile=tile,
                matrix=False,
            )
