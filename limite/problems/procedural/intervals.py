"""Unions of intervals as answers: from their pieces, and from where a condition holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import attrs

from limite.core.types import Answer
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import ratio_text


@attrs.frozen
class End:
    """An end of an interval, in plain notation and in LaTeX."""

    plain: str
    latex: str


LOW = End("-oo", "-\\infty")
HIGH = End("oo", "\\infty")
Piece = tuple[End, bool, End, bool]
"""Low end, whether it belongs, high end, whether it does."""


def end(value: Number) -> End:
    return End(str(value), ratio_text(value))


def union(pieces: Sequence[Piece], variable: str = "x") -> Gold:
    """The answer with these pieces, which are sorted and do not touch."""
    plain, latex = [], []
    for low, with_low, high, with_high in pieces:
        opening, closing = "[" if with_low else "(", "]" if with_high else ")"
        plain.append(f"{opening}{low.plain},{high.plain}{closing}")
        if low == high:
            latex.append(f"\\{{{low.latex}\\}}")
        else:
            latex.append(f"{opening}{low.latex}, {high.latex}{closing}")
    return Gold(
        Answer(
            type="interval", value="U".join(plain) or "\\emptyset", params={"variable": variable}
        ),
        " \\cup ".join(latex) or "\\varnothing",
    )


def where(breaks: Sequence[Number], holds: Callable[[Number], bool], variable: str = "x") -> Gold:
    """Where a condition holds that can change only at ``breaks``: tried at each and between."""
    points = sorted(set(breaks))
    if not points:
        return union([(LOW, False, HIGH, False)] if holds(0) else [], variable)
    between = [points[0] - 1]
    for left, right in itertools.pairwise(points):
        between.append(Fraction(left + right) / 2)
    between.append(points[-1] + 1)
    pieces: list[Piece] = []
    start: tuple[End, bool] | None = (LOW, False) if holds(between[0]) else None
    for point, after in zip(points, between[1:], strict=True):
        at, here, goes_on = end(point), holds(point), holds(after)
        if start is not None and not (here and goes_on):
            pieces.append((*start, at, here))
            start = (at, False) if goes_on else None
        elif start is None and goes_on:
            start = (at, here)
        elif start is None and here:
            pieces.append((at, True, at, True))
    if start is not None:
        pieces.append((*start, HIGH, False))
    return union(pieces, variable)
