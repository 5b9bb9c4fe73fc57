"""Refusals of arguments of the attentions that do not fit; see ``checks``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from limite.core.kernels.faults import (
    MISUSE,
    WHOLE,
    Fault,
    alike,
    finite,
    flags,
    groups,
    is_window,
    numbers,
    positive,
    refuse,
    same,
    shape_of,
    shaped,
    tensors,
    told,
    whole_numbers,
    windows,
)
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.segments import Segments

FORMS = ("trilinear", "determinant")


def _softcap(softcap: object) -> Iterator[Fault]:
    if softcap is not None and not positive(softcap):
        yield "softcap", "None or a finite number above 0", told(softcap)


def _segments(segments: Any, q: Tensor, k: Tensor) -> Iterator[Fault]:
    """Of ``q`` and keys ``[B, heads, T, D]``."""
    batch, tokens, queries = k.shape[0], k.shape[2], q.shape[2]
    if not isinstance(segments, Layout):
        if not isinstance(segments, Tensor):
            yield "segments", "None, a tensor or a Layout", type(segments).__name__
        yield from whole_numbers("segments", segments, "q", q)
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
    """The quick question about one query, and lengths ``[B]``."""
    batch, _, queries, _ = q.shape
    tensor = lengths.lengths if isinstance(lengths, Moment) else lengths
    return (
        isinstance(tensor, Tensor)
        and queries == 1
        and tensor.shape == (batch,)
        and tensor.dtype in WHOLE
        and tensor.device == q.device
    )


def _lengths(lengths: Any, q: Any) -> Iterator[Fault]:
    tensor = lengths.lengths if isinstance(lengths, Moment) else lengths
    if not isinstance(tensor, Tensor):
        expected = "a tensor in the Moment" if isinstance(lengths, Moment) else "a tensor or Moment"
        yield "lengths", expected, type(tensor).__name__
    yield from whole_numbers("lengths", tensor, "q", q)
    batch = q.shape[0] if isinstance(q, Tensor) and q.dim() == 4 else None
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


def _misfits(q: Any, keys: dict[str, Any]) -> Iterator[Fault]:
    (name, k), *others = keys.items()
    yield from tensors(q=q, **keys)
    queries = q.shape if isinstance(q, Tensor) else ()
    if isinstance(q, Tensor) and len(queries) != 4:
        yield "q", "[B, H, T, D]", shape_of(q)
    if isinstance(k, Tensor):
        if k.dim() != 4:
            yield name, "[B, K, T, D]", shape_of(k)
        elif len(queries) == 4:
            yield from shaped(name, k, queries[0], None, None, queries[3], words=", as q")
            if k.shape[2] < queries[2]:
                yield name, f"at least the {queries[2]} tokens of q", str(k.shape[2])
            yield from groups(name, k.shape[1], "q", queries[1])
        for other, tensor in others:
            yield from shaped(other, tensor, *k.shape, words=f", the shape of {name}")
    yield from alike(q=q, **keys)


def _both_fit(q: Any, k: Any) -> bool:
    """Whether there are axes to compare segments with."""
    return isinstance(q, Tensor) and isinstance(k, Tensor) and q.dim() == k.dim() == 4


def _one_query(q: Any) -> Iterator[Fault]:
    if isinstance(q, Tensor) and q.dim() == 4 and q.shape[2] != 1:
        yield "q", "one token for each row", f"{q.shape[2]} tokens"


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    window: int | None,
    segments: Segments | None,
    softcap: float | None,
    need_lse: bool,
) -> None:
    try:
        fits = (
            _fits(q, (k, v))
            and finite(scale)
            and is_window(window)
            and (softcap is None or positive(softcap))
            and (need_lse is True or need_lse is False)
            and (segments is None or not any(_segments(segments, q, k)))
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k": k, "v": v})
        yield from numbers(scale=scale)
        yield from windows(window=window)
        yield from _softcap(softcap)
        yield from flags(need_lse=need_lse)
        if segments is not None and _both_fit(q, k):
            yield from _segments(segments, q, k)

    refuse("attention", faults())


def attention_decode(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    lengths: Tensor | Moment,
    scale: float,
    window: int | None,
    softcap: float | None,
    need_lse: bool,
) -> None:
    try:
        fits = (
            _fits(q, (k_cache, v_cache))
            and finite(scale)
            and is_window(window)
            and (softcap is None or positive(softcap))
            and (need_lse is True or need_lse is False)
            and _counts(lengths, q)
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k_cache": k_cache, "v_cache": v_cache})
        yield from _one_query(q)
        yield from numbers(scale=scale)
        yield from windows(window=window)
        yield from _softcap(softcap)
        yield from flags(need_lse=need_lse)
        yield from _lengths(lengths, q)

    refuse("attention_decode", faults())


def simplicial_attention(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    scale: float,
    window1: int | None,
    window2: int | None,
    segments: Segments | None,
    form: str,
    need_lse: bool,
) -> None:
    try:
        fits = (
            _fits(q, (k1, k2, v1, v2))
            and finite(scale)
            and is_window(window1)
            and is_window(window2)
            and form in FORMS
            and (need_lse is True or need_lse is False)
            and (segments is None or not any(_segments(segments, q, k1)))
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k1": k1, "k2": k2, "v1": v1, "v2": v2})
        yield from numbers(scale=scale)
        yield from windows(window1=window1, window2=window2)
        if not isinstance(form, str) or form not in FORMS:
            yield "form", "'trilinear' or 'determinant'", told(form)
        yield from flags(need_lse=need_lse)
        if segments is not None and _both_fit(q, k1):
            yield from _segments(segments, q, k1)

    refuse("simplicial_attention", faults())


def simplicial_attention_decode(
    q: Tensor,
    k1: Tensor,
    k2: Tensor,
    v1: Tensor,
    v2: Tensor,
    lengths: Tensor | Moment,
    scale: float,
    window1: int | None,
    window2: int | None,
    need_lse: bool,
) -> None:
    try:
        fits = (
            _fits(q, (k1, v1))
            and _fits(q, (k2, v2))
            and k1.shape[1] == k2.shape[1]
            and finite(scale)
            and is_window(window1)
            and is_window(window2)
            and (need_lse is True or need_lse is False)
            and _counts(lengths, q)
        )
    except MISUSE:
        fits = False
    if fits:
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k1_cache": k1, "v1_cache": v1})
        yield from _misfits(q, {"k2_cache": k2, "v2_cache": v2})
        yield from _one_query(q)
        if _both_fit(k1, k2) and k1.shape[1] != k2.shape[1]:
            yield "k2_cache", f"the {k1.shape[1]} heads of k1_cache", str(k2.shape[1])
        yield from numbers(scale=scale)
        yield from windows(window1=window1, window2=window2)
        yield from flags(need_lse=need_lse)
        yield from _lengths(lengths, q)

    refuse("simplicial_attention_decode", faults())
