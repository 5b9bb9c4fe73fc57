"""Systems of linear equations in whole numbers, for families that solve by them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def solved(rows: Sequence[Sequence[int]]) -> list[Fraction] | None:
    """The one solution of a square system, right sides last; None where there is not one.

    All numbers stay whole until the end (elimination after Bareiss), which is quick.
    """
    table = [list(row) for row in rows]
    size, before = len(table), 1
    for place in range(size):
        pivot = next((row for row in range(place, size) if table[row][place]), None)
        if pivot is None:
            return None
        table[place], table[pivot] = table[pivot], table[place]
        top = table[place]
        head = top[place]
        for index in range(size):
            if index != place:
                row = table[index]
                factor = row[place]
                table[index] = [
                    (head * one - factor * other) // before
                    for one, other in zip(row, top, strict=True)
                ]
        before = head
    return [Fraction(table[place][size], table[place][place]) for place in range(size)]
