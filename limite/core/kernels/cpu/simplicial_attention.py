"""2-simplicial attention on the CPU, forward and backward, at the cost of its windows alone.

Queries are taken in blocks of ``Q`` positions. The stream with the shorter window is read as a
strided view, a window for each query, and multiplied onto the query: rows ``(Q, G, short)``, ``G``
the query heads of a key/value head. The other stream is cut into blocks of ``Q`` keys, of which
``L`` keys in a row hold all that a block of queries sees: columns. So scores, weights and their
gradients are batched products of ``[Q G short, D]`` and ``[L, D]`` matrices. As the form is
symmetric, it does not matter which stream is which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from limite.core.kernels.cpu import simplicial_short as short_rows
from limite.core.kernels.cpu.simplicial_short import MASKED
from limite.core.kernels.dispatch import Case
from limite.core.kernels.segments import Segments, Spans, reach, spans

BUDGET = 1 << 20
"""About how many weights exist at a time: 4 MiB of float32, what a core's cache may hold."""

LARGEST_BLOCK = 8
"""Queries that share a range of keys."""


def refuses(case: Case) -> str | None:
    """Why a case cannot run here."""
    if case.option is not None:
        return f"only the reference computes the form {case.option!r}"
    return None


def simplicial_attention(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    *,
    scale: float,
    window1: int | None,
    window2: int | None,
    segments: Segments | None = None,
    form: str = "trilinear",
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """The output ``[B, H, Tq, D]`` and log-sum-exp ``[B, H, Tq]``."""
    assert form == "trilinear"
    if short_rows.fits(q, k1.shape[2], window1, window2):
        return short_rows.short_attention(
            q, k1, k2, v1, v2, scale, window1, window2, segments, need_lse
        )
    rows = None if segments is None else spans(segments)
    inputs = (q, k1, k2, v1, v2)
    arguments = (scale, window1, window2, rows)
    if torch.is_grad_enabled() and any(each.requires_grad for each in inputs):
        result: tuple[Tensor, Tensor | None] = _Simplicial.apply(  # type: ignore[no-untyped-call]
            *inputs, *arguments, need_lse
        )
        return result
    return simplicial_attention_forward(*inputs, *arguments, need_lse)


class _Simplicial(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor | None]:
        out, lse = simplicial_attention_forward(*inputs)
        ctx.save_for_backward(*inputs[:5], out)
        ctx.arguments = inputs[5:-1]
        ctx.set_materialize_grads(False)
        return out, lse

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor | None, d_lse: Tensor | None) -> tuple[Any, ...]:
        q, k1, k2, v1, v2, out = ctx.saved_tensors
        found = simplicial_attention_backward(q, k1, k2, v1, v2, out, d_out, d_lse, *ctx.arguments)
        return (*found, None, None, None, None, None)


