"""The own value's removal and the head gate in Triton: a value is read once for its heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.dispatch import Case
from limite.core.kernels.reference.head_mix import SHORTEST
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.views import in_heads

WIDEST = 1024
"""Channels of the widest head."""


def refuses(case: Case) -> str | None:
    if case.width is not None and case.width > WIDEST:
        return f"heads have at most {WIDEST} channels, these have {case.width}"
    return None


@triton.jit
def _tanh(x):
    # From a power that cannot overflow.
    power = tl.exp(-2.0 * tl.abs(x))
    size = (1.0 - power) / (1.0 + power)
    return tl.where(x >= 0, size, -size)


@triton.jit
def _sigmoid(x):
    power = tl.exp(-tl.abs(x))
    return tl.where(x >= 0, 1.0, power) / (1.0 + power)


@triton.jit
def _forward_kernel(
    y_ptr, v_ptr, alpha_ptr, gates_ptr, out_ptr,
    stride_y_token, stride_y_head, stride_v_token, stride_v_head,
    stride_gate_token, stride_gate_head, N,
    H: tl.constexpr, K: tl.constexpr, D: tl.constexpr, SHORT: tl.constexpr,
    ROWS: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    # A program has some tokens, one value head of each, and in turn its H / K heads.
    kv_head = tl.program_id(0) % K
    row = tl.program_id(0) // K * ROWS + tl.arange(0, ROWS)
    there = row < N
    channel = tl.arange(0, BD)[None, :]
    inside = there[:, None] & (channel < D)
    token = row.to(tl.int64)
    if alpha_ptr is not None:
        v_at = v_ptr + token[:, None] * stride_v_token + kv_head * stride_v_head + channel
        unit = tl.load(v_at, mask=inside, other=0.0).to(tl.float32)
        unit = unit / tl.maximum(tl.sqrt(tl.sum(unit * unit, 1)), SHORT)[:, None]
    for member in range(H // K):
        head = kv_head * (H // K) + member
        y_at = y_ptr + token[:, None] * stride_y_token + head * stride_y_head + channel
        y = tl.load(y_at, mask=inside, other=0.0).to(tl.float32)
        if alpha_ptr is not None:
            strength = _tanh(tl.load(alpha_ptr + head).to(tl.float32))
            y -= (strength * tl.sum(y * unit, 1))[:, None] * unit
        if gates_ptr is not None:
            gate_at = gates_ptr + token * stride_gate_token + head * stride_gate_head
            gate = tl.load(gate_at, mask=there, other=0.0).to(tl.float32)
            y = y * (2.0 * _sigmoid(gate))[:, None]
        tl.store(out_ptr + (token[:, None] * H + head) * D + channel, y, mask=inside)


@triton.jit
def _backward_kernel(
    dout_ptr, y_ptr, v_ptr, alpha_ptr, gates_ptr, dy_ptr, dv_ptr, dalpha_ptr, dgates_ptr,
    stride_dout_token, stride_dout_head,
    stride_y_token, stride_y_head, stride_v_token, stride_v_head,
    stride_gate_token, stride_gate_head, N,
    H: tl.constexpr, K: tl.constexpr, D: tl.constexpr, SHORT: tl.constexpr,
    ROWS: tl.constexpr, BD: tl.constexpr,
):  # fmt: skip
    kv_head = tl.program_id(0) % K
    block = tl.program_id(0) // K
    row = block * ROWS + tl.arange(0, ROWS)
    there = row < N
    channel = tl.arange(0, BD)[None, :]
    inside = there[:, None] & (channel < D)
    token = row.to(tl.int64)
    if alpha_ptr is not None:
        v_at = v_ptr + token[:, None] * stride_v_token + kv_head * stride_v_head + channel
        unit = tl.load(v_at, mask=inside, other=0.0).to(tl.float32)
        length = tl.sqrt(tl.sum(unit * unit, 1))
        divisor = tl.maximum(length, SHORT)
        unit = unit / divisor[:, None]
        # The gradient of the unit vector, and its part along that vector.
        change = tl.zeros((ROWS, BD), tl.float32)
        inward = tl.zeros((ROWS,), tl.float32)
    for member in range(H // K):
        head = kv_head * (H // K) + member
        y_at = y_ptr + token[:, None] * stride_y_token + head * stride_y_head + channel
        y = tl.load(y_at, mask=inside, other=0.0).to(tl.float32)
        g_at = dout_ptr + token[:, None] * stride_dout_token + head * stride_dout_head + channel
        g = tl.load(g_at, mask=inside, other=0.0).to(tl.float32)
        if gates_ptr is not None:
            gate_at = gates_ptr + token * stride_gate_token + head * stride_gate_head
            gate = tl.load(gate_at, mask=there, other=0.0).to(tl.float32)
            gate = 2.0 * _sigmoid(gate)
            d_gate = tl.sum(g * y, 1)
            d_y = g * gate[:, None]
        else:
            d_y = g
        if alpha_ptr is not None:
            strength = _tanh(tl.load(alpha_ptr + head).to(tl.float32))
            along = tl.sum(y * unit, 1)
            pushed = tl.sum(d_y * unit, 1)
            both = along * pushed
            d_y -= (strength * pushed)[:, None] * unit
            if gates_ptr is not None:
                d_gate -= strength * along * tl.sum(g * unit, 1)
                change += (strength * along * gate)[:, None] * g
            else:
                change += (strength * along)[:, None] * g
            change += (strength * pushed)[:, None] * y
            inward += strength * both
            d_alpha = (strength * strength - 1.0) * tl.sum(both, 0)
            tl.store(dalpha_ptr + block * H + head, d_alpha)
        tl.store(dy_ptr + (token[:, None] * H + head) * D + channel, d_y, mask=inside)
        if gates_ptr is not None:
            # d(2 sigmoid) = 2 sigmoid (1 - sigmoid), by gate = 2 sigmoid
            d_gate = d_gate * gate * (1.0 - 0.5 * gate)
            tl.store(dgates_ptr + token * H + head, d_gate, mask=there)
    if dv_ptr is not None:
        inward = tl.where(length > SHORT, 2.0 * inward, 0.0)
        d_v = (inward[:, None] * unit - change) / divisor[:, None]
        tl.store(dv_ptr + (token[:, None] * K + kv_head) * D + channel, d_v, mask=inside)


def _constants(y: Tensor, v: Tensor, tile: Tile) -> dict[str, Any]:
    width = y.shape[2]
    block = runtime.next_power_of_2(width)
    return {
        "H": y.shape[1],
        "K": v.shape[1],
        "D": width,
        "SHORT": SHORTEST,
        "ROWS": max(1, tile["elements"] // block),
        "BD": block,
    }


def head_mix_forward(
    outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None, tile: Tile
) -> Tensor:
    """The mixed heads ``[..., H, D]``."""
    y, v = in_heads(outputs), in_heads(values)
    flat = None if gates is None else gates.reshape(-1, gates.shape[-1])
    out = runtime.empty(outputs.shape, runtime.storage_dtype(outputs.dtype), outputs.device)
    constants = _constants(y, v, tile)
    _forward_kernel[(runtime.cdiv(len(y), constants["ROWS"]) * v.shape[1],)](
        y, v, None if alpha is None else alpha.contiguous(), flat, out,
        y.stride(0), y.stride(1), v.stride(0), v.stride(1), *_strides(flat), len(y),
        **constants, **runtime.options(tile),
    )  # fmt: skip
    return runtime.rounded(out, outputs.dtype)


def _strides(gates: Tensor | None) -> tuple[int, int]:
    return (0, 0) if gates is None else (gates.stride(0), gates.stride(1))


def head_mix_backward(
    gradient: Tensor,
    outputs: Tensor,
    values: Tensor,
    alpha: Tensor | None,
    gates: Tensor | None,
    tile: Tile,
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """Gradients of ``outputs``, ``values``, ``alpha`` and ``gates``."""
    g, y, v = in_heads(gradient), in_heads(outputs), in_heads(values)
    flat = None if gates is None else gates.reshape(-1, gates.shape[-1])
    device, stored = outputs.device, runtime.storage_dtype(outputs.dtype)
    constants = _constants(y, v, tile)
    blocks = runtime.cdiv(len(y), constants["ROWS"])
    d_y = runtime.empty(outputs.shape, stored, device)
    d_v = d_alpha = d_gates = None
    if alpha is not None:
        d_v = runtime.empty(values.shape, stored, device)
        d_alpha = runtime.empty((blocks, y.shape[1]), torch.float32, device)
    if gates is not None:
        d_gates = runtime.empty(gates.shape, runtime.storage_dtype(gates.dtype), device)
    _backward_kernel[(blocks * v.shape[1],)](
        g, y, v, None if alpha is None else alpha.contiguous(), flat, d_y, d_v, d_alpha, d_gates,
        g.stride(0), g.stride(1), y.stride(0), y.stride(1), v.stride(0), v.stride(1),
        *_strides(flat), len(y), **constants, **runtime.options(tile),
    )  # fmt: skip
    if alpha is not None:
        assert d_alpha is not None
        d_alpha = d_alpha.sum(0).to(alpha.dtype)
    return (
        runtime.rounded(d_y, outputs.dtype),
        None if d_v is None else runtime.rounded(d_v, values.dtype),
        d_alpha,
        None if d_gates is None or gates is None else runtime.rounded(d_gates, gates.dtype),
    )


class _HeadMix(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        outputs: Tensor,
        values: Tensor,
        alpha: Tensor | None,
        gates: Tensor | None,
        tile: Tile,
    ) -> Tensor:
        ctx.save_for_backward(outputs, values, alpha, gates)
        ctx.tile = runtime.tile("head_mix_backward", outputs, outputs.shape[-1])
        return head_mix_forward(outputs, values, alpha, gates, tile)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        outputs, values, alpha, gates = ctx.saved_tensors
        return *head_mix_backward(gradient, outputs, values, alpha, gates, ctx.tile), None


def head_mix(outputs: Tensor, values: Tensor, alpha: Tensor | None, gates: Tensor | None) -> Tensor:
    """``(y - tanh(alpha) (y . v) v) * 2 sigmoid(gate)``, v the token's own value at unit length."""
    tile = runtime.tile("head_mix_forward", outputs, outputs.shape[-1])
    if torch.is_grad_enabled():
        result: Tensor = _HeadMix.apply(  # type: ignore[no-untyped-call]
            outputs, values, alpha, gates, tile
        )
        return result
    return head_mix_forward(outputs, values, alpha, gates, tile)


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Both kernels over Limite's heads, with both halves."""
    width = width or 128
    halves = {"y": dtype, "v": dtype, "alpha": "fp32", "gates": dtype}
    strides = [f"stride_{of}_{axis}" for of in ("y", "v", "gate") for axis in ("token", "head")]
    for kernel, function, data, numbers in (
        ("head_mix_forward", _forward_kernel, halves | {"out": dtype}, strides),
        (
            "head_mix_backward",
            _backward_kernel,
            {"dout": dtype}
            | halves
            | {"dy": dtype, "dv": dtype, "dalpha": "fp32", "dgates": dtype},
            ["stride_dout_token", "stride_dout_head", *strides],
        ),
    ):
        tile = tile_of(kernel)
        pointers = {f"{name}_ptr": f"*{kind}" for name, kind in data.items()}
        # A gate's neighbours are those of other heads: their stride of 1 is a constant.
        constants = {"stride_gate_head": 1, "H": 10, "K": 2, "D": width, "SHORT": SHORTEST}
        integers = [*(each for each in numbers if each not in constants), "N"]
        yield runtime.Specimen(
            kernel=kernel,
            function=function,
            signature=pointers | dict.fromkeys(integers, "i32"),
            constants=constants | {"ROWS": max(1, tile["elements"] // width), "BD": width},
            aligned=[*pointers, *integers],
            tile=tile,
            matrix=False,
        )
