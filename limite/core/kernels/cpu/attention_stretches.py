"""Attention over a short window, forward and backward: rows cut into stretches.

Every stretch of S tokens, S no less than the window, sees itself and the stretch before it, so all
stretches of all rows are one batch of small products, whatever the rows' lengths; work is linear
in the number of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import torch
from torch import Tensor

from limite.core.kernels.cpu.attention_fold import fold, unfold
from limite.core.kernels.cpu.attention_short import unweigh, weigh
from limite.core.kernels.layout import Layout

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


@attrs.frozen(eq=False)
class Stretched:
    """What shapes the computation, apart from the tensors."""

    stretches: Stretches
    bias: Tensor  # [C * K, S * G, 2S] that of the stretches for every head
    scale: float
    softcap: float | None


def stretched(
    layout: Layout,
    window: int,
    kv_heads: int,
    group: int,
    dtype: torch.dtype,
    scale: float,
    softcap: float | None,
) -> Stretched:
    """A layout's rows in stretches; what does not depend on a layer is remembered."""
    memo = ("stretches", window, kv_heads, group, dtype)
    if memo not in layout.memo:
        found = cut(layout, window, dtype)
        bias = found.bias.repeat_interleave(kv_heads, 0).repeat_interleave(group, 1)
        layout.memo[memo] = found, bias
    remembered: tuple[Stretches, Tensor] = layout.memo[memo]
    return Stretched(*remembered, scale, softcap)


def stretched_forward(
    q: Tensor, k: Tensor, v: Tensor, way: Stretched, need_lse: bool
) -> tuple[Tensor, Tensor | None, list[Tensor]]:
    """Output and log-sum-exp of packed ``[1, heads, N, D]``, and what the backward pass reads."""
    stretches = way.stretches
    kv_heads, count, size = k.shape[1], stretches.count, stretches.size

    def take(x: Tensor, index: Tensor) -> Tensor:
        tokens = x.squeeze(0).transpose(0, 1).index_select(0, index)
        return fold(tokens.view(count, -1, *tokens.shape[1:]), kv_heads)

    def back(x: Tensor) -> Tensor:
        tokens = unfold(x, count, size).flatten(0, 1).index_select(0, stretches.place)
        return tokens.transpose(0, 1)[None]

    q = take(q, stretches.queries)  # [C * K, S * G, D]
    k = take(k, stretches.keys)  # [C * K, 2S, D]
    v = take(v, stretches.keys)
    weights, lse, slope = weigh(
        q, k, way.bias, way.scale, way.softcap, need_lse
    )  # [C * K, S * G, 2S]
    out = torch.bmm(weights, v)
    kept = [q, k, v, weights, out, *([] if slope is None else [slope])]
    return back(out), None if lse is None else back(lse).squeeze(-1), kept


def stretched_backward(
    kept: Sequence[Tensor], d_out: Tensor | None, d_lse: Tensor | None, way: Stretched
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of ``q``, ``k`` and ``v``."""
    stretches, scale = way.stretches, way.scale
    q, k, v, weights, out, *slope = kept
    count, size = stretches.count, stretches.size
    kv_heads = len(q) // count

    def widen(gradient: Tensor) -> Tensor:
        tokens = gradient.squeeze(0).transpose(0, 1)
        wide = tokens.new_zeros((count * size, *tokens.shape[1:]))
        wide.index_copy_(0, stretches.place, tokens)
        return fold(wide.view(count, size, *tokens.shape[1:]), kv_heads)

    def collect(change: Tensor) -> Tensor:
        """Each token's part as a key of its own stretch, and of the next one."""
        change = unfold(change, count, 2 * size).flatten(0, 1)
        mine = change.index_select(0, stretches.own)
        later = change.index_select(0, stretches.following)
        return mine.addcmul_(later, stretches.goes_on).transpose(0, 1)[None]

    g = torch.zeros_like(out) if d_out is None else widen(d_out)
    h = None if d_lse is None else widen(d_lse[..., None])
    d_scores = unweigh(weights, slope[0] if slope else None, out, v, g, h)
    d_k = collect(torch.bmm(d_scores.transpose(1, 2), q).mul_(scale))
    d_v = collect(torch.bmm(weights.transpose(1, 2), g))
    d_q = unfold(torch.bmm(d_scores, k).mul_(scale), count, size).flatten(0, 1)
    return d_q.index_select(0, stretches.place).transpose(0, 1)[None], d_k, d_v
