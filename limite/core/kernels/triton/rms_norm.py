"""The norm, and the residual join with its norm, in Triton: rows kept whole, read once.

One pair of kernels serves both operations; a pointer that is None leaves its part out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.dispatch import Case
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.views import in_rows

WIDEST = 16_384
"""Elements of the longest row."""


def refuses(case: Case) -> str | None:
    if case.width is not None and case.width > WIDEST:
        return f"rows have at most {WIDEST} elements, these have {case.width}"
    return None


@triton.jit
def _forward_kernel(
    a_ptr, b_ptr, keep_ptr, add_ptr, weight_ptr, total_ptr, normal_ptr, inverse_ptr,
    stride_a, stride_b, N,
    D: tl.constexpr, EPS: tl.constexpr, ROWS: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    there = row < N
    column = tl.arange(0, BD)[None, :]
    inside = there[:, None] & (column < D)
    start = row.to(tl.int64)[:, None]
    x = tl.load(a_ptr + start * stride_a + column, mask=inside, other=0.0).to(tl.float32)
    if b_ptr is not None:
        b = tl.load(b_ptr + start * stride_b + column, mask=inside, other=0.0).to(tl.float32)
        if keep_ptr is not None:
            x = x * tl.load(keep_ptr).to(a_ptr.dtype.element_ty).to(tl.float32)
        if add_ptr is not None:
            b = b * tl.load(add_ptr).to(a_ptr.dtype.element_ty).to(tl.float32)
        total = (x + b).to(total_ptr.dtype.element_ty)
        tl.store(total_ptr + start * D + column, total, mask=inside)
        x = total.to(tl.float32)
    inverse = tl.rsqrt(tl.where(there, tl.sum(x * x, 1) / D + EPS, 1.0))
    normal = x * inverse[:, None]
    if weight_ptr is not None:
        weight = tl.load(weight_ptr + column, mask=column < D, other=0.0).to(tl.float32)
        normal = normal * weight
    tl.store(normal_ptr + start * D + column, normal, mask=inside)
    tl.store(inverse_ptr + row, inverse, mask=there)


@triton.jit
def _backward_kernel(
    d_total_ptr, d_normal_ptr, x_ptr, inverse_ptr, a_ptr, b_ptr, keep_ptr, add_ptr, weight_ptr,
    d_a_ptr, d_b_ptr, d_keep_ptr, d_add_ptr, d_weight_ptr,
    stride_d_total, stride_d_normal, stride_x, stride_a, stride_b, N,
    D: tl.constexpr, ROWS: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    # Gradients that are sums over rows: each program writes its part, in float32.
    program = tl.program_id(0)
    column = tl.arange(0, BD)[None, :]
    if weight_ptr is not None:
        d_weight = tl.zeros((ROWS, BD), tl.float32)
    if keep_ptr is not None:
        keep = tl.load(keep_ptr).to(x_ptr.dtype.element_ty).to(tl.float32)
        d_keep = tl.zeros((ROWS,), tl.float32)
    if add_ptr is not None:
        add = tl.load(add_ptr).to(x_ptr.dtype.element_ty).to(tl.float32)
        d_add = tl.zeros((ROWS,), tl.float32)
    for first in range(program * ROWS, N, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)
        there = row < N
        inside = there[:, None] & (column < D)
        start = row.to(tl.int64)[:, None]
        g = tl.load(d_normal_ptr + start * stride_d_normal + column, mask=inside, other=0.0)
        g = g.to(tl.float32)
        x = tl.load(x_ptr + start * stride_x + column, mask=inside, other=0.0).to(tl.float32)
        inverse = tl.load(inverse_ptr + row, mask=there, other=0.0)[:, None]
        normal = x * inverse
        if weight_ptr is not None:
            d_weight += g * normal
            # Read again for every row: held, it would take registers that long rows do not have.
            weight = tl.load(weight_ptr + column, mask=column < D, other=0.0).to(tl.float32)
            g = g * weight
        share = tl.sum(g * normal, 1)[:, None] / D
        change = inverse * (g - normal * share)
        if d_total_ptr is not None:
            d_total = tl.load(d_total_ptr + start * stride_d_total + column, mask=inside, other=0.0)
            change += d_total.to(tl.float32)
        d_a = change
        if keep_ptr is not None:
            a = tl.load(a_ptr + start * stride_a + column, mask=inside, other=0.0)
            d_keep += tl.sum(change * a.to(tl.float32), 1)
            d_a = change * keep
        tl.store(d_a_ptr + start * D + column, d_a, mask=inside)
        if add_ptr is not None:
            b = tl.load(b_ptr + start * stride_b + column, mask=inside, other=0.0)
            d_add += tl.sum(change * b.to(tl.float32), 1)
            change = change * add
        if d_b_ptr is not None:
            tl.store(d_b_ptr + start * D + column, change, mask=inside)
    if weight_ptr is not None:
        part = tl.sum(d_weight, 0)[None, :]
        tl.store(d_weight_ptr + program.to(tl.int64) * D + column, part, mask=column < D)
    if keep_ptr is not None:
        tl.store(d_keep_ptr + program, tl.sum(d_keep, 0))
    if add_ptr is not None:
        tl.store(d_add_ptr + program, tl.sum(d_add, 0))


def _scalar(number: Tensor | None, kind: torch.dtype) -> Tensor | None:
    """A learned scalar for the kernels, which round it; the interpreter could not."""
    return number.to(kind) if number is not None and runtime.INTERPRETED else number


def _block(width: int) -> int:
    return runtime.next_power_of_2(width)


def rms_norm_forward(
    a: Tensor,
    b: Tensor | None,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    eps: float,
    tile: Tile,
) -> tuple[Tensor | None, Tensor, Tensor]:
    """``keep a + add b`` (None without ``b``: then it is ``a``), its norm, the inverse RMS."""
    flat, other = in_rows(a), None if b is None else in_rows(b)
    rows, width = flat.shape
    kind, stored = a.dtype, runtime.storage_dtype(a.dtype)
    total = None if b is None else runtime.empty(a.shape, stored, a.device)
    normal = runtime.empty(a.shape, stored, a.device)
    inverse = runtime.empty((rows,), torch.float32, a.device)
    height = max(1, tile["elements"] // _block(width))
    _forward_kernel[(runtime.cdiv(rows, height),)](
        flat, other, _scalar(keep, kind), _scalar(add, kind),
        None if weight is None else weight.contiguous(), total, normal, inverse,
        flat.stride(0), 0 if other is None else other.stride(0), rows,
        D=width, EPS=eps, ROWS=height, BD=_block(width), **runtime.options(tile),
    )  # fmt: skip
    return (
        None if total is None else runtime.rounded(total, kind),
        runtime.rounded(normal, kind),
        inverse,
    )


def rms_norm_backward(
    d_total: Tensor | None,
    d_normal: Tensor,
    x: Tensor,
    inverse: Tensor,
    a: Tensor | None,
    b: Tensor | None,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    tile: Tile,
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of ``a``, ``b``, ``keep``, ``add`` and ``weight``; ``x`` is what was normalised.

    ``a`` is asked for only beside ``keep``, ``b`` beside ``add``.
    """
    flat, upstream = in_rows(x), in_rows(d_normal)
    through = None if d_total is None else in_rows(d_total)
    left = None if a is None or keep is None else in_rows(a)
    right = None if b is None or add is None else in_rows(b)
    rows, width = flat.shape
    kind, stored, device = x.dtype, runtime.storage_dtype(x.dtype), x.device
    height = max(1, tile["elements"] // _block(width))
    programs = runtime.cdiv(rows, height)
    if keep is not None or add is not None or weight is not None:
        programs = min(programs, tile["programs"])
    d_a = runtime.empty(x.shape, stored, device)
    alike = keep is None and add is None
    d_b = None if alike else runtime.empty(x.shape, stored, device)
    wide = torch.float32
    d_keep = None if keep is None else runtime.empty((programs,), wide, device)
    d_add = None if add is None else runtime.empty((programs,), wide, device)
    d_weight = None if weight is None else runtime.empty((programs, width), wide, device)
    _backward_kernel[(programs,)](
        through, upstream, flat, inverse, left, right,
        _scalar(keep, kind), _scalar(add, kind), None if weight is None else weight.contiguous(),
        d_a, d_b, d_keep, d_add, d_weight,
        0 if through is None else through.stride(0), upstream.stride(0), flat.stride(0),
        0 if left is None else left.stride(0), 0 if right is None else right.stride(0), rows,
        D=width, ROWS=height, BD=_block(width), **runtime.options(tile),
    )  # fmt: skip
    d_a = runtime.rounded(d_a, kind)
    return (
        d_a,
        d_a if d_b is None else runtime.rounded(d_b, kind),
        _summed(d_keep, keep),
        _summed(d_add, add),
        _summed(d_weight, weight),
    )


def _summed(parts: Tensor | None, like: Tensor | None) -> Tensor | None:
    """The programs' parts of a gradient added up, always in the same order."""
    if parts is None or like is None:
        return None
    return parts.sum(0).to(like.dtype).reshape(like.shape)


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor | None, eps: float, tile: Tile) -> Tensor:
        _, normal, inverse = rms_norm_forward(x, None, None, None, weight, eps, tile)
        ctx.save_for_backward(x, weight, inverse)
        ctx.tile = runtime.tile("rms_norm_backward", x, _block(x.shape[-1]))
        return normal

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, inverse = ctx.saved_tensors
        d_x, _, _, _, d_weight = rms_norm_backward(
            None, gradient, x, inverse, None, None, None, None, weight, ctx.tile
        )
        return d_x, d_weight, None, None


