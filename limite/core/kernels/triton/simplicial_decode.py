"""One step of 2-simplicial attention over four rings in Triton.

A program for each batch row and key/value head (and up to ``R`` query heads): the forward pass
with one position, and slots in place of positions. It walks through its own row's keys in order, so
that no other row has a say in its bits.
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
from limite.core.kernels.triton.simplicial_attention import WIDTHS
from limite.core.kernels.triton.views import side_by_side, strides_of

MASKED = tl.constexpr(runtime.MASKED)
LOG2_E = tl.constexpr(runtime.LOG2_E)
LN_2 = tl.constexpr(runtime.LN_2)


def refuses(case: Case) -> str | None:
    """Why a case cannot run here."""
    if case.width not in WIDTHS:
        return f"there are kernels for head widths {WIDTHS}, not {case.width}"
    return None


@triton.jit(do_not_specialize=["SS", "ST", "WS", "WT"])
def simplicial_decode(
    q_ptr, ks_ptr, vs_ptr, kt_ptr, vt_ptr, lengths_ptr, out_ptr, lse_ptr,
    q_b, q_h, ks_b, ks_h, ks_t, vs_b, vs_h, vs_t, kt_b, kt_h, kt_t, vt_b, vt_h, vt_t,
    scale, K, SS, ST, WS, WT,
    G: tl.constexpr, D: tl.constexpr, R: tl.constexpr, BN: tl.constexpr, DT: tl.constexpr,
):  # fmt: skip
    # s: the single stream, a ring of SS slots seen through a window of WS; t: the tiled one.
    parts = tl.cdiv(G, R)
    part = tl.program_id(0) % parts
    rest = tl.program_id(0) // parts
    kv_head = (rest % K).to(tl.int64)
    batch = (rest // K).to(tl.int64)
    length = tl.load(lengths_ptr + batch).to(tl.int32)
    channel = tl.arange(0, D)
    member = part * R + tl.arange(0, R)
    inside = member < G
    head = kv_head * G + member
    q = tl.load(
        q_ptr + batch * q_b + (head * q_h)[:, None] + channel, mask=inside[:, None], other=0.0
    ).to(DT)  # fmt: skip
    ks_ptr += batch * ks_b + kv_head * ks_h
    vs_ptr += batch * vs_b + kv_head * vs_h
    kt_ptr += batch * kt_b + kv_head * kt_h
    vt_ptr += batch * vt_b + kv_head * vt_h
    scale = tl.full((), scale, tl.float32) * LOG2_E
    most = tl.full((R,), MASKED, tl.float32)
    total = tl.zeros((R,), tl.float32)
    acc = tl.zeros((R, D), tl.float32)
    for n0 in range(tl.maximum(length - WT, 0), length, BN):
        n = n0 + tl.arange(0, BN)
        seen = n < length
        slot = (n % ST).to(tl.int64)
        k = tl.load(
            kt_ptr + (slot * kt_t)[None, :] + channel[:, None], mask=seen[None, :], other=0.0
        ).to(DT)  # [D, BN]
        v = tl.load(vt_ptr + (slot * vt_t)[:, None] + channel, mask=seen[:, None], other=0.0).to(
            DT
        )  # [BN, D]
        for j in range(tl.maximum(length - WS, 0), length):
            single = tl.full((), j % SS, tl.int64)
            k_j = tl.load(ks_ptr + single * ks_t + channel).to(DT)
            v_j = tl.load(vs_ptr + single * vs_t + channel).to(tl.float32)
            score = tl.dot(q * k_j[None, :], k, input_precision="ieee") * scale
            score = tl.where(seen[None, :], score, MASKED)
            higher = tl.maximum(most, tl.max(score, 1))
            shrink = tl.exp2(most - higher)
            p = tl.where(seen[None, :], tl.exp2(score - higher[:, None]), 0.0)
            total = total * shrink + tl.sum(p, 1)
            inner = tl.dot(p.to(DT), v, input_precision="ieee")
            acc = acc * shrink[:, None] + inner * v_j[None, :]
            most = higher
    nothing = total == 0.0
    total = tl.where(nothing, 1.0, total)
    lse = tl.where(nothing, float("-inf"), (most + tl.log2(total)) * LN_2)
    place = batch * K * G + head
    tl.store(out_ptr + place[:, None] * D + channel, acc / total[:, None], mask=inside[:, None])
    tl.store(lse_ptr + place, lse, mask=inside)


def simplicial_attention_decode(
    q: Tensor,
    k1_cache: Tensor,
    k2_cache: Tensor,
    v1_cache: Tensor,
    v2_cache: Tensor,
    moment: Moment,
    *,
    scale: float,
    window1: int | None,
    window2: int | None,
    need_lse: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """The output ``[B, H, 1, D]`` and log-sum-exp ``[B, H, 1]`` of each row's last token."""
    batch, heads, _, width = q.shape
    kv_heads = k1_cache.shape[1]
    out = runtime.empty(q.shape, runtime.storage_dtype(q.dtype), q.device)
    lse = runtime.empty(q.shape[:3], torch.float32, q.device)
    if q.numel():
        slots1, slots2 = k1_cache.shape[2], k2_cache.shape[2]  # of the rings
        first = (k1_cache, v1_cache, slots1, reach(slots1, window1))
        second = (k2_cache, v2_cache, slots2, reach(slots2, window2))
        if first[3] > second[3]:  # the form is symmetric; the shorter one is gone through singly
            first, second = second, first
        group = heads // kv_heads
        tile = runtime.tile("simplicial_decode", q, width)
        tensors = [side_by_side(each) for each in (q, *first[:2], *second[:2])]
        simplicial_decode[(batch * kv_heads * runtime.cdiv(group, tile["R"]),)](
            *tensors, moment.lengths.contiguous(), out, lse,
            *tensors[0].stride()[:2], *strides_of(*tensors[1:]),
            scale, kv_heads, first[2], second[2], first[3], second[3],
            G=group, D=width, R=tile["R"], BN=tile["BN"], DT=runtime.dot_dtype(q.dtype),
            **runtime.options(tile),
        )  # fmt: skip
    return runtime.rounded(out, q.dtype), lse if need_lse else None


def specimens(
    dtype: str, width: int | None, tile_of: Callable[[str], Tile]
) -> Iterator[runtime.Specimen]:
    """The kernel as it is launched in decoding, 5 heads a group."""
    tile = tile_of("simplicial_decode")
    full = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[dtype]
    streams = ("ks", "vs", "kt", "vt")
    strides = ("q_b", "q_h", *(f"{stream}_{axis}" for stream in streams for axis in "bht"))
    types = {f"{name}_ptr": f"*{dtype}" for name in ("q", *streams, "out")}
    types |= {"lengths_ptr": "*i64", "lse_ptr": "*fp32"}
    yield runtime.Specimen(
        kernel="simplicial_decode",
        function=simplicial_decode,
        signature={
            **types,
            **dict.fromkeys(strides, "i32"),
            "scale": "fp32",
            **dict.fromkeys(("K", "SS", "ST", "WS", "WT"), "i32"),
        },
        constants={
            "G": 5,
            "D": width or 128,
            "R": tile["R"],
            "BN": tile["BN"],
            "DT": runtime.dot_dtype(full),
        },
        aligned=(*types, *strides),
        tile=tile,
        matrix=False,  # of 16 rows
    )
