"""Unions of intervals with exact ends: sorted, merged, cut and complemented."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key

from limite.problems.algebra.same import order
from limite.problems.reading import tree as t
from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.tree import Tree

Piece = tuple[Tree, bool, Tree, bool]  # low end, whether it belongs, high end, whether it does
Pieces = tuple[Piece, ...]

HIGH = t.INFINITY
LOW = t.negative(t.INFINITY)
EVERYTHING: Pieces = ((LOW, False, HIGH, False),)
MOST = 200


def is_infinite(end: Tree) -> bool:
    return end in (HIGH, LOW)


def compare(left: Tree, right: Tree) -> int:
    if left == right:
        return 0
    if left == LOW or right == HIGH:
        return -1
    if left == HIGH or right == LOW:
        return 1
    return order(left, right)


def piece(low: Tree, closed_low: bool, high: Tree, closed_high: bool) -> Piece:
    """An interval as it was written: its ends in order, infinity no member."""
    if (closed_low and is_infinite(low)) or (closed_high and is_infinite(high)):
        raise Unreadable("infinity belongs to no interval")
    found: Piece = (low, closed_low, high, closed_high)
    if _is_empty(found):
        raise Unreadable("an interval with nothing in it")
    return found


def _is_empty(one: Piece) -> bool:
    low, closed_low, high, closed_high = one
    found = compare(low, high)
    return found > 0 or (found == 0 and not (closed_low and closed_high))


def _by_low_end(left: Piece, right: Piece) -> int:
    return compare(left[0], right[0]) or int(right[1]) - int(left[1])


def merged(pieces: Iterable[Piece]) -> Pieces:
    """Sorted by low end; pieces that overlap or touch become one."""
    kept = [one for one in pieces if not _is_empty(one)]
    if len(kept) > MOST:
        raise TooLarge(f"more than {MOST} intervals")
    found: list[Piece] = []
    for one in sorted(kept, key=cmp_to_key(_by_low_end)):
        if not found:
            found.append(one)
            continue
        low, closed_low, high, closed_high = found[-1]
        gap = compare(one[0], high)
        if gap > 0 or (gap == 0 and not (one[1] or closed_high)):
            found.append(one)
            continue
        further = compare(one[2], high)
        if further > 0:
            high, closed_high = one[2], one[3]
        elif further == 0:
            closed_high = closed_high or one[3]
        found[-1] = (low, closed_low, high, closed_high)
    return tuple(found)


def both(left: Pieces, right: Pieces) -> Pieces:
    """What lies in both."""
    if len(left) * len(right) > MOST * 4:
        raise TooLarge("too many intervals")
    found = []
    for one in left:
        for other in right:
            lows, highs = compare(one[0], other[0]), compare(one[2], other[2])
            low, closed_low = (one if lows > 0 else other)[:2]
            high, closed_high = (one if highs < 0 else other)[2:]
            if lows == 0:
                closed_low = one[1] and other[1]
            if highs == 0:
                closed_high = one[3] and other[3]
            found.append((low, closed_low, high, closed_high))
    return merged(found)


def complement(pieces: Pieces) -> Pieces:
    found = []
    low, closed_low = LOW, False
    for one in pieces:
        if one[0] != LOW:
            found.append((low, closed_low, one[0], not one[1]))
        low, closed_low = one[2], not one[3]
    if low != HIGH:
        found.append((low, closed_low, HIGH, False))
    return merged(found)


def same_pieces(left: Pieces, right: Pieces) -> bool:
    return len(left) == len(right) and all(
        one[1] == other[1]
        and one[3] == other[3]
        and compare(one[0], other[0]) == 0
        and compare(one[2], other[2]) == 0
        for one, other in zip(left, right, strict=True)
    )
