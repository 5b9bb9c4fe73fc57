"""Exact algebra that families solve with: linear systems, determinants and rational roots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from limite.problems.procedural import polynomials
from limite.problems.procedural.polynomials import Number, Polynomial

Rows = Sequence[Sequence[Number]]


def plainly(rows: Rows) -> list[list[Number]]:
    """The matrix with integers where its entries are whole: they are many times as quick."""
    return [[polynomials.plain_number(entry) for entry in row] for row in rows]


def determinant(rows: Rows) -> Number:
    """By expansion along the first row."""
    if len(rows) == 1:
        return rows[0][0]
    if len(rows) == 2:
        return rows[0][0] * rows[1][1] - rows[0][1] * rows[1][0]
    total: Number = 0
    for place, entry in enumerate(rows[0]):
        if entry:
            minor = determinant([[*row[:place], *row[place + 1 :]] for row in rows[1:]])
            total += -entry * minor if place % 2 else entry * minor
    return total


def solved(rows: Rows, right: Sequence[Number]) -> list[Number] | None:
    """The one solution of a square linear system, by elimination; None where there is not one."""
    table = [[*row, last] for row, last in zip(rows, right, strict=True)]
    size = len(table)
    for column in range(size):
        pivot = next((row for row in range(column, size) if table[row][column]), None)
        if pivot is None:
            return None
        table[column], table[pivot] = table[pivot], table[column]
        for row in range(size):
            if row != column and table[row][column]:
                over, under = table[column][column], table[row][column]
                table[row] = [
                    over * entry - under * other
                    for entry, other in zip(table[row], table[column], strict=True)
                ]
    return [polynomials.quotient(row[size], row[place]) for place, row in enumerate(table)]


def multiplied(left: Rows, right: Rows) -> list[list[Number]]:
    """The product of two matrices."""
    columns = list(zip(*right, strict=True))
    return [
        [sum(a * b for a, b in zip(row, each, strict=True)) for each in columns] for row in left
    ]


def rational_roots(terms: Polynomial) -> list[Number]:
    """Its rational roots with multiplicity, found by trying divisors of its ends, in order."""
    below = math.lcm(*(each.denominator for each in terms if isinstance(each, Fraction)))
    rest = [int(each * below) for each in terms]
    found: list[Number] = []
    while len(rest) > 1 and rest[0] == 0:
        del rest[0]
        found.append(0)
    if len(rest) > 1:
        tops, bottoms = _divisors(rest[0]), _divisors(rest[-1])
        for bottom in bottoms:
            for size in tops:
                for top in (size, -size):
                    while len(rest) > 1 and math.gcd(top, bottom) == 1:
                        left = _without(rest, top, bottom)
                        if left is None:
                            break
                        rest = left
                        found.append(top if bottom == 1 else Fraction(top, bottom))
            if len(rest) == 1:
                break
    return sorted(found)


def _without(terms: list[int], top: int, bottom: int) -> list[int] | None:
    """The quotient by ``bottom x - top`` where nothing remains, in whole numbers by Gauss."""
    carried, found = 0, []
    for coefficient in reversed(terms):
        carried, rest = divmod(coefficient + carried * top, bottom)
        if rest:
            return None
        found.append(carried)
    return None if found.pop() else found[::-1]  # the last one is what remains


def _divisors(number: int) -> list[int]:
    number = abs(number)
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    return small + [number // each for each in reversed(small) if each * each != number]
