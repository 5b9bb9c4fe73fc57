"""Linear equations whose terms are fractions."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra.writing import fraction, linear, nonzero, read_linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

Term = tuple[int, int, int]
"""(a, b, c) for (ax + b)/c, with c below zero where the fraction is subtracted."""


@attrs.frozen(kw_only=True)
class FractionEquation(Family):
    """A linear equation with the unknown in the numerators of several fractions."""

    name = "fraction-equation"
    tag = "algebra/linear-equations"
    wordings = Wordings(
        "Solve $<left:text> = <right:text>$ for $x$.",
        "Find the number $x$ with $<left:text> = <right:text>$.",
        "For which $x$ does the equation $<left:text> = <right:text>$ hold?",
    )

    fractions: Ends = dial(1, 4, "how many fractions", most=6)
    number: Ends = dial(4, 12, "largest number drawn", least=3, most=100)
    broken: Ends = dial(0, 0.6, "share of solutions that are no integers", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.fractions, difficulty))
        largest = base.steady(self.number, difficulty)
        below = base.whole(rng, 2, 5) if rng.random() < base.steady(self.broken, difficulty) else 1
        above = nonzero(rng, largest * below)
        x = Fraction(above, below)
        right: list[Term] = []
        if count == 1:
            total = Fraction(nonzero(rng, largest))
            size = base.whole(rng, 2, largest)
            terms = [(below, int(size * total) - above, size)]
            side = ratio_text(total)
        else:
            terms = [_term(rng, largest, place) for place in range(count - 1)]
            total = sum(
                (Fraction(a * above + b * below, c * below) for a, b, c in terms), Fraction()
            )
            slope = sum((Fraction(a, c) for a, _, c in terms), Fraction())
            # The right side is chosen so that x solves the equation, in whole numbers.
            last = math.lcm(*(c for _, _, c in terms)) * below
            a = below * base.whole(rng, 1, 3)
            if slope == Fraction(a, last):
                a *= 2
            right = [(a, int(last * total - a * x), last)]
            side = _text(right)
        return Drawn(
            values={"left": _text(terms), "right": side},
            gold=gold.rational(x),
            steps=_steps(terms, right, total),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By two trials: a linear function is known from its values at 0 and 1.
        at = [_value(values["left"], point) - _value(values["right"], point) for point in (0, 1)]
        slope = at[1] - at[0]
        return gold.rational(-at[0] / slope) if slope else None


def _term(rng: random.Random, largest: float, place: int) -> Term:
    size = base.whole(rng, 2, largest)
    subtracted = place > 0 and rng.random() < 0.5
    return base.whole(rng, 1, 4), nonzero(rng, largest), -size if subtracted else size


def _text(terms: Sequence[Term]) -> str:
    text = ""
    for a, b, c in terms:
        sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
        text += sign + fraction(linear([a], "x", b), str(abs(c)))
    return text


_TERM = re.compile(
    r" ?([-+]?) ?\\frac\{([^}]*x[^}]*)\}\{([0-9]+)\}|(-?\\frac\{[0-9]+\}\{[0-9]+\}|-?[0-9]+)"
)


def _value(text: str, at: int) -> Fraction:
    """The value of a side at a point."""
    total, end = Fraction(0), 0
    for match in _TERM.finditer(text):
        if match.start() != end:
            raise ValueError(f"no sum of fractions: {text!r}")
        end = match.end()
        if match[4]:
            (), constant = read_linear(match[4], ())
            total += constant
            continue
        (slope,), constant = read_linear(match[2], "x")
        value = Fraction(slope * at + constant) / int(match[3])
        total += -value if match[1] == "-" else value
    return total


def _steps(left: Sequence[Term], right: Sequence[Term], total: Fraction) -> str:
    """Clears the denominators, collects and divides."""
    below = math.lcm(*(c for _, _, c in [*left, *right]), 1 if right else total.denominator)
    sides = [
        _cleared(left, below),
        _cleared(right, below) if right else str(int(below * total)),
    ]
    slopes = [sum(a * below // c for a, _, c in side) for side in (left, right)]
    constants = [sum(b * below // c for _, b, c in side) for side in (left, right)]
    if not right:
        constants[1] = int(below * total)
    slope, constant = slopes[0] - slopes[1], constants[1] - constants[0]
    shown = linear([slopes[0]], "x", constants[0]), linear([slopes[1]], "x", constants[1])
    text = f"Multiplying both sides by ${below}$ gives ${sides[0]} = {sides[1]}$"
    if shown[0] != sides[0] or shown[1] != sides[1]:
        text += f", that is ${shown[0]} = {shown[1]}$"
    text += f". Collecting the terms gives ${linear([slope], 'x')} = {constant}$"
    if slope == 1:
        return text + "."
    return text + f", and $x = {ratio_text(Fraction(constant, slope))}$."


def _cleared(terms: Sequence[Term], below: int) -> str:
    text = ""
    for a, b, c in terms:
        times = below // abs(c)
        sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
        inner = linear([a], "x", b)
        if times != 1 or c < 0:
            inner = f"{'' if times == 1 else times}({inner})"
        text += sign + inner
    return text
