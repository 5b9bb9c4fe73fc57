"""What the kernels of attention share: scores, and which of them count."""

from __future__ import annotations

import triton
import triton.language as tl

from limite.core.kernels.triton import runtime

MASKED = tl.constexpr(runtime.MASKED)
MINUS_2_LOG2_E = tl.constexpr(-2.0 * runtime.LOG2_E)


@triton.jit
def tanh(x):
    """The series near 0, where ``(1 - e) / (1 + e)`` with ``e = exp(-2 |x|)`` would cancel."""
    square = x * x
    near = square < 0.0625
    small = tl.where(near, x, 0.0)
    square = tl.where(near, square, 0.0)
    series = 2.0 / 15 + square * (-17.0 / 315 + square * (62.0 / 2835))
    series = small * (1.0 + square * (-1.0 / 3 + square * series))
    decay = tl.exp2(tl.abs(x) * MINUS_2_LOG2_E)
    far = (1.0 - decay) / (1.0 + decay)
    return tl.where(near, series, tl.where(x < 0.0, -far, far))


@triton.jit
def scores(left, right, inner, CAPPED: tl.constexpr):
    """``left rightᵀ``, with a soft cap ``tanh(inner left rightᵀ)``: times ``factor``, in bits."""
    product = tl.dot(left, tl.trans(right), input_precision="ieee")
    if CAPPED:
        product = tanh(product * inner)
    return product


@triton.jit
def visible(queries, keys, starts, window, WINDOWED: tl.constexpr, SEGMENTED: tl.constexpr):
    """Whether queries see keys, by their places; ``starts``: where the queries' rows begin."""
    distance = queries - keys
    seen = distance >= 0
    if WINDOWED:
        seen = seen & (distance < window)
    if SEGMENTED:
        seen = seen & (keys >= starts)
    return seen


@triton.jit
def key_range(
    place, starts, Tk, window,
    BM: tl.constexpr, BN: tl.constexpr, WINDOWED: tl.constexpr, SEGMENTED: tl.constexpr,
):  # fmt: skip
    """Where the key tiles of a tile of queries begin, become full, cease to be full, and end.

    The first query stands at ``place``. In a full tile every query sees every key, and every key
    is a token: nothing is masked there.
    """
    low = tl.full((), 0, tl.int32)
    full = low
    if WINDOWED:
        low = tl.maximum(place - window + 1, 0)
        full = tl.maximum(place + BM - window, 0)
    if SEGMENTED:
        low = tl.maximum(low, tl.min(starts, 0))
        full = tl.maximum(full, tl.max(starts, 0))
    high = tl.minimum(place + BM, Tk)
    before = tl.minimum(tl.maximum(full - low, 0), tl.maximum(high - low, 0))
    left = low + (before + BN - 1) // BN * BN
    right = left + tl.maximum(place + 1 - left, 0) // BN * BN
    return low, left, right, high
