"""Attention in Triton: the differentiable operation."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.dispatch import Case
from limite.core.kernels.segments import Segments, Spans, spans
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.attention_backward import (
    attention_backward,
    attention_backward_dkv_kernel,
    attention_backward_dq_kernel,
)
from limite.core.kernels.triton.attention_forward import (
    attention_forward,
    attention_forward_kernel,
)
from limite.core.kernels.triton.attention_scores import Rule
from limite.core.kernels.triton.views import side_by_side


def refuses(case: Case) -> str | None:
    if case.width not in runtime.WIDTHS:
        return f"the kernels take heads of width {', '.join(map(str, runtime.WIDTHS))}"
    return None


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    window: int | None = None,
    segments: Segments | None = None,
    softcap: float | None = None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    if scale < 0:  # the kernels look for the largest product of q and k, not of it with the scale
        q, scale = -q, -scale
    if window is not None and window >= k.shape[2]:
        window = None
    rule = Rule(scale, window, softcap)
    if segments is not None:
        rows = spans(segments)
        rows = Spans(rows.starts.contiguous(), rows.ends.contiguous())
        rule = Rule(scale, window, softcap, rows, padded=isinstance(segments, Tensor))
    q, k, v = map(side_by_side, (q, k, v))
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        out, lse = _Attention.apply(q, k, v, rule)  # type: ignore[no-untyped-call]
    else:
        out, lse = attention_forward(q, k, v, rule, _tile("forward", q))
    return out, lse if need_lse else None


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
        out, lse = attention_forward(q, k, v, rule, _tile("forward", q))
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.set_materialize_grads(False)
        ctx.rule = rule
        ctx.tiles = _tile("backward_dq", q), _tile("backward_dkv", q)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        dout = torch.zeros_like(out) if dout is None else side_by_side(dout)
        gradients = attention_backward(dout, dlse, q, k, v, out, lse, ctx.rule, *ctx.tiles)
        return *gradients, None


def _tile(kernel: str, q: Tensor) -> Tile:
    return runtime.tile(f"attention_{kernel}", q, q.shape[3])


POINTERS = {
    "attention_forward": ("q", "k", "v", "out"),
    "attention_backward_dq": ("q", "k", "v", "out", "dout", "dq"),
    "attention_backward_dkv": ("q", "k", "v", "dout", "dk", "dv"),
}
"""The tensors ``[B, heads, T, D]`` of each kernel."""

LOCAL = {"WINDOWED": True, "SEGMENTED": True, "PADDED": False, "CAPPED": False}
"""A layer with a window over rows laid end to end."""

GLOBAL = dict.fromkeys(LOCAL, False)
"""A layer that sees everything before."""

FUNCTIONS = {
    "attention_forward": attention_forward_kernel,
    "attention_backward_dq": attention_backward_dq_kernel,
    "attention_backward_dkv": attention_backward_dkv_kernel,
}


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """The three kernels, as in training: of a local layer, and in bfloat16 of a global one too."""
    operands = {"bf16": tl.bfloat16, "fp16": tl.float16, "fp32": tl.float32}
    for kernel, everywhere in itertools.product(FUNCTIONS, (False, True)):
        if everywhere and dtype != "bf16":
            continue
        function = FUNCTIONS[kernel]
        tile = tile_of(kernel)
        names = set(function.arg_names)
        signature = dict.fromkeys(POINTERS[kernel], f"*{dtype}")
        signature |= dict.fromkeys({"lse", "delta"} & names, "*fp32")
        signature |= dict.fromkeys({"starts", "ends"} & names, "*i32")
        strides = [
            name
            for name in function.arg_names
            if name.rpartition("_")[2] in ("batch", "head", "token")
            and (everywhere or not name.startswith("dlse"))
        ]
        if everywhere:
            signature |= dict.fromkeys({"dlse"} & names, "*fp32")
        aligned = (*signature, *strides)
        signature |= dict.fromkeys(strides, "i32")
        signature |= dict.fromkeys({"H", "K", "G", "Tq", "Tk", "window"} & names, "i32")
        signature |= dict.fromkeys({"factor", "inner", "scale"} & names, "fp32")
        constants = {
            "BM": tile["BM"],
            "BN": tile["BN"],
            "D": 128 if width is None else width,
            "DT": operands[dtype],
            **(GLOBAL if everywhere else LOCAL),
        }
        if kernel == "attention_backward_dq":
            constants["LSE"] = everywhere
            if not everywhere:  # nothing flows back from the log-sum-exp
                constants |= dict.fromkeys(("dlse", "dlse_batch", "dlse_head", "dlse_token"))
        if everywhere:  # no rows are told apart
            constants |= dict.fromkeys({"starts", "ends"} & names)
            signature = {name: of for name, of in signature.items() if name not in constants}
            aligned = tuple(name for name in aligned if name not in constants)
        yield runtime.Specimen(
            kernel=kernel,
            function=function,
            signature=signature,
            constants=constants,
            aligned=aligned,
            tile=tile,
            matrix=True,
        )