@attrs.frozen
class Plan:
    """How the work is cut; all positions are those of the keys' tokens."""

    queries: int
    keys: int
    short: int  # keys in the shorter window
    long: int
    block: int  # Q
    blocks: int  # of queries, the last perhaps padded
    span: int  # blocks of keys that a block of queries sees, L / Q

    @classmethod
    def of(cls, queries: int, keys: int, group: int, short: int, long: int) -> Plan:
        block = LARGEST_BLOCK
        while block > 1 and (block > long or block * group * short * (long + block) > BUDGET):
            block //= 2
        blocks = -(-queries // block)
        span = min(1 + -(-(long - 1) // block), -(-(keys - queries) // block) + blocks)
        return cls(queries, keys, short, long, block, blocks, span)

    @property
    def first(self) -> int:
        """The position of the first query."""
        return self.keys - self.queries

    @property
    def after(self) -> int:
        """Queries added to fill the last block."""
        return self.blocks * self.block - self.queries

    @property
    def before_short(self) -> int:
        """Keys added before the first (left out where negative), so that every window is whole."""
        return self.short - 1 - self.first

    @property
    def before_long(self) -> int:
        return (self.span - 1) * self.block - self.first

    def chunks(self, heads: int, group: int) -> Iterator[tuple[slice, slice, int]]:
        """Key/value heads (of all batch rows) and blocks of queries to be worked on together.

        With each the blocks of keys they need: fewer at the start of a long window.
        """
        whole = self.block * group * self.short * self.block
        done = 0
        while done < self.blocks:
            each = whole * min(self.span, self._seen(done + 1))
            size = max(1, min(self.blocks - done, BUDGET // max(1, each * heads)))
            span = min(self.span, self._seen(done + size))
            wide = max(1, BUDGET // max(1, whole * span * size))
            for head in range(0, heads, wide):
                yield slice(head, head + wide), slice(done, done + size), span
            done += size

    def _seen(self, blocks: int) -> int:
        """Blocks of keys up to the end of so many blocks of queries."""
        return -(-self.first // self.block) + blocks


@attrs.frozen
class Problem:
    """The inputs as the products want them, ``M = B K`` heads."""

    plan: Plan
    q: Tensor  # [M, blocks, Q, G, D], times the scale
    k_short: Tensor  # [M, blocks, Q, short, D], a view
    v_short: Tensor
    k_long: Tensor  # [M, blocks of keys, Q, D]
    v_long: Tensor
    hidden_short: Tensor  # [M or 1, blocks, Q, short] bool
    hidden_long: Tensor  # [M or 1, blocks, Q, L] bool
    swapped: bool


def _problem(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    scale: float,
    window1: int | None,
    window2: int | None,
    rows: Spans | None,
) -> Problem:
    heads, queries = q.shape[1:3]
    kv_heads, keys = k1.shape[1:3]
    wide = torch.promote_types(q.dtype, torch.float32)
    place = torch.arange(keys, device=q.device)
    starts = place.new_zeros(1, keys) if rows is None else rows.starts.long()
    longest = keys if rows is None else max(1, int((place - starts).max()) + 1)
    short, long = (reach(longest, each) for each in (window1, window2))
    swapped = short > long
    if swapped:
        k1, k2, v1, v2, short, long = k2, k1, v2, v1, long, short
    plan = Plan.of(queries, keys, heads // kv_heads, short, long)
    if rows is not None:
        padding = rows.padding[:, None, :, None]
        q = q.masked_fill(padding[:, :, plan.first :], 0.0)
        k1, k2, v1, v2 = (each.masked_fill(padding, 0.0) for each in (k1, k2, v1, v2))

    def windows(stream: Tensor) -> Tensor:  # [M, blocks, Q, short, D]
        filled = pad(stream.to(wide).flatten(0, 1), (0, 0, plan.before_short, plan.after))
        seen = filled.unfold(1, short, 1)  # [M, blocks Q, D, short]
        return torch.unflatten(seen, 1, (plan.blocks, plan.block)).transpose(3, 4)

    def blocks(stream: Tensor) -> Tensor:  # [M, blocks of keys, Q, D]
        filled = pad(stream.to(wide).flatten(0, 1), (0, 0, plan.before_long, plan.after))
        return torch.unflatten(filled, 1, (-1, plan.block))

    at = plan.first + torch.arange(plan.blocks * plan.block, device=q.device)
    starts = pad(starts[:, plan.first :], (0, plan.after)).unflatten(1, (-1, plan.block, 1))
    at = at.view(plan.blocks, plan.block, 1)
    back = torch.arange(short - 1, -1, -1, device=q.device)
    columns = torch.arange(plan.span * plan.block, device=q.device)
    key = at[:, :1] + columns - (plan.span - 1) * plan.block  # [blocks, 1, L]
    hidden_long = (key > at) | (key <= at - long) | (key < starts)
    return Problem(
        plan,
        _in_blocks(q.to(wide) * scale, plan, kv_heads),
        windows(k1),
        windows(v1),
        blocks(k2),
        blocks(v2),
        _for_heads(at - back < starts, kv_heads),
        _for_heads(hidden_long, kv_heads),
        swapped,
    )


def _for_heads(mask: Tensor, kv_heads: int) -> Tensor:
    return mask if mask.shape[0] == 1 else mask.repeat_interleave(kv_heads, 0)


def _in_blocks(x: Tensor, plan: Plan, kv_heads: int) -> Tensor:
    """``[B, H, Tq, D]`` as ``[M, blocks, Q, G, D]``."""
    x = x.unflatten(1, (kv_heads, -1)).flatten(0, 1).transpose(1, 2)  # [M, Tq, G, D]
    return torch.unflatten(pad(x, (0, 0, 0, 0, 0, plan.after)), 1, (-1, plan.block))


def _from_blocks(x: Tensor, plan: Plan, batch: int) -> Tensor:
    """The way back."""
    x = x.flatten(1, 2)[:, : plan.queries].transpose(1, 2)  # [M, G, Tq, D]
    return torch.unflatten(x, 0, (batch, -1)).flatten(1, 2)


def _columns(long: Tensor, heads: slice, blocks: slice, span: int, most: int) -> Tensor:
    """The keys that blocks of queries see: ``[m n, L, D]``."""
    here = long[heads, blocks.start + most - span : blocks.stop + most - 1]
    seen = here.unfold(1, span, 1).permute(0, 1, 4, 2, 3)  # [m, n, span, Q, D]
    return seen.reshape(-1, span * seen.shape[3], seen.shape[4])


def _rows(x: Tensor, windows: Tensor) -> Tensor:
    """Each query's ``x`` times each key of its own short window: ``[m n, Q G short, D]``."""
    m, n, block, group, width = x.shape
    rows = x.new_empty((m, n, block, group, windows.shape[3], width))
    torch.mul(x[..., None, :], windows[:, :, :, None], out=rows)
    return rows.view(m * n, -1, width)


def _scores(
    problem: Problem, rows: Tensor, columns: Tensor, heads: slice, blocks: slice, span: int
) -> Tensor:
    """``[m, n, Q, G, short, L]``, those of invisible pairs far below all others."""
    scores = torch.bmm(rows, columns.transpose(1, 2))
    m, n, block, group, _ = problem.q[heads, blocks].shape
    scores = scores.view(m, n, block, group, -1, columns.shape[1])
    of = heads if problem.hidden_long.shape[0] > 1 else slice(None)
    hidden = problem.hidden_long[of, blocks, :, -columns.shape[1] :]
    bias = scores.new_zeros(()).masked_fill(hidden, MASKED)
    scores += bias[:, :, :, None, None]
    hidden = problem.hidden_short[of, blocks]
    if hidden.any():
        bias = scores.new_zeros(()).masked_fill(hidden, MASKED)
        scores += bias[:, :, :, None, :, None]
    return scores


def simplicial_attention_forward(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    scale: float,
    window1: int | None,
    window2: int | None,
    rows: Spans | None,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """The output ``[B, H, Tq, D]`` and log-sum-exp ``[B, H, Tq]``."""
    if not q.numel():
        nothing = q.new_empty(q.shape[:3], dtype=torch.promote_types(q.dtype, torch.float32))
        return torch.empty_like(q), nothing if need_lse else None
    problem = _problem(q, k1, k2, v1, v2, scale, window1, window2, rows)
    plan = problem.plan
    outs = torch.empty_like(problem.q)
    lses = outs.new_empty(outs.shape[:4]) if need_lse else None
    for heads, blocks, span in plan.chunks(outs.shape[0], outs.shape[3]):
        query, v_short = problem.q[heads, blocks], problem.v_short[heads, blocks]
        left = _rows(query, problem.k_short[heads, blocks])
        k_long = _columns(problem.k_long, heads, blocks, span, plan.span)
        v_long = _columns(problem.v_long, heads, blocks, span, plan.span)
        scores = _scores(problem, left, k_long, heads, blocks, span)
        weights = scores.flatten(4).softmax(-1)  # [m, n, Q, G, short L]
        if lses is not None:
            # The largest weight is exp(its score - log-sum-exp).
            lses[heads, blocks] = scores.flatten(4).amax(-1) - weights.amax(-1).log()
        inner = torch.bmm(weights.view(*left.shape[:2], -1), v_long).view(*scores.shape[:5], -1)
        torch.sum(inner.mul_(v_short[:, :, :, None]), -2, out=outs[heads, blocks])
    out = _from_blocks(outs, plan, q.shape[0])
    lse = None if lses is None else _from_blocks(lses[..., None], plan, q.shape[0])[..., 0]
    if rows is not None:
        padding = rows.padding[:, None, plan.first :]
        out = out.masked_fill(padding[..., None], 0.0)  # it saw nothing, all scores were equal
        lse = None if lse is None else lse.masked_fill(padding, -torch.inf)
    return out.to(q.dtype).contiguous(), None if lse is None else lse.contiguous()


def simplicial_attention_backward(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    out: Tensor,
    d_out: Tensor | None,
    d_lse: Tensor | None,
    scale: float,
    window1: int | None,
    window2: int | None,
    rows: Spans | None,
) -> tuple[Tensor, ...]:
    """The gradients of q, k1, k2, v1 and v2; weights are computed anew, chunk by chunk."""
    inputs = (q, k1, k2, v1, v2)
    if not q.numel() or (d_out is None and d_lse is None):
        return tuple(torch.zeros_like(each) for each in inputs)
    problem = _problem(q, k1, k2, v1, v2, scale, window1, window2, rows)
    plan, kv_heads = problem.plan, k1.shape[1]
    wide = problem.q.dtype
    if d_out is None:
        d_out = torch.zeros_like(out)
    shift = -(out.to(wide) * d_out.to(wide)).sum(-1)  # [B, H, Tq]
    if d_lse is not None:
        shift = shift + d_lse
    if rows is not None:
        padding = rows.padding[:, None, plan.first :]
        d_out, shift = d_out.masked_fill(padding[..., None], 0.0), shift.masked_fill(padding, 0.0)
    shifts = _in_blocks(shift[..., None], plan, kv_heads)
    d_outs = _in_blocks(d_out.to(wide), plan, kv_heads)
    d_q = torch.empty_like(problem.q)
    length = plan.keys + plan.before_short + plan.after
    d_short = problem.q.new_zeros((2, problem.q.shape[0], length, q.shape[3]))
    d_long = problem.q.new_zeros((2, *problem.k_long.shape))
    for heads, blocks, span in plan.chunks(*problem.q.shape[0:4:3]):
        query, d_o = problem.q[heads, blocks], d_outs[heads, blocks]
        k_short, v_short = problem.k_short[heads, blocks], problem.v_short[heads, blocks]
        left, right = _rows(query, k_short), _rows(d_o, v_short)
        k_long = _columns(problem.k_long, heads, blocks, span, plan.span)
        v_long = _columns(problem.v_long, heads, blocks, span, plan.span)
        scores = _scores(problem, left, k_long, heads, blocks, span)
        weights = scores.flatten(4).softmax(-1)
        p = weights.view(*left.shape[:2], -1)  # [m n, Q G short, L]
        d_s = torch.bmm(right, v_long.transpose(1, 2))
        d_s.view_as(weights).add_(shifts[heads, blocks]).mul_(weights)
        for which, onto in enumerate((torch.bmm(d_s.mT, left), torch.bmm(p.mT, right))):
            onto = onto.view(*query.shape[:2], span, plan.block, -1)
            for each in range(span):
                first = blocks.start + plan.span - span + each
                d_long[which, heads, first : first + query.shape[1]] += onto[:, :, each]
        d_left = torch.bmm(d_s, k_long).view(*scores.shape[:5], -1)
        d_right = torch.bmm(p, v_long).view_as(d_left)
        for which, (of, by) in enumerate(((d_left, query), (d_right, d_o))):
            onto = (of * by[..., None, :]).sum(3).flatten(1, 2)  # [m, n Q, short, D]
            first = blocks.start * plan.block
            for each in range(plan.short):
                d_short[which, heads, first + each : first + each + onto.shape[1]] += onto[
                    :, :, each
                ]
        torch.sum(d_left.mul_(k_short[:, :, :, None]), -2, out=d_q[heads, blocks])
    d_query = _from_blocks(d_q, plan, q.shape[0]).mul(scale)
    d_k_short, d_v_short = pad(d_short, (0, 0, -plan.before_short, -plan.after))
    d_k_long, d_v_long = pad(d_long.flatten(2, 3), (0, 0, -plan.before_long, -plan.after))
    streams = (d_k_short, d_k_long, d_v_short, d_v_long)
    if problem.swapped:
        streams = (d_k_long, d_k_short, d_v_long, d_v_short)
    found = (d_query, *(each.unflatten(0, (q.shape[0], -1)) for each in streams))
    return tuple(each.to(q.dtype).contiguous() for each in found)
