"""Attention in plain torch: which of the ways is fastest for the shapes at hand."""

from __future__ import annotations

from typing import Any

import attrs
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.cpu import attention_chunked as chunked
from limite.core.kernels.cpu import attention_fold as fold
from limite.core.kernels.cpu import attention_fused as fused
from limite.core.kernels.cpu import attention_rectangle as rectangle
from limite.core.kernels.cpu import attention_short as short
from limite.core.kernels.cpu import attention_stretches as stretches
from limite.core.kernels.layout import Layout
from limite.core.kernels.segments import Segments, spans

SHORT = 64
"""Rows up to this many tokens, where no operator of torch fits, keep their weights for the
backward pass."""

NARROW = 64
"""Windows up to this many tokens, of packed rows, are worked through in stretches."""

Way = rectangle.Rectangle | short.Short | stretches.Stretched | chunked.Chunked
"""One of the ways, with all that shapes it apart from the tensors."""


def attention_forward(
    q: Tensor, k: Tensor, v: Tensor, way: Way, need_lse: bool
) -> tuple[Tensor, Tensor | None, list[Tensor]]:
    """Output, log-sum-exp (None where not needed), and what ``attention_backward`` reads."""
    if isinstance(way, rectangle.Rectangle):
        return rectangle.rectangle_forward(q, k, v, way, need_lse)
    if isinstance(way, short.Short):
        return short.short_forward(q, k, v, way, need_lse)
    if isinstance(way, stretches.Stretched):
        return stretches.stretched_forward(q, k, v, way, need_lse)
    out, lse = chunked.chunked_forward(q, k, v, way)
    return out, lse if need_lse else None, [q, k, v, out, lse]


