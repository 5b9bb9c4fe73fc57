"""The head in Triton: logits live in registers, and in a bounded scratch for the products.

Forward goes through the vocabulary tile by tile. Backward makes the logits' gradients of a slice
of ids at a time, in the dtype of the hidden states, and leaves the products to the library: the
slice's rows of the weight's gradient are then complete, and float32 sums are kept for the hidden
states alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.logits import Settings, joined, pulls
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import indexed_logprob_kernels as kernels
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.views import side_by_side

FORWARD, CHANGE = "indexed_logprob_forward", "indexed_logprob_backward"
PICKS, PUSHES = "indexed_logprob_picks", "indexed_logprob_pushes"

Tiles = dict[str, Tile]

ROUNDED = {None: 0, "bfloat16": 1, "float16": 2}


def _scalars(settings: Settings) -> tuple[float, float, float]:
    return settings.scale, settings.shift, settings.height


def indexed_logprob_forward(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    settings: Settings,
    need_entropy: bool,
    tiles: Tiles,
) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
    """Log-probabilities, entropy, log-sum-exp; and indexed products ``[N, K]`` where K > 1."""
    hidden, weight, index = map(side_by_side, (hidden, weight, index))
    (rows, width), vocabulary, each = hidden.shape, len(weight), index.shape[1]
    tile, device = tiles[FORWARD], hidden.device
    spans = runtime.cdiv(vocabulary, tile["SPAN"])

    def empty(*shape: int) -> Tensor:
        return runtime.empty(shape, torch.float32, device)

    totals = empty(spans, rows)
    sums = empty(spans, rows) if need_entropy else None
    tops = None if settings.bounded else empty(spans, rows)
    chosen = empty(rows, 1) if each == 1 else None
    if rows:
        kernels._forward_kernel[(runtime.cdiv(rows, tile["BM"]), spans)](
            hidden, weight, index,
            totals if chosen is None else chosen, totals,
            totals if sums is None else sums, totals if tops is None else tops,
            hidden.stride(0), weight.stride(0), index.stride(0), rows, vocabulary,
            *_scalars(settings),
            D=width, CAP=settings.cap is not None, BOUNDED=settings.bounded,
            ROUND=ROUNDED[settings.round_logits], ENTROPY=need_entropy, PICK=each == 1,
            DT=runtime.dot_dtype(hidden.dtype), SPAN=tile["SPAN"],
            BM=tile["BM"], BV=tile["BV"], BD=tile["BD"], **runtime.options(tile),
        )  # fmt: skip
    lse, entropy = joined(totals, sums, settings.height if tops is None else tops)
    raw = None
    if chosen is None:
        raw = _picked(hidden, weight, index, settings, tiles[PICKS])
        chosen = settings.logits(raw)
    logp = (chosen - lse[:, None]).masked_fill(index < 0, 0.0)
    return logp, entropy, lse, raw


def _picked(
    hidden: Tensor, weight: Tensor, index: Tensor, settings: Settings, tile: Tile
) -> Tensor:
    """The indexed products ``[N, K]``, before scale, shift and cap."""
    rows, each = index.shape
    raw = runtime.empty((rows, each), torch.float32, hidden.device)
    if raw.numel():
        kernels._picks_kernel[(rows,)](
            hidden, weight, index, raw,
            hidden.stride(0), weight.stride(0), index.stride(0), each, len(weight),
            D=hidden.shape[1], ROUND=ROUNDED[settings.round_logits],
            BK=tile["BK"], BD=tile["BD"], **runtime.options(tile),
        )  # fmt: skip
    return raw


def indexed_logprob_backward(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    settings: Settings,
    entropy: Tensor | None,
    lse: Tensor,
    raw: Tensor | None,
    d_logp: Tensor | None,
    d_entropy: Tensor | None,
    d_lse: Tensor | None,
    tiles: Tiles,
    need: tuple[bool, bool] = (True, True),
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of hidden states and weight, those of ``need``."""
    hidden, weight, index = map(side_by_side, (hidden, weight, index))
    (rows, width), vocabulary, each = hidden.shape, len(weight), index.shape[1]
    tile, device = tiles[CHANGE], hidden.device
    pull, slant = pulls(settings, index, entropy, lse, d_logp, d_entropy, d_lse)
    push = base = None
    if d_logp is not None and each:
        push = (d_logp * settings.slope).contiguous()
        if raw is not None:
            # Beside the indexed logits' own gradients stand those of all: as large, and opposite,
            # where one has all the probability. They are added before anything is rounded.
            bend = settings.bend(raw)
            logp = (settings.logits(raw) - lse[:, None]).masked_fill(index < 0, 0.0)  # nats
            base = pull[:, None] if slant is None else pull[:, None] + slant[:, None] * logp
            base, push = logp.exp() * base * bend, push * bend
    d_hidden = torch.zeros((rows, width), dtype=torch.float32, device=device) if need[0] else None
    d_weight = torch.zeros_like(weight) if need[1] else None
    block = tile["BV"]
    span = max(tile["SCRATCH"] // max(rows, 1) // block, 1) * block  # ids of a slice
    span = min(span, runtime.cdiv(vocabulary, block) * block)
    stored = runtime.storage_dtype(hidden.dtype)
    scratch = runtime.empty((rows, span), stored, device)
    for first in range(0, vocabulary if rows else 0, span):
        last = min(first + span, vocabulary)
        programs = runtime.cdiv(rows, tile["BM"]) * runtime.cdiv(last - first, block)
        kernels._change_kernel[(programs,)](
            hidden, weight, index, lse if push is None else push, pull,
            pull if slant is None else slant, lse, scratch,
            hidden.stride(0), weight.stride(0), index.stride(0), span, rows, last, first,
            *_scalars(settings),
            D=width, CAP=settings.cap is not None, ROUND=ROUNDED[settings.round_logits],
            ENTROPY=slant is not None, PICK=push is not None and each == 1,
            DT=runtime.dot_dtype(hidden.dtype),
            BM=tile["BM"], BV=block, BD=tile["BD"], **runtime.options(tile),
        )  # fmt: skip
        if push is not None and base is not None:
            kernels._pushes_kernel[(rows,)](
                index, push, base, scratch, index.stride(0), span, each, first, last,
                BK=tiles[PUSHES]["BK"], **runtime.options(tiles[PUSHES]),
            )  # fmt: skip
        change = runtime.rounded(scratch[:, : last - first], hidden.dtype)  # [N, S]
        if d_hidden is not None:
            _add_product(d_hidden, change, weight[first:last])
        if d_weight is not None:
            d_weight[first:last] = _product(change.t(), hidden)
    return None if d_hidden is None else d_hidden.to(hidden.dtype), d_weight


def _product(left: Tensor, right: Tensor) -> Tensor:
    """The product of matrices in float32, whatever their dtype."""
    if left.dtype == torch.float32:
        return left @ right
    if left.is_cuda:
        return torch.mm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds the product of two matrices to a float32 one, in place."""
    if left.is_cuda and left.dtype != torch.float32:
        torch.ops.aten.addmm.dtype_out(total, left, right, torch.float32, out=total)
    else:
        total.addmm_(left.float(), right.float())


class _IndexedLogprob(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        index: Tensor,
        settings: Settings,
        need_entropy: bool,
        tiles: Tiles,
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        logp, entropy, lse, raw = indexed_logprob_forward(
            hidden, weight, index, settings, need_entropy, tiles
        )
        ctx.save_for_backward(hidden, weight, index, entropy, lse, raw)
        ctx.settings, ctx.tiles = settings, tiles
        ctx.set_materialize_grads(False)
        return logp, entropy, lse

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_logp: Tensor | None, d_entropy: Tensor | None, d_lse: Tensor | None
    ) -> tuple[Any, ...]:
        hidden, weight, index, entropy, lse, raw = ctx.saved_tensors
        upstream = (d_logp, d_entropy, d_lse)
        found = indexed_logprob_backward(
            hidden, weight, index, ctx.settings, entropy, lse, raw, *upstream,
            ctx.tiles, ctx.needs_input_grad[:2],
        )  # fmt: skip
        return (*found, None, None, None, None)


def indexed_logprob(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    *,
    cap: tuple[float, float, float] | None,
    temperature: float,
    round_logits: str | None,
    need_entropy: bool,
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Log-probabilities of the indexed ids, the entropy, the log-sum-exp."""
    settings = Settings(cap, temperature, round_logits)
    tiles = {name: runtime.tile(name, hidden) for name in (FORWARD, CHANGE, PICKS, PUSHES)}
    if torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad):
        result: tuple[Tensor, Tensor | None, Tensor] = _IndexedLogprob.apply(  # type: ignore[no-untyped-call]
            hidden, weight, index, settings, need_entropy, tiles
        )
        return result
    return indexed_logprob_forward(hidden, weight, index, settings, need_entropy, tiles)[:3]


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Every kernel as Limite's head launches it: capped, one id for each token, with entropy.

    And without a cap, in Limite's own width, those that sum and differ with it.
    """
    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
    dot = {"D": width or 1280, "DT": runtime.dot_dtype(types[dtype])}
    settings = {"ROUND": 0, "ENTROPY": True, "PICK": True}
    caps = (True, False) if width is None else (True,)
    inputs = {"hidden_ptr": f"*{dtype}", "weight_ptr": f"*{dtype}", "index_ptr": "*i64"}
    strides = dict.fromkeys(("stride_h", "stride_w"), "i32")
    scalars = dict.fromkeys(("scale", "shift", "height"), "fp32")

    def floats(*names: str) -> dict[str, str]:
        return {f"{name}_ptr": "*fp32" for name in names}

    def blocks(name: str, *of: str) -> dict[str, Any]:
        return {block: tile_of(name)[block] for block in of}

    # The index has rows of one id here, and the slice of ids may end anywhere.
    loose = {"V": "i32", "first": "i32", "last": "i32", "stride_i": "i32", "K": "i32"}
    sizes = {"N": "i32"}
    found: list[tuple[str, Any, dict[str, str], dict[str, Any], bool]] = [
        *((
            FORWARD,
            kernels._forward_kernel,
            inputs
            | floats("chosen", "totals", "sums", "tops")
            | strides | {"stride_i": "i32"} | sizes | {"V": "i32"} | scalars,
            dot | settings | {"CAP": cap, "BOUNDED": cap}
            | blocks(FORWARD, "SPAN", "BM", "BV", "BD"),
            True,
        ) for cap in caps),
        *((
            CHANGE,
            kernels._change_kernel,
            inputs
            | floats("push", "pull", "slant", "lse") | {"change_ptr": f"*{dtype}"}
            | strides | {"stride_i": "i32", "stride_c": "i32"} | sizes
            | {"V": "i32", "first": "i32"} | scalars,
            dot | settings | {"CAP": cap} | blocks(CHANGE, "BM", "BV", "BD"),
            True,
        ) for cap in caps),
        (
            PICKS,
            kernels._picks_kernel,
            inputs | floats("raw") | strides | {"stride_i": "i32", "K": "i32", "V": "i32"},
            {"D": dot["D"], "ROUND": 0} | blocks(PICKS, "BK", "BD"),
            False,
        ),
        (
            PUSHES,
            kernels._pushes_kernel,
            {"index_ptr": "*i64"} | floats("push", "base") | {"change_ptr": f"*{dtype}"}
            | {"stride_i": "i32", "stride_c": "i32", "K": "i32", "first": "i32", "last": "i32"},
            blocks(PUSHES, "BK"),
            False,
        ),
    ]  # fmt: skip
    for name, function, signature, constants, matrix in found:
        yield runtime.Specimen(
            kernel=name,
            function=function,
            signature=signature,
            constants=constants,
            aligned=[
                argument
                for argument in signature
                if argument not in loose and argument not in scalars
            ],
            tile=tile_of(name),
            matrix=matrix,
        )