def rms_norm(x: Tensor, weight: Tensor | None, *, eps: float) -> Tensor:
    """``x (mean(x^2) + eps)^-1/2``, times ``weight``, rounded once."""
    tile = runtime.tile("rms_norm_forward", x, _block(x.shape[-1]))
    if torch.is_grad_enabled():
        result: Tensor = _RMSNorm.apply(x, weight, eps, tile)  # type: ignore[no-untyped-call]
        return result
    return rms_norm_forward(x, None, None, None, weight, eps, tile)[1]


class _AddRMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        a: Tensor,
        b: Tensor,
        keep: Tensor | None,
        add: Tensor | None,
        weight: Tensor | None,
        eps: float,
        tile: Tile,
    ) -> tuple[Tensor, Tensor]:
        total, normal, inverse = rms_norm_forward(a, b, keep, add, weight, eps, tile)
        assert total is not None
        held = (None if keep is None else a, None if add is None else b)
        ctx.save_for_backward(total, inverse, *held, keep, add, weight)
        ctx.tile = runtime.tile("rms_norm_backward", a, _block(a.shape[-1]))
        ctx.set_materialize_grads(False)
        return total, normal

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_total: Tensor | None, d_normal: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        if d_normal is None:
            if d_total is None:
                return (None,) * 7
            d_normal = torch.zeros_like(d_total)
        total, inverse, a, b, keep, add, weight = ctx.saved_tensors
        gradients = rms_norm_backward(
            d_total, d_normal, total, inverse, a, b, keep, add, weight, ctx.tile
        )
        return *gradients, None, None