def attention_backward(
    kept: list[Tensor], d_out: Tensor | None, d_lse: Tensor | None, way: Way, kv_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``q``, ``k`` and ``v``."""
    if isinstance(way, rectangle.Rectangle):
        return rectangle.rectangle_backward(kept, d_out, d_lse, way, kv_heads)
    if isinstance(way, short.Short):
        return short.short_backward(kept, d_out, d_lse, way, kv_heads)
    if isinstance(way, stretches.Stretched):
        return stretches.stretched_backward(kept, d_out, d_lse, way)
    q, k, v, out, lse = kept
    return chunked.chunked_backward(q, k, v, out, lse, d_out, d_lse, way)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, way: Way, need_lse: bool
    ) -> tuple[Tensor, Tensor | None]:
        out, lse, kept = attention_forward(q, k, v, way, need_lse)
        ctx.save_for_backward(*kept)
        ctx.way, ctx.kv_heads = way, k.shape[1]
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor | None, d_lse: Tensor | None) -> tuple[Tensor | None, ...]:
        if d_out is None and d_lse is None:
            return None, None, None, None, None
        gradients = attention_backward(list(ctx.saved_tensors), d_out, d_lse, ctx.way, ctx.kv_heads)
        return *gradients, None, None


@attrs.define
class _Settings:
    scale: float
    window: int | None
    softcap: float | None
    need_lse: bool

    @property
    def fused(self) -> bool:
        """Whether torch's own operator does it all."""
        return self.softcap is None and not self.need_lse

    def within(self, longest: int) -> _Settings:
        """The same for rows of up to ``longest`` keys: without a window that hides nothing."""
        if self.window is None or self.window < longest:
            return self
        return attrs.evolve(self, window=None)


def _attend(
    q: Tensor, k: Tensor, v: Tensor, way: Way, need_lse: bool
) -> tuple[Tensor, Tensor | None]:
    if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
        result: tuple[Tensor, Tensor | None] = _Attention.apply(q, k, v, way, need_lse)  # type: ignore[no-untyped-call]
        return result
    return attention_forward(q, k, v, way, need_lse)[:2]


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float,
    window: int | None,
    segments: Segments | None,
    softcap: float | None,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """See ``ops.attention``. Half precision is computed in float32 and rounded once."""
    settings = _Settings(scale, window, softcap, need_lse)
    dtype = q.dtype
    if dtype.itemsize < 4:
        q, k, v = q.float(), k.float(), v.float()
    lse: Tensor | None
    if not q.numel():
        out, lse = _nothing(q, k, v, settings)
    elif segments is None:
        out, lse = _rectangle(q, k, v, settings)
    elif isinstance(segments, Layout):
        out, lse = _packed(q, k, v, segments, settings)
    elif q.shape[2] == k.shape[2]:
        out, lse = _by_rows(q, k, v, segments, settings)
    else:
        out, lse = _last_of_rows(q, k, v, segments, settings)
    return (out if out.dtype == dtype else out.to(dtype)), lse


def _nothing(q: Tensor, k: Tensor, v: Tensor, settings: _Settings) -> tuple[Tensor, Tensor | None]:
    """Where no query sees anything: zeros, and zero gradients, whatever the inputs hold."""
    everywhere = torch.ones((), dtype=torch.bool, device=q.device)
    unused = (k.sum() + v.sum()).masked_fill(everywhere, 0.0)
    out = q.masked_fill(everywhere, 0.0) + unused
    return out, out.sum(-1).sub(torch.inf) if settings.need_lse else None


def _rectangle(
    q: Tensor, k: Tensor, v: Tensor, settings: _Settings
) -> tuple[Tensor, Tensor | None]:
    """Rows of one length, and nothing hidden but the future, and what lies before the window."""
    heads, queries = q.shape[1:3]
    kv_heads, keys = k.shape[1:3]
    settings = settings.within(keys)
    window, softcap = settings.window, settings.softcap
    if settings.fused and queries == keys:
        return fused.fused(q, k, v, settings.scale, window), None
    if keys <= SHORT:
        group = heads // kv_heads
        added = rectangle.rectangle_bias(queries, keys, window, group, q.dtype, q.device)
        way: Way = rectangle.Rectangle(added, settings.scale, softcap)
    else:
        way = chunked.Chunked(settings.scale, window, softcap)
    return _attend(q, k, v, way, settings.need_lse)


def _packed(
    q: Tensor, k: Tensor, v: Tensor, layout: Layout, settings: _Settings
) -> tuple[Tensor, Tensor | None]:
    """Rows end to end ``[1, heads, N, D]``."""
    kv_heads, group = k.shape[1], q.shape[1] // k.shape[1]
    scale, softcap, need_lse = settings.scale, settings.softcap, settings.need_lse
    window = settings.within(layout.longest).window
    if window is not None and window <= NARROW:
        way: Way = stretches.stretched(layout, window, kv_heads, group, q.dtype, scale, softcap)
        return _attend(q, k, v, way, need_lse)
    if layout.longest <= SHORT and not settings.fused:
        biases = [
            short.bias(block.length, block.length, window, group, q.dtype, q.device)
            for block in layout.blocks
        ]
        return _attend(q, k, v, short.Short(layout, biases, scale, softcap), need_lse)
    outs, sums = [], []
    blocks = zip(fold.cut(q, layout), fold.cut(k, layout), fold.cut(v, layout), strict=True)
    for some_q, some_k, some_v in blocks:
        out, lse = _rectangle(
            some_q.transpose(1, 2), some_k.transpose(1, 2), some_v.transpose(1, 2), settings
        )
        outs.append(out.transpose(1, 2))
        if lse is not None:
            sums.append(lse.transpose(1, 2))
    return fold.join(outs, layout), fold.join(sums, layout) if need_lse else None


def _by_rows(
    q: Tensor, k: Tensor, v: Tensor, segments: Tensor, settings: _Settings
) -> tuple[Tensor, Tensor | None]:
    """Rows numbered in ``segments [B, T]``: taken out of the padding, and put back."""
    batch, tokens = segments.shape
    real = (segments.flatten() >= 0).nonzero().squeeze(1)  # [N]
    if not len(real):
        return _nothing(q, k, v, settings)
    row = spans(segments).starts + tokens * torch.arange(batch, device=q.device)[:, None]
    _, lengths = torch.unique_consecutive(row.flatten()[real], return_counts=True)
    layout = Layout.from_lengths(lengths, q.device)
    whole = layout.tokens == batch * tokens

    def take(x: Tensor) -> Tensor:
        flat = x.transpose(1, 2).flatten(0, 1)  # [B * T, heads, D]
        return (flat if whole else flat.index_select(0, real)).transpose(0, 1)[None]

    def put(x: Tensor, around: float) -> Tensor:
        """``[1, heads, N, ...]`` to ``[B, heads, T, ...]``."""
        flat = x.squeeze(0).transpose(0, 1)
        if not whole:
            wide = flat.new_full((batch * tokens, *flat.shape[1:]), around)
            flat = wide.index_copy(0, real, flat)
        return flat.reshape(batch, tokens, *flat.shape[1:]).transpose(1, 2)

    out, lse = _packed(take(q), take(k), take(v), layout, settings)
    return put(out, 0.0), None if lse is None else put(lse, -torch.inf)


def _last_of_rows(
    q: Tensor, k: Tensor, v: Tensor, segments: Tensor, settings: _Settings
) -> tuple[Tensor, Tensor | None]:
    """As ``_by_rows``, the queries being the last of the keys' tokens."""
    queries, keys = q.shape[2], k.shape[2]
    rows = spans(segments)
    padding = rows.padding[:, None, :, None]  # [B, 1, Tk, 1]
    # Weight 0 times whatever lies there is 0 only where that is finite.
    q = q.masked_fill(padding[:, :, keys - queries :], 0.0)
    k, v = k.masked_fill(padding, 0.0), v.masked_fill(padding, 0.0)
    window = settings.within(keys).window
    way = chunked.Chunked(
        settings.scale, window, settings.softcap, rows.starts[:, keys - queries :]
    )
    return _attend(q, k, v, way, settings.need_lse)
