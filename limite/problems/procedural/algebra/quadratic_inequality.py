"""Quadratic inequalities."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, intervals, polynomials, surds
from limite.problems.procedural.algebra.writing import nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.intervals import HIGH, LOW, End, Piece
from limite.problems.procedural.polynomials import Number, latex
from limite.problems.procedural.wording import Wordings

SIGNS = ("<", "\\le", ">", "\\ge")
_ROOTS = (2, 3, 5, 6, 7, 10, 11)


@attrs.frozen(kw_only=True)
class QuadraticInequality(Family):
    """Where a quadratic polynomial is above or below another, as a union of intervals."""

    name = "quadratic-inequality"
    tag = "algebra/inequalities"
    wordings = Wordings(
        "Solve the inequality $<left:polynomial> <sign:text> <right:polynomial>$ over the real "
        "numbers. Answer with an interval or a union of intervals, with exact ends.",
        "Find all real $x$ with $<left:polynomial> <sign:text> <right:polynomial>$, as an "
        "interval or a union of intervals with exact ends.",
        "For which real numbers $x$ is $<left:polynomial> <sign:text> <right:polynomial>$? "
        "Write the solution set with intervals and exact ends.",
    )

    root: Ends = dial(5, 12, "largest part of an end", least=3, most=100)
    lead: Ends = dial(1, 4, "largest leading coefficient", most=20)
    irrational: Ends = dial(0, 0.6, "share of ends with square roots", least=0, most=1)
    moved: Ends = dial(0, 0.8, "share with terms on both sides", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.root, difficulty)
        lead = base.whole(rng, 1, base.steady(self.lead, difficulty))
        if rng.random() < 0.2 + 0.3 * difficulty:
            lead = -lead
        sign = base.chosen(rng, SIGNS)
        if rng.random() < base.steady(self.irrational, difficulty):
            root, times = base.chosen(rng, _ROOTS), base.whole(rng, 1, 2)
            middle = nonzero(rng, size)
            ends = (_end(middle, -times, root), _end(middle, times, root))
            terms = polynomials.scaled((middle**2 - times**2 * root, -2 * middle, 1), lead)
            why = (
                f"it is ${latex(terms)} = {_times(lead, f'({latex((-middle, 1))})^2')} "
                f"{'-' if lead > 0 else '+'} {abs(lead) * times**2 * root}$"
            )
        else:
            low, high = sorted(base.distinct(rng, 2, -int(size), int(size)))
            ends = (intervals.end(low), intervals.end(high))
            terms = polynomials.with_roots((low, high), lead)
            why = f"it is ${latex(terms)} = {_times(lead, _factors(low, high))}$"
        right: tuple[Number, ...] = ()
        if rng.random() < base.steady(self.moved, difficulty):
            right = (nonzero(rng, size), nonzero(rng, size))
        inside = (lead > 0) == sign.startswith(("<", "\\le"))
        closed = sign in ("\\le", "\\ge")
        pieces: list[Piece] = [(ends[0], closed, ends[1], closed)]
        if not inside:
            pieces = [(LOW, False, ends[0], closed), (ends[1], closed, HIGH, False)]
        return Drawn(
            values={"left": polynomials.plus(terms, right), "sign": sign, "right": right},
            gold=intervals.union(pieces),
            steps=f"The difference of both sides is zero at ${ends[0].latex}$ and "
            f"${ends[1].latex}$: {why}. Its graph opens {'up' if lead > 0 else 'down'}wards, so "
            f"the difference is {'negative' if lead > 0 else 'positive'} between these numbers "
            f"and {'positive' if lead > 0 else 'negative'} outside. The inequality "
            f"${latex(terms)} {sign} 0$ holds {'between' if inside else 'outside'} these "
            f"numbers, and they themselves {'are' if closed else 'are no'} solutions.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The ends by the quadratic formula; what lies between them by trying a point.
        terms, sign = polynomials.minus(values["left"], values["right"]), values["sign"]
        if len(terms) != 3 or not all(isinstance(each, int) for each in terms):
            return None
        c, b, a = map(int, terms)
        outside, root = surds.split(max(b * b - 4 * a * c, 0))
        if b * b <= 4 * a * c:
            return None
        middle, times = Fraction(-b, 2 * a), Fraction(outside, abs(2 * a))
        if root == 1:
            ends = (intervals.end(middle - times), intervals.end(middle + times))
        else:
            ends = (_end(middle, -times, root), _end(middle, times, root))
        between = polynomials.value(terms, middle)
        closed = sign in ("\\le", "\\ge")
        if (between < 0) == (sign in ("<", "\\le")):
            return intervals.union([(ends[0], closed, ends[1], closed)])
        return intervals.union([(LOW, False, ends[0], closed), (ends[1], closed, HIGH, False)])


def _end(whole: Number, times: Number, root: int) -> End:
    return End(surds.plain(whole, times, root), surds.latex(whole, times, root))


def _factors(low: int, high: int) -> str:
    if 0 in (low, high):
        return f"x({latex((-low - high, 1))})"
    return f"({latex((-low, 1))})({latex((-high, 1))})"


def _times(lead: int, factors: str) -> str:
    return f"{'' if lead == 1 else '-' if lead == -1 else lead}{factors}"
