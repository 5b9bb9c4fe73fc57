"""The least time an operation could take: counted bytes and operations over measured ceilings.

Every input is read once, every output written once, and of a triangle or a window only what is
visible is computed. A product and a sum are two operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import attrs

from benchmarks.cases import Case, Direction, Sizes

ITEMSIZE: Mapping[str, int] = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
INDEX = 8  # bytes of an int64
STATISTIC = 4  # bytes of a float32


@attrs.frozen
class Work:
    """What must be moved and computed."""

    bytes: float
    flop: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(self.bytes + other.bytes, self.flop + other.flop)


@attrs.frozen
class Ceilings:
    """What the device can do: bytes copied (read and written ones) and operations of a product."""

    bytes_per_s: float
    flop_per_s: float


def floor_ms(work: Work, ceilings: Ceilings) -> float:
    return 1e3 * max(work.bytes / ceilings.bytes_per_s, work.flop / ceilings.flop_per_s)


def count(case: Case) -> Work:
    """The work of a case; of both directions, where the case is about both, the sum.

    The head is the one operation for which the sum says too much: with both at hand the backward
    still computes the logits again, as they are not kept, but weights and tokens need moving once.
    """
    return COUNTS[case.op](case.sizes, case.direction, ITEMSIZE[case.dtype])


def visible_pairs(tokens: int, *windows: int | None) -> int:
    """Sum over queries of the product of the keys visible in each window."""
    limits = sorted({0, tokens, *(w for w in windows if w is not None and w < tokens)})
    total = 0
    for low, high in pairwise(limits):
        # Queries low .. high - 1: a window either still grows, as i + 1, or is full.
        full, growing = 1, 0
        for window in windows:
            if window is None or window > low:
                growing += 1
            else:
                full *= window
        total += full * sum_of_powers(low, high, growing)
    return total


def sum_of_powers(low: int, high: int, power: int) -> int:
    """Sum of ``n ** power`` for n from ``low + 1`` to ``high``, for powers up to 2."""
    match power:
        case 0:
            return high - low
        case 1:
            return (high * (high + 1) - low * (low + 1)) // 2
        case 2:
            return (high * (high + 1) * (2 * high + 1) - low * (low + 1) * (2 * low + 1)) // 6
        case _:
            raise AssertionError(power)


def _passes(
    forward: int, backward: int, elements: Callable[[Sizes], int]
) -> Callable[[Sizes, Direction, int], Work]:
    """Operations that only move: how many tensors of one size go in and out."""

    def counted(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
        passes = {"forward": forward, "backward": backward, "both": forward + backward}
        return Work(passes[direction] * elements(sizes) * itemsize)

    return counted


def _size(sizes: Sizes, name: str) -> int:
    size = sizes[name]
    assert size is not None, name
    return size


def _rows(sizes: Sizes) -> int:
    return _size(sizes, "rows") * _size(sizes, "width")


def _qk_norm_rope(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    tokens = _size(sizes, "tokens")
    turned = tokens * _size(sizes, "heads") * _size(sizes, "width") * itemsize
    table = 2 * tokens * _size(sizes, "pairs") * STATISTIC
    forward, backward = Work(2 * turned + table), Work(3 * turned + table)
    return {"forward": forward, "backward": backward, "both": forward + backward}[direction]


def _rope(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    tokens = _size(sizes, "tokens")
    turned = tokens * _size(sizes, "heads") * _size(sizes, "width") * itemsize
    once = Work(2 * turned + 2 * tokens * _size(sizes, "pairs") * STATISTIC)
    return once + once if direction == "both" else once


def _head_mix(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    row = _size(sizes, "tokens") * _size(sizes, "width") * itemsize
    heads, kv_heads = _size(sizes, "heads"), _size(sizes, "kv_heads")
    gates = _size(sizes, "tokens") * heads * itemsize
    forward = Work((2 * heads + kv_heads) * row + gates)
    backward = Work((3 * heads + 2 * kv_heads) * row + 2 * gates)
    return {"forward": forward, "backward": backward, "both": forward + backward}[direction]


def _attention(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    batch, tokens, width = (_size(sizes, name) for name in ("batch", "tokens", "width"))
    heads, kv_heads = _size(sizes, "heads"), _size(sizes, "kv_heads")
    queries = batch * heads * tokens * width * itemsize
    keys = batch * kv_heads * tokens * width * itemsize
    statistics = batch * heads * tokens * STATISTIC
    pairs = batch * heads * visible_pairs(tokens, sizes.get("window"))
    forward = Work(2 * queries + 2 * keys, 4 * width * pairs)
    backward = Work(4 * queries + 4 * keys + statistics, 10 * width * pairs)
    return {"forward": forward, "backward": backward, "both": forward + backward}[direction]


def _simplicial(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    batch, tokens, width = (_size(sizes, name) for name in ("batch", "tokens", "width"))
    heads, kv_heads = _size(sizes, "heads"), _size(sizes, "kv_heads")
    queries = batch * heads * tokens * width * itemsize
    keys = batch * kv_heads * tokens * width * itemsize
    statistics = batch * heads * tokens * STATISTIC
    pairs = batch * heads * visible_pairs(tokens, sizes["window1"], sizes["window2"])
    forward = Work(2 * queries + 4 * keys, 4 * width * pairs)
    backward = Work(4 * queries + 8 * keys + statistics, 22 * width * pairs)
    return {"forward": forward, "backward": backward, "both": forward + backward}[direction]


def _decode(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    assert direction == "forward"
    batch, width, cached = (_size(sizes, name) for name in ("batch", "width", "cached"))
    heads, kv_heads = _size(sizes, "heads"), _size(sizes, "kv_heads")
    seen = min(cached, sizes.get("window") or cached)
    cache = 2 * batch * kv_heads * seen * width * itemsize
    return Work(cache + 2 * batch * heads * width * itemsize, 4 * batch * heads * seen * width)


def _simplicial_decode(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    assert direction == "forward"
    batch, width = _size(sizes, "batch"), _size(sizes, "width")
    heads, kv_heads = _size(sizes, "heads"), _size(sizes, "kv_heads")
    first, second = _size(sizes, "window1"), _size(sizes, "window2")
    caches = 2 * batch * kv_heads * (first + second) * width * itemsize
    ends = 2 * batch * heads * width * itemsize
    return Work(caches + ends, 4 * batch * heads * first * second * width)


def _indexed_logprob(sizes: Sizes, direction: Direction, itemsize: int) -> Work:
    tokens, vocabulary, width = (_size(sizes, name) for name in ("tokens", "vocabulary", "width"))
    inputs = (tokens + vocabulary) * width * itemsize + tokens * _size(sizes, "indices") * INDEX
    outputs = tokens * (_size(sizes, "indices") + 1 + bool(sizes.get("entropy"))) * STATISTIC
    gradients = (tokens + vocabulary) * width * itemsize
    product = 2.0 * tokens * vocabulary * width
    match direction:
        case "forward":
            return Work(inputs + outputs, product)
        case "backward":
            return Work(inputs + outputs + gradients, 3 * product)
        case _:
            return Work(inputs + outputs + gradients, 4 * product)


def _scan(sizes: Sizes) -> int:
    return _size(sizes, "rows") * _size(sizes, "tokens")


COUNTS: Mapping[str, Callable[[Sizes, Direction, int], Work]] = {
    "rms_norm": _passes(2, 3, _rows),  # x, y; x, dy, dx
    "add_rms_norm": _passes(4, 4, _rows),  # a, b, sum, norm; sum, both gradients, their join
    "qk_norm_rope": _qk_norm_rope,
    "rope": _rope,
    "swiglu": _passes(3, 5, _rows),  # gate, up, y; gate, up, dy, dgate, dup
    "head_mix": _head_mix,
    "attention": _attention,
    "attention_decode": _decode,
    "simplicial_attention": _simplicial,
    "simplicial_attention_decode": _simplicial_decode,
    "indexed_logprob": _indexed_logprob,
    "linear_scan": _passes(3, 5, _scan),  # a, b, y; a, y, dy, da, db
}
