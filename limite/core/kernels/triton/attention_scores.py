"""What the kernels of attention share: scores, and which of them count."""

from __future__ import annotations

import attrs
import triton
import triton.language as tl

from limite.core.kernels.segments import Spans
from limite.core.kernels.triton import runtime

MASKED = tl.constexpr(runtime.MASKED)
MINUS_2_LOG2_E = tl.constexpr(-2.0 * runtime.LOG2_E)


@attrs.frozen(eq=False)
class Rule:
    """What a call of attention asks for beside its tensors.

    ``rows``, if any, may have ``padded`` tokens; ``scale`` is not negative.
    """

    scale: float
    window: int | None = None
    softcap: float | None = None
    rows: Spans | None = None
    padded: bool = False

    @property
    def factors(self) -> tuple[float, float]:
        """What brings ``scores`` to bits, and what stands inside the soft cap."""
        if self.softcap is None:
            return self.scale * runtime.LOG2_E, 1.0
        return self.softcap * runtime.LOG2_E, self.scale / self.softcap

    @property
    def constants(self) -> dict[str, bool]:
        """The constants of all kernels that depend on it."""
        return {
            "WINDOWED": self.window is not None,
            "SEGMENTED": self.rows is not None,
            "PADDED": self.padded,
            "CAPPED": self.softcap is not None,
        }


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
def first_visible(
    starts, places, inside, Tk, window, WINDOWED: tl.constexpr, SEGMENTED: tl.constexpr
):
    """The first key that each query may see (none at padding: ``Tk``), by the queries' places."""
    begin = tl.zeros_like(places)
    if WINDOWED:
        begin = tl.maximum(begin, places - window + 1)
    if SEGMENTED:
        begin = tl.maximum(begin, tl.load(starts + places, mask=inside, other=Tk))
    return begin


@triton.jit
def key_range(place, begin, Tk, BM: tl.constexpr, BN: tl.constexpr, BOUNDED: tl.constexpr):
    """Where the key tiles of a tile of queries begin, become full, cease to be full, and end.

    The first query stands at ``place``. In a full tile every query sees every key, and every key
    is a token: nothing is masked there.
    """
    low = tl.full((), 0, tl.int32)
    full = low
    if BOUNDED:
        low = tl.min(begin, 0)
        full = tl.max(begin, 0)
    high = tl.minimum(place + BM, Tk)
    before = tl.minimum(full - low, tl.maximum(high - low, 0))
    left = low + (before + BN - 1) // BN * BN
    right = left + tl.maximum(place + 1 - left, 0) // BN * BN
    return low, left, right, high
