"""Refusals of arguments of the attentions that do not fit; see ``checks``."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from limite.core.kernels.checks import Fault, alike, groups, refuse, same, shape_of, shaped
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.segments import Segments


def _windows(**windows: int | None) -> Iterator[Fault]:
    for name, window in windows.items():
        if window is not None and (not isinstance(window, int) or window < 1):
            yield name, "None or a whole number of keys from 1", repr(window)


def _segments(segments: Segments | None, batch: int, tokens: int, queries: int) -> Iterator[Fault]:
    if isinstance(segments, Layout):
        if batch != 1:
            yield "segments", "a tensor, as there is more than one batch row", "a Layout"
        if segments.tokens != tokens:
            yield "segments", f"a Layout of {tokens} tokens", f"one of {segments.tokens}"
        if queries != tokens:
            yield "q", f"the {tokens} tokens of the Layout", f"{queries} tokens"
    elif segments is not None:
        yield from shaped("segments", segments, batch, tokens, words=", those of the keys")
        if segments.dtype not in (torch.int32, torch.int64):
            yield "segments", "int32 or int64", str(segments.dtype)


def _fits(q: Tensor, keys: tuple[Tensor, ...]) -> bool:
    """The quick question about queries and keys ``[B, heads, T, D]``."""
    k = keys[0]
    return (
        q.dim() == k.dim() == 4
        and all(each.shape == k.shape for each in keys[1:])
        and q.shape[0] == k.shape[0]
        and q.shape[3] == k.shape[3]
        and q.shape[2] <= k.shape[2]
        and k.shape[1] > 0
        and q.shape[1] % k.shape[1] == 0
        and same(q, *keys)
    )


def _misfits(q: Tensor, keys: dict[str, Tensor]) -> Iterator[Fault]:
    if q.dim() != 4:
        yield "q", "[B, H, T, D]", shape_of(q)
        return
    (name, k), *others = keys.items()
    if k.dim() != 4:
        yield name, "[B, K, T, D]", shape_of(k)
        return
    yield from shaped(name, k, q.shape[0], None, None, q.shape[3], words=", as q")
    if k.shape[2] < q.shape[2]:
        yield name, f"at least the {q.shape[2]} tokens of q", str(k.shape[2])
    yield from groups(name, q.shape[1], k.shape[1])
    for other, tensor in others:
        yield from shaped(other, tensor, *k.shape, words=f", the shape of {name}")
    yield from alike(q=q, **keys)


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
        and (window is None or window >= 1)
        and (softcap is None or softcap > 0)
        and (segments is None or not any(_segments(segments, k.shape[0], k.shape[2], q.shape[2])))
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k": k, "v": v})
        yield from _windows(window=window)
        if softcap is not None and not 0 < softcap < math.inf:
            yield "softcap", "None or a number above 0", repr(softcap)
        if k.dim() == 4 and q.dim() == 4:
            yield from _segments(segments, k.shape[0], k.shape[2], q.shape[2])

    refuse("attention", faults())


def _lengths(lengths: Tensor | Moment, batch: int) -> Iterator[Fault]:
    tensor = lengths.lengths if isinstance(lengths, Moment) else lengths
    yield from shaped("lengths", tensor, batch, words=", one for each row of q")
    if tensor.dtype not in (torch.int32, torch.int64):
        yield "lengths", "int32 or int64", str(tensor.dtype)


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
        and (window is None or window >= 1)
        and (softcap is None or softcap > 0)
        and not any(_lengths(lengths, q.shape[0]))
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k_cache": k_cache, "v_cache": v_cache})
        if q.dim() == 4 and q.shape[2] != 1:
            yield "q", "one token for each row", f"{q.shape[2]} tokens"
        yield from _windows(window=window)
        if softcap is not None and not 0 < softcap < math.inf:
            yield "softcap", "None or a number above 0", repr(softcap)
        yield from _lengths(lengths, q.shape[0])

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
        and (window1 is None or window1 >= 1)
        and (window2 is None or window2 >= 1)
        and form in ("trilinear", "determinant")
        and (segments is None or not any(_segments(segments, k1.shape[0], k1.shape[2], q.shape[2])))
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k1": k1, "k2": k2, "v1": v1, "v2": v2})
        yield from _windows(window1=window1, window2=window2)
        if form not in ("trilinear", "determinant"):
            yield "form", "'trilinear' or 'determinant'", repr(form)
        if k1.dim() == 4 and q.dim() == 4:
            yield from _segments(segments, k1.shape[0], k1.shape[2], q.shape[2])

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
        and (window1 is None or window1 >= 1)
        and (window2 is None or window2 >= 1)
        and not any(_lengths(lengths, q.shape[0]))
    ):
        return

    def faults() -> Iterator[Fault]:
        yield from _misfits(q, {"k1_cache": k1, "v1_cache": v1})
        yield from _misfits(q, {"k2_cache": k2, "v2_cache": v2})
        if q.dim() == 4 and q.shape[2] != 1:
            yield "q", "one token for each row", f"{q.shape[2]} tokens"
        if k1.dim() == k2.dim() == 4 and k1.shape[1] != k2.shape[1]:
            yield "k2_cache", f"the {k1.shape[1]} heads of k1_cache", str(k2.shape[1])
        yield from _windows(window1=window1, window2=window2)
        yield from _lengths(lengths, q.shape[0])

    refuse("simplicial_attention_decode", faults())