def add_rms_norm(
    a: Tensor,
    b: Tensor,
    *,
    keep: Tensor | None,
    add: Tensor | None,
    weight: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor]:
    """``keep a + add b``, the scalars rounded to the dtype of ``a`` first, and its norm."""
    tile = runtime.tile("rms_norm_forward", a, _block(a.shape[-1]))
    if torch.is_grad_enabled():
        result: tuple[Tensor, Tensor] = _AddRMSNorm.apply(  # type: ignore[no-untyped-call]
            a, b, keep, add, weight, eps, tile
        )
        return result
    total, normal, _ = rms_norm_forward(a, b, keep, add, weight, eps, tile)
    assert total is not None
    return total, normal


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Both kernels as the norm, without and with a weight, and as the join of a block."""
    # Of other widths the one that needs most.
    uses = ("norm", "weighted", "join") if width is None else ("weighted",)
    width = width or 1280
    learned = dict.fromkeys(("keep", "add", "weight"), "fp32")
    forward = dict.fromkeys(("a", "b", "total", "normal"), dtype) | learned | {"inverse": "fp32"}
    backward = dict.fromkeys(("d_total", "d_normal", "x", "a", "b", "d_a", "d_b"), dtype)
    backward |= learned | dict.fromkeys(("inverse", "d_keep", "d_add", "d_weight"), "fp32")
    scalars, weight = {"keep", "add", "d_keep", "d_add"}, {"weight", "d_weight"}
    join = {"b", "total", "d_total", "d_b"} | scalars
    absences = {"norm": join | weight, "weighted": join, "join": weight}
    for absent in (absences[use] for use in uses):
        for kernel, function, data in (
            ("rms_norm_forward", _forward_kernel, forward),
            ("rms_norm_backward", _backward_kernel, backward),
        ):
            tile = tile_of(kernel)
            without = {*absent, "a"} if data is backward and "b" in absent else absent
            pointers = {f"{name}_ptr": f"*{data[name]}" for name in data if name not in without}
            strides = [f"stride_{name}" for name in ("d_total", "d_normal", "x", "a", "b")]
            numbers = [each for each in strides if each.removeprefix("stride_") in data] + ["N"]
            constants: dict[str, Any] = {f"{name}_ptr": None for name in data if name in without}
            constants |= {} if data is backward else {"EPS": 2.0**-23}
            constants["ROWS"] = max(1, tile["elements"] // _block(width))
            yield runtime.Specimen(
                kernel=kernel,
                function=function,
                signature=pointers | dict.fromkeys(numbers, "i32"),
                constants=constants | {"D": width, "BD": _block(width)},
                aligned=[*pointers, *numbers],
                tile=tile,
                matrix=False,
            )
