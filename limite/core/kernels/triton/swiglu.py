"""SwiGLU in Triton: one pass each way, over rows of any stride."""

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
from limite.core.kernels.triton.views import in_rows


@triton.jit
def _forward_kernel(
    gate_ptr, up_ptr, out_ptr, stride_gate, stride_up, N,
    F: tl.constexpr, ROWS: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    across: tl.constexpr = (F + BF - 1) // BF
    program = tl.program_id(0)
    row = program // across * ROWS + tl.arange(0, ROWS)[:, None]
    column = program % across * BF + tl.arange(0, BF)[None, :]
    inside = (row < N) & (column < F)
    row = row.to(tl.int64)
    gate = tl.load(gate_ptr + row * stride_gate + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * stride_up + column, mask=inside, other=0.0).to(tl.float32)
    # The sigmoid from a power that cannot overflow.
    power = tl.exp(-tl.abs(gate))
    sigmoid = tl.where(gate >= 0, 1.0, power) / (1.0 + power)
    tl.store(out_ptr + row * F + column, gate * sigmoid * up, mask=inside)


@triton.jit
def _backward_kernel(
    d_out_ptr, gate_ptr, up_ptr, d_gate_ptr, d_up_ptr,
    stride_d_out, stride_gate, stride_up, N,
    F: tl.constexpr, ROWS: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    across: tl.constexpr = (F + BF - 1) // BF
    program = tl.program_id(0)
    row = program // across * ROWS + tl.arange(0, ROWS)[:, None]
    column = program % across * BF + tl.arange(0, BF)[None, :]
    inside = (row < N) & (column < F)
    row = row.to(tl.int64)
    g = tl.load(d_out_ptr + row * stride_d_out + column, mask=inside, other=0.0).to(tl.float32)
    gate = tl.load(gate_ptr + row * stride_gate + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * stride_up + column, mask=inside, other=0.0).to(tl.float32)
    power = tl.exp(-tl.abs(gate))
    sigmoid = tl.where(gate >= 0, 1.0, power) / (1.0 + power)
    d_gate = g * up * sigmoid * (1.0 + gate * (1.0 - sigmoid))
    tl.store(d_gate_ptr + row * F + column, d_gate, mask=inside)
    tl.store(d_up_ptr + row * F + column, g * gate * sigmoid, mask=inside)


def _shape(rows: int, width: int, tile: Tile) -> tuple[int, dict[str, Any]]:
    """Programs and constants: whole narrow rows, several together, or parts of wide ones."""
    columns = min(runtime.next_power_of_2(width), tile["columns"])
    height = max(1, tile["elements"] // columns)
    programs = runtime.cdiv(rows, height) * runtime.cdiv(width, columns)
    return programs, {"F": width, "ROWS": height, "BF": columns} | runtime.options(tile)


def swiglu_forward(gate: Tensor, up: Tensor, tile: Tile) -> Tensor:
    """``silu(gate) * up``."""
    left, right = in_rows(gate), in_rows(up)
    out = runtime.empty(gate.shape, runtime.storage_dtype(gate.dtype), gate.device)
    programs, constants = _shape(len(left), gate.shape[-1], tile)
    _forward_kernel[(programs,)](
        left, right, out, left.stride(0), right.stride(0), len(left), **constants
    )
    return runtime.rounded(out, gate.dtype)


def swiglu_backward(
    gradient: Tensor, gate: Tensor, up: Tensor, tile: Tile
) -> tuple[Tensor, Tensor]:
    """Gradients of ``gate`` and ``up``."""
    upstream, left, right = in_rows(gradient), in_rows(gate), in_rows(up)
    stored = runtime.storage_dtype(gate.dtype)
    d_gate = runtime.empty(gate.shape, stored, gate.device)
    d_up = runtime.empty(gate.shape, stored, gate.device)
    programs, constants = _shape(len(left), gate.shape[-1], tile)
    _backward_kernel[(programs,)](
        upstream, left, right, d_gate, d_up,
        upstream.stride(0), left.stride(0), right.stride(0), len(left), **constants,
    )  # fmt: skip
    return runtime.rounded(d_gate, gate.dtype), runtime.rounded(d_up, gate.dtype)


class _SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, tile: Tile) -> Tensor:
        ctx.save_for_backward(gate, up)
        ctx.tile = runtime.tile("swiglu_backward", gate)
        return swiglu_forward(gate, up, tile)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        gate, up = ctx.saved_tensors
        return *swiglu_backward(gradient, gate, up, ctx.tile), None


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """``silu(gate) * up``, silu in float32, rounded once."""
    tile = runtime.tile("swiglu_forward", gate)
    if torch.is_grad_enabled():
        result: Tensor = _SwiGLU.apply(gate, up, tile)  # type: ignore[no-untyped-call]
        return result
    return swiglu_forward(gate, up, tile)


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Both kernels with Limite's feed-forward width."""
    for kernel, function, names in (
        ("swiglu_forward", _forward_kernel, ("gate", "up", "out")),
        ("swiglu_backward", _backward_kernel, ("d_out", "gate", "up", "d_gate", "d_up")),
    ):
        tile = tile_of(kernel)
        pointers = [f"{name}_ptr" for name in names]
        strides = [f"stride_{name}" for name in ("d_out", "gate", "up") if name in names]
        constants = _shape(1, width or 3328, tile)[1]
        yield runtime.Specimen(
            kernel=kernel,
            function=function,
            signature=dict.fromkeys(pointers, f"*{dtype}") | dict.fromkeys([*strides, "N"], "i32"),
            constants={name: constants[name] for name in ("F", "ROWS", "BF")},
            aligned=[*pointers, *strides, "N"],
            tile=tile,
            matrix=False,
        )
