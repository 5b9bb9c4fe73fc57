"""One query per row over its cache, compiled: no row waits for the longest beside it."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.moment import Moment
from limite.core.kernels.native.library import dense, parts, run

QUERIES, STEP = 4, 32  # as in source/attention.h, the step at its widest


def attention_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    moment: Moment,
    *,
    scale: float,
    window: int | None,
    softcap: float | None,
    need_lse: bool,
) -> tuple[Tensor, Tensor | None]:
    """See ``ops.attention_decode``. What a row gets depends on that row alone, in every bit.

    Keys are best stored channel by channel, ``[B, K, D, S]``, and passed as the transposed view;
    else they are copied.
    """
    rows, heads, _, width = q.shape
    _, kv_heads, slots, _ = v_cache.shape
    q, k_cache, v_cache = q.detach(), k_cache.detach(), v_cache.detach()
    if q.stride(-1) != 1:
        q = q.contiguous()
    keys = k_cache.mT
    if keys.stride(-1) != 1:
        keys = keys.contiguous()
    if v_cache.stride(-1) != 1:
        v_cache = v_cache.contiguous()
    result = q.new_empty(rows, heads, 1, width)
    sums = q.new_empty(rows, heads, 1) if need_lse else None
    bounds = parts(rows, rows * heads * width * min(max(moment.longest, 1), slots))
    longest = -(-slots // STEP) * STEP
    room = q.new_empty((len(bounds) - 1) * ((QUERIES + 1) * longest + STEP * width))
    run(
        "attention_decode",
        bounds,
        q,
        q.stride(0),
        q.stride(1),
        keys,
        keys.stride(0),
        keys.stride(1),
        keys.stride(2),
        v_cache,
        v_cache.stride(0),
        v_cache.stride(1),
        v_cache.stride(2),
        moment.lengths.to(torch.int64).contiguous(),
        kv_heads,
        heads // kv_heads,
        slots,
        width,
        scale,
        slots if window is None else min(window, slots),
        softcap or 0.0,
        room,
        result,
        sums,
    )
    return result, sums


def append(
    keys: Tensor, values: Tensor, lengths: Tensor, stored_keys: Tensor, stored_values: Tensor
) -> None:
    """Writes the last of ``lengths [R]`` tokens of every row into its slot.

    ``keys`` and ``values [R, kv_heads, D]``, ``stored_keys [R, kv_heads, D, slots]``,
    ``stored_values [R, kv_heads, slots, D]``; slots hold positions modulo their number.
    """
    rows, kv_heads, slots, width = stored_values.shape
    if keys.stride(-1) != 1:
        keys = dense(keys)
    if values.stride(-1) != 1:
        values = dense(values)
    run(
        "append",
        (0, rows),
        keys,
        keys.stride(0),
        keys.stride(1),
        values,
        values.stride(0),
        values.stride(1),
        lengths,
        kv_heads,
        slots,
        width,
        stored_keys,
        stored_values,
    )
