"""One query per row over its cache in Triton: keys in splits of one size, then merged.

A split begins a fixed number of keys after the first one that the row sees, and programs of splits
that a row does not reach write nothing: a row's sums, and their order, are its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import triton
import triton.language as tl
from torch import Tensor

from limite.core.kernels.dispatch import Case
from limite.core.kernels.moment import Moment
from limite.core.kernels.segments import reach
from limite.core.kernels.tiles import Tile
from limite.core.kernels.triton import runtime
from limite.core.kernels.triton.attention_scores import MASKED, tanh

LN_2 = tl.constexpr(runtime.LN_2)


FEWEST_QUERIES = 16
"""Rows of a matrix product, on a GPU; a group of fewer heads is filled up."""


def refuses(case: Case) -> str | None:
    if case.width not in runtime.WIDTHS:
        return f"the kernels take heads of width {', '.join(map(str, runtime.WIDTHS))}"
    return None


@triton.jit(do_not_specialize=["S", "window", "splits"])
def attention_decode_kernel(
    q, k, v, lengths, out, lse,
    q_batch, q_head, q_channel, k_batch, k_head, k_slot, k_channel,
    v_batch, v_head, v_slot, v_channel,
    K, G, S, window, splits, factor, inner,
    BG: tl.constexpr, BN: tl.constexpr, SPLIT: tl.constexpr, D: tl.constexpr, DT: tl.constexpr,
    CAPPED: tl.constexpr, MERGED: tl.constexpr,
):  # fmt: skip
    """A split of the keys of a row for all heads of a group.

    ``out [B, H, splits, D]``; ``lse [B, H, splits]``, in bits where it is to be ``MERGED``.
    """
    row = tl.program_id(0)
    split = tl.program_id(1)
    batch = tl.cast(row // K, tl.int64)
    kv_head = tl.cast(row % K, tl.int64)
    length = tl.load(lengths + batch).to(tl.int32)
    count = tl.minimum(length, window)  # of visible keys
    first = split * SPLIT
    if (first < count) | (first == 0):
        last = tl.minimum(first + SPLIT, count)
        heads = tl.arange(0, BG)
        columns = tl.arange(0, D)
        ahead = tl.arange(0, BN)
        there = heads < G
        q += batch * q_batch + kv_head * G * q_head
        queries = tl.load(
            q + heads[:, None] * q_head + columns[None, :] * q_channel,
            mask=there[:, None], other=0.0,
        ).to(DT)  # [BG, D] # fmt: skip
        k += batch * k_batch + kv_head * k_head
        v += batch * v_batch + kv_head * v_head
        sums = tl.zeros([BG, D], tl.float32)
        total = tl.zeros([BG], tl.float32)
        highest = tl.full([BG], MASKED, tl.float32)  # of all scores so far, in bits
        for start in range(first, last, BN):
            keys = start + ahead
            seen = keys < last
            slots = tl.cast((length - count + keys) % S, tl.int64)
            key = tl.load(
                k + slots[:, None] * k_slot + columns[None, :] * k_channel,
                mask=seen[:, None], other=0.0,
            ).to(DT)  # [BN, D] # fmt: skip
            score = tl.dot(queries, tl.trans(key), input_precision="ieee")  # [BG, BN]
            if CAPPED:
                score = tanh(score * inner)
            score = tl.where(seen[None, :], score * factor, MASKED)
            higher = tl.maximum(highest, tl.max(score, 1))
            weight = tl.where(seen[None, :], tl.exp2(score - higher[:, None]), 0.0)
            rescale = tl.exp2(highest - higher)
            total = total * rescale + tl.sum(weight, 1)
            value = tl.load(
                v + slots[:, None] * v_slot + columns[None, :] * v_channel,
                mask=seen[:, None], other=0.0,
            ).to(DT)  # fmt: skip
            sums = tl.dot(weight.to(DT), value, sums * rescale[:, None], input_precision="ieee")
            highest = higher
        blind = total == 0.0
        total = tl.where(blind, 1.0, total)
        place = ((batch * K + kv_head) * G + heads) * splits + split
        tl.store(
            out + place[:, None] * D + columns[None, :],
            (sums / total[:, None]).to(out.dtype.element_ty),
            mask=there[:, None],
        )
        bits = highest + tl.log2(total)
        if not MERGED:
            bits = tl.where(blind, float("-inf"), bits * LN_2)
        tl.store(lse + place, bits, mask=there)


@triton.jit(do_not_specialize=["window", "splits"])
def attention_decode_merge_kernel(
    parts, sums, lengths, out, lse, H, window, splits,
    SPLIT: tl.constexpr, BS: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """The splits of one head of one row, ``parts`` and their ``sums`` in bits, together."""
    program = tl.program_id(0)
    row = tl.cast(program, tl.int64)
    length = tl.load(lengths + row // H).to(tl.int32)
    count = tl.cdiv(tl.minimum(length, window), SPLIT)
    columns = tl.arange(0, D)
    ahead = tl.arange(0, BS)
    total = tl.full((), 0.0, tl.float32)
    mixed = tl.zeros([D], tl.float32)
    highest = tl.full((), MASKED, tl.float32)
    for start in range(0, count, BS):
        there = start + ahead < count
        place = row * splits + start + ahead
        bits = tl.load(sums + place, mask=there, other=MASKED)  # [BS]
        higher = tl.maximum(highest, tl.max(bits, 0))
        weight = tl.where(there, tl.exp2(bits - higher), 0.0)
        rescale = tl.exp2(highest - higher)
        part = tl.load(
            parts + place[:, None] * D + columns[None, :], mask=there[:, None], other=0.0
        )
        total = total * rescale + tl.sum(weight, 0)
        mixed = mixed * rescale + tl.sum(part * weight[:, None], 0)
        highest = higher
    blind = total == 0.0
    total = tl.where(blind, 1.0, total)
    tl.store(out + row * D + columns, (mixed / total).to(out.dtype.element_ty))
    tl.store(lse + row, tl.where(blind, float("-inf"), (highest + tl.log2(total)) * LN_2))


@torch.no_grad()
def attention_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    moment: Moment,
    *,
    scale: float,
    window: int | None = None,
    softcap: float | None = None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """See ``ops.attention_decode``. Slots that no query sees may hold anything, NaN among it."""
    batch, heads, _, width = q.shape
    kv_heads, slots = k_cache.shape[1:3]
    group = heads // max(kv_heads, 1)
    visible = reach(slots, window)
    out = runtime.empty((batch, heads, 1, width), runtime.storage_dtype(q.dtype), q.device)
    lse = runtime.empty((batch, heads, 1), torch.float32, q.device)
    if q.numel():
        lengths = moment.lengths.contiguous()
        tile = runtime.tile("attention_decode", q, width)
        splits = max(1, runtime.cdiv(min(moment.longest, visible), tile["SPLIT"]))
        parts, sums = out, lse
        if splits > 1:
            parts = runtime.empty((batch, heads, splits, width), torch.float32, q.device)
            sums = runtime.empty((batch, heads, splits), torch.float32, q.device)
        factor = (scale if softcap is None else softcap) * runtime.LOG2_E
        attention_decode_kernel[(batch * kv_heads, splits)](
            q, k_cache, v_cache, lengths, parts, sums,
            q.stride(0), q.stride(1), q.stride(3), *k_cache.stride(), *v_cache.stride(),
            kv_heads, group, slots, visible, splits,
            factor, 1.0 if softcap is None else scale / softcap,
            BG=max(FEWEST_QUERIES, runtime.next_power_of_2(group)), BN=tile["BN"],
            SPLIT=tile["SPLIT"], D=width, DT=runtime.dot_dtype(q.dtype),
            CAPPED=softcap is not None, MERGED=splits > 1,
            **runtime.options(tile),
        )  # fmt: skip
        if splits > 1:
            merge = runtime.tile("attention_decode_merge", q, width)
            attention_decode_merge_kernel[(batch * heads,)](
                parts, sums, lengths, out, lse, heads, visible, splits,
                SPLIT=tile["SPLIT"], BS=merge["BS"], D=width,
                **runtime.options(merge),
            )  # fmt: skip
    return runtime.rounded(out, q.dtype), lse if need_lse else None


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """Both kernels as they are launched in decoding, 5 heads a group.

    In bfloat16 with keys that lie channel by channel, as the model keeps them, else slot by slot.
    """
    channels = width or 128
    full = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]
    tile = tile_of("attention_decode")
    units = {"q_channel", "v_channel", "k_slot" if dtype == "bf16" else "k_channel"}
    strides = tuple(
        name
        for name in attention_decode_kernel.arg_names
        if name.rpartition("_")[2] in ("batch", "head", "slot", "channel") and name not in units
    )
    yield runtime.Specimen(
        kernel="attention_decode",
        function=attention_decode_kernel,
        signature={
            **dict.fromkeys(("q", "k", "v"), f"*{dtype}"),
            "lengths": "*i64",
            **dict.fromkeys(("out", "lse"), "*fp32"),
            **dict.fromkeys((*strides, "K", "G", "S", "window", "splits"), "i32"),
            **dict.fromkeys(("factor", "inner"), "fp32"),
        },
        constants={
            **dict.fromkeys(units, 1),
            "BG": FEWEST_QUERIES,
            "BN": tile["BN"],
            "SPLIT": tile["SPLIT"],
            "D": channels,
            "DT": runtime.dot_dtype(full),
            "CAPPED": False,
            "MERGED": True,
        },
        aligned=("q", "k", "v", "lengths", "out", "lse", *strides),
        tile=tile,
        matrix=False,  # too few rows for the products of whole warp groups
    )
    merge = tile_of("attention_decode_merge")
    yield runtime.Specimen(
        kernel="attention_decode_merge",
        function=attention_decode_merge_kernel,
        signature={
            **dict.fromkeys(("parts", "sums"), "*fp32"),
            "lengths": "*i64",
            "out": f"*{dtype}",
            "lse": "*fp32",
            **dict.fromkeys(("H", "window", "splits"), "i32"),
        },
        constants={"SPLIT": tile["SPLIT"], "BS": merge["BS"], "D": channels},
        aligned=("parts", "sums", "lengths", "out", "lse"),
        tile=merge,
        matrix=False,
    )
