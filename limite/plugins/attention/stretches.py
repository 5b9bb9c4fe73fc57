"""Attention over a short window, forward and backward: rows cut into stretches.

Every stretch of S tokens, S no less than the window, sees itself and the stretch before it, so all
stretches of all rows are one batch of small products, whatever the rows' lengths; work is linear
in the number of tokens.
"""

from __future__ import annotations

from typing import Any

import attrs
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels.layout import Layout
from limite.plugins.attention.short import fold, unfold

SHORTEST_STRETCH = 16


@attrs.frozen(eq=False)
class Stretches:
    """Where tokens lie once rows are cut into ``C`` stretches of ``S`` places each.

    Places without a token repeat the row's last one.
    """

    size: int  # S
    count: int  # C
    queries: Tensor  # [C * S] token at each place
    keys: Tensor  # [C * 2S] token at each place of the stretch before and the stretch itself
    place: Tensor  # [N] the token's place
    own: Tensor  # [N] its place among the keys of its stretch
    following: Tensor  # [N] among the keys of the next one
    goes_on: Tensor  # [N, 1, 1], 1 where there is a next one, else 0
    bias: Tensor  # [C, S, 2S], 0 where visible, else -inf


def cut(layout: Layout, window: int, dtype: torch.dtype) -> Stretches:
    """The stretches of a layout for a window."""
    size = max(SHORTEST_STRETCH, window)
    device = layout.device
    counts = [-(-length // size) for length in layout.lengths]
    count = sum(counts)
    first = torch.tensor([0, *counts], device=device).cumsum(0)[:-1]  # [B] first stretch
    row = torch.arange(layout.rows, device=device).repeat_interleave(
        torch.tensor(counts, device=device), output_size=count
    )  # [C]
    start = (torch.arange(count, device=device) - first[row]) * size  # [C] position in the row
    last = layout.lengths_tensor[row] - 1
    offset = torch.arange(-size, size, device=device)
    position = start[:, None] + offset  # [C, 2S]
    token = layout.starts[row][:, None] + torch.minimum(position, last[:, None]).clamp(min=0)
    query = torch.arange(size, device=device)
    distance = query[:, None] - offset  # [S, 2S]
    near = (distance >= 0) & (distance < window)
    visible = near & (position >= 0)[:, None]  # [C, S, 2S]
    bias = torch.zeros(visible.shape, dtype=dtype, device=device)
    mine = first[layout.row_of] + layout.positions // size  # [N] stretch of each token
    within = layout.positions % size
    goes_on = layout.positions // size + 1 < torch.tensor(counts, device=device)[layout.row_of]
    return Stretches(
        size=size,
        count=count,
        queries=token[:, size:].flatten(),
        keys=token.flatten(),
        place=mine * size + within,
        own=mine * 2 * size + size + within,
        following=((mine + 1) * 2 * size + within).clamp(max=count * 2 * size - 1),
        goes_on=goes_on.to(dtype)[:, None, None],
        bias=bias.masked_fill_(~visible, -torch.inf),
    )


class _Stretched(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        stretches: Stretches,
        bias: Tensor,
        scale: float,
    ) -> Tensor:
        kv_heads, count, size = keys.shape[1], stretches.count, stretches.size

        def take(x: Tensor, index: Tensor) -> Tensor:
            return fold(x.index_select(0, index).view(count, -1, *x.shape[1:]), kv_heads)

        q = take(queries, stretches.queries)  # [C * K, S * G, D]
        k = take(keys, stretches.keys)  # [C * K, 2S, D]
        v = take(values, stretches.keys)
        scores = torch.bmm(q, k.transpose(1, 2))  # [C * K, S * G, 2S]
        weights = torch.add(bias, scores, alpha=scale).softmax(-1)
        out = torch.bmm(weights, v)
        ctx.save_for_backward(q, k, v, weights, out)
        ctx.settings = stretches, kv_heads, scale
        return unfold(out, count, size).flatten(0, 1).index_select(0, stretches.place)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, out = ctx.saved_tensors
        stretches, kv_heads, scale = ctx.settings
        count, size = stretches.count, stretches.size
        wide = gradient.new_zeros((count * size, *gradient.shape[1:]))
        wide.index_copy_(0, stretches.place, gradient)
        g = fold(wide.view(count, size, *gradient.shape[1:]), kv_heads)
        delta = (g * out).sum(-1, keepdim=True)
        d_scores = torch.bmm(g, v.transpose(1, 2)).sub_(delta).mul_(weights)
        d_q = unfold(torch.bmm(d_scores, k).mul_(scale), count, size)

        def collect(change: Tensor) -> Tensor:
            """Each token's part as a key of its own stretch, and of the next one."""
            change = unfold(change, count, 2 * size).flatten(0, 1)
            mine = change.index_select(0, stretches.own)
            later = change.index_select(0, stretches.following)
            return mine.addcmul_(later, stretches.goes_on)

        d_k = collect(torch.bmm(d_scores.transpose(1, 2), q).mul_(scale))
        d_v = collect(torch.bmm(weights.transpose(1, 2), g))
        d_q = d_q.flatten(0, 1).index_select(0, stretches.place)
        return d_q, d_k, d_v, None, None, None


def attend_stretches(
    queries: Tensor, keys: Tensor, values: Tensor, stretches: Stretches, bias: Tensor, scale: float
) -> Tensor:
    """``softmax(scale q.k + bias) v`` over the window: ``[N, heads, D]``."""
    settings = stretches, bias, scale
    result: Tensor = _Stretched.apply(queries, keys, values, *settings)  # type: ignore[no-untyped-call]
    return result
