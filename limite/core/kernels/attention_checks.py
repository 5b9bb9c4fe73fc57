"""Refusals of arguments of the attentions that do not fit; see ``checks``."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from limite.core.kernels.checks import (
    Fault,
    alike,
    groups,
    positive,
    refuse,
    same,
    shape_of,
    shaped,
)
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.segments import Segments

FORMS = ("trilinear", "determinant")
WHOLE = (torch.int32, torch.int64)


def _is_window(window: object) -> bool:
    return window is None or (isinstance(window, int) and window >= 1)


def _windows(**windows: object) -> Iterator[Fault]:
    for name, window in windows.items():
        if not _is_window(window):
            yield name, "None or a whole number of keys from 1", repr(window)


def _softcap(softcap: object) -> Iterator[Fault]:
    if softcap is not None and not positive(softcap):
        yield "softcap", "None or a number above 0", repr(softcap)


def _numbers(name: str, numbers: object, q: Tensor) -> Iterator[Fault]:
    """Faults of whole numbers beside ``q``, their shape aside."""
    if not isinstance(numbers, Tensor):
        yield name, "a tensor", type(numbers).__name__
        return
    if numbers.dtype not in WHOLE:
        yield name, "int32 or int64", str(numbers.dtype)
    if numbers.device != q.device:
        yield name, f"the device of q, {q.device}", str(numbers.device)


def _segments(segments: Segments | None, q: Tensor, k: Tensor) -> Iterator[Fault]:
    """Of ``q`` and keys ``[B, heads, T, D]``."""
    if segments is None:
        return
    batch, tokens, queries = k.shape[0], k.shape[2], q.shape[2]
    if not isinstance(segments, Layout):
        yield from _numbers("segments", segments, q)
        if isinstance(segments, Tensor):
            yield from shaped("segments", segments, batch, tokens, words=", those of the keys")
        return
    if batch != 1:
        yield "segments", f"a tensor, as there are {batch} batch rows", "a Layout"
    if segments.tokens != tokens:
        yield "segments", f"a Layout of {tokens} tokens", f"one of {segments.tokens}"
    if queries != tokens:
        yield "q", f"the {tokens} tokens of the Layout", f"{queries} tokens"
    if segments.device != q.device:
        yield "segments", f"the device of q, {q.device}", str(segments.device)


def _counts(lengths: Tensor | Moment, q: Tensor) -> bool:
    """The quick question about lengths ``[B]``."""
    tensor = lengths.lengths if isinstance(lengths, Moment) else lengths
    return (
        isinstance(tensor, Tensor)
        and tensor.shape == q.shape[:1]
        and tensor.dtype in WHOLE
        and tensor.device == q.device
    )


def _lengths(lengths: Tensor | Moment, q: Tensor) -> Iterator[Fault]:
    tensor = lengths.lengths if isinstance(lengths, Moment) else lengths
    yield from _numbers("lengths", tensor, q)
    if isinstance(tensor, Tensor):
        batch = q.shape[0] if q.dim() == 4 else None
        yield from shaped("lengths", tensor, batch, words=", one for each row of q")


def _fits(q: Tensor, keys: tuple[Tensor, ...]) -> bool:
    """The quick question about queries and keys ``[B, heads, T, D]``."""
    ours, theirs = q.shape, keys[0].shape
    if len(ours) != 4 or len(theirs) != 4:
        return False
    for key in keys[1:]:
        if key.shape != theirs:
            return False
    batch, heads, queries, width = ours
    rows, kv_heads, tokens, key_width = theirs
    return (
        batch == rows
        and width == key_width
        and queries <= tokens
        and kv_heads > 0
        and heads % kv_heads == 0
        and same(q, *keys)
    )


def _misfits(q: Tensor, keys: dict[str, Tensor]) -> Iterator[Fault]:
    (name, k), *others = keys.items()
    if q.dim() != 4:
        yield "q", "[B, H, T, D]", shape_of(q)
    if k.dim() != 4:
        yield name, "[B, K, T, D]", shape_of(k)
    elif q.dim() == 4:
        yield from shaped(name, k, q.shape[0], None, None, q.shape[3], words=", as q")
        if k.shape[2] < q.shape[2]:
            yield name, f"at least the {q.shape[2]} tokens of q", str(k.shape[2])
        yield from groups(name, q.shape[1], k.shape[1])
    for other, tensor in others:
        yield from shaped(other, tensor, *k.shape, words=f", the shape of {name}")
    yield from alike(q=q, **keys)


def _one_query(q: Tensor) -> Iterator[Fault]:
    if q.dim() == 4 and q.shape[2] != 1:
        yield "q", "one token for each row", f"{q.shape[2]} tokens"


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    window: int | None,
    segments: Segments | None,
    softcap: float | None,
) -> None:
    if (
        _fits(q, (k, v))
        and _is_window(window)
        and (softcap is None or positive(softcap))
        and (segments is None or not any(_segments(segments, q, k)))
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k": k, "v": v})
        yield from _windows(window=window)
        yield from _softcap(softcap)
        if k.dim() == 4 and q.dim() == 4:
            yield from _segments(segments, q, k)

    refuse("attention", faults())


def attention_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    lengths: Tensor | Moment,
    window: int | None,
    softcap: float | None,
) -> None:
    if (
        _fits(q, (k_cache, v_cache))
        and q.shape[2] == 1
        and _is_window(window)
        and (softcap is None or positive(softcap))
        and _counts(lengths, q)
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k_cache": k_cache, "v_cache": v_cache})
        yield from _one_query(q)
        yield from _windows(window=window)
        yield from _softcap(softcap)
        yield from _lengths(lengths, q)

    refuse("attention_decode", faults())


def simplicial_attention(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    window1: int | None,
    window2: int | None,
    segments: Segments | None,
    form: str,
) -> None:
    if (
        _fits(q, (k1, k2, v1, v2))
        and _is_window(window1)
        and _is_window(window2)
        and form in FORMS
        and (segments is None or not any(_segments(segments, q, k1)))
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k1": k1, "k2": k2, "v1": v1, "v2": v2})
        yield from _windows(window1=window1, window2=window2)
        if form not in FORMS:
            yield "form", "'trilinear' or 'determinant'", repr(form)
        if k1.dim() == 4 and q.dim() == 4:
            yield from _segments(segments, q, k1)

    refuse("simplicial_attention", faults())


def simplicial_attention_decode(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    lengths: Tensor | Moment,
    window1: int | None,
    window2: int | None,
) -> None:
    if (
        _fits(q, (k1, v1))
        and _fits(q, (k2, v2))
        and q.shape[2] == 1
        and k1.shape[1] == k2.shape[1]
        and _is_window(window1)
        and _is_window(window2)
        and _counts(lengths, q)
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k1_cache": k1, "v1_cache": v1})
        yield from _misfits(q, {"k2_cache": k2, "v2_cache": v2})
        yield from _one_query(q)
        if k1.dim() == k2.dim() == 4 and k1.shape[1] != k2.shape[1]:
            yield "k2_cache", f"the {k1.shape[1]} heads of k1_cache", str(k2.shape[1])
        yield from _windows(window1=window1, window2=window2)
        yield from _lengths(lengths, q)

    refuse("simplicial_attention_decode", faults())
