"""For which parameters a quadratic equation has one, two or no real solutions."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, intervals, polynomials
from limite.problems.procedural.algebra.writing import later, linear, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.intervals import HIGH, LOW, Piece
from limite.problems.procedural.polynomials import Number, latex
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class RootParameter(Family):
    """The parameters for which a quadratic equation has two, one or no real solutions."""

    name = "root-parameter"
    tag = "algebra/quadratics"
    wordings = Wordings(
        one=(
            "For which real numbers $k$ does $<equation:text> = 0$ have exactly one real solution "
            "$x$? Answer with the set of all such $k$.",
            "Find the set of all real $k$ for which the equation $<equation:text> = 0$ has exactly "
            "one real solution $x$.",
        ),
        two=(
            "For which real numbers $k$ does $<equation:text> = 0$ have two different real "
            "solutions $x$? Answer with an interval or a union of intervals.",
            "Find all real $k$ for which the equation $<equation:text> = 0$ has two different real "
            "solutions $x$, as an interval or a union of intervals.",
        ),
        none=(
            "For which real numbers $k$ does $<equation:text> = 0$ have no real solution $x$? "
            "Answer with an interval or a union of intervals.",
            "Find all real $k$ for which the equation $<equation:text> = 0$ has no real solution "
            "$x$, as an interval or a union of intervals.",
        ),
    )

    size: Ends = dial(7, 15, "largest number drawn", least=3, most=100)
    middle: Ends = dial(0, 1, "share with k in more than the constant term", least=0, most=1)
    shifted: Ends = dial(0, 0.6, "share of those with k in two places", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        ask = base.chosen(rng, ("one", "two", "none"))
        lead = base.whole(rng, 1, 1 + size / 4)
        if rng.random() >= base.steady(self.middle, difficulty):
            # ax^2 + bx + k: one bound.
            b = nonzero(rng, size)
            c = base.whole(rng, 0, 2 * size) - int(size)
            bound = Fraction(b * b, 4 * lead) - c
            text = f"{latex((0, b, lead))} + k{later(c)}"
            inside = f"{4 * lead}(k{later(c)})" if c else f"{4 * lead}k"
            steps = (
                f"The discriminant is ${b * b} - {inside}$. It is zero for $k = "
                f"{ratio_text(bound)}$, positive below and negative above."
            )
            pieces: list[Piece] = [(LOW, False, intervals.end(bound), False)]
            if ask == "none":
                pieces = [(intervals.end(bound), False, HIGH, False)]
            found = gold.finite_set([bound]) if ask == "one" else intervals.union(pieces, "k")
            return Drawn(ask=ask, values={"equation": text}, gold=found, steps=steps)
        lead_text = latex((0, 0, lead))
        if rng.random() < base.steady(self.shifted, difficulty):
            # x^2 + kx + (mk + n): k^2 - 4mk - 4n with zeros p and q of even sum.
            p = nonzero(rng, size)
            q = p + 2 * base.whole(rng, 1, size / 2 + 1)
            if (p + q) % 4:
                q += 2
            m, n = (p + q) // 4, -(p * q)
            while n % 4:  # p + q stays divisible by four
                p, q = p - 1, q + 1
                n = -(p * q)
            n //= 4
            if m == 0:
                p, q, m = p + 2, q + 2, 1
                while (p * q) % 4:
                    p, q = p - 1, q + 1
                n = -(p * q) // 4
            constant = linear([m], "k", n)
            text = (
                f"x^2 + kx + {constant}" if m > 0 else f"x^2 + kx - {linear([-m], 'k')}{later(n)}"
            )
            discriminant = f"k^2 - 4({constant}) = {latex((p * q, -p - q, 1), 'k')}"
            low, high = Fraction(p), Fraction(q)
        else:
            # ax^2 + kx + c with ac a square.
            root = base.whole(rng, 1, size)
            c = root * root // lead
            if root * root % lead:
                c = lead * root * root
                root *= lead
            text = f"{lead_text} + kx + {c}"
            discriminant = f"k^2 - {4 * lead * c}"
            low, high = Fraction(-2 * root), Fraction(2 * root)
        ends = intervals.end(low), intervals.end(high)
        pieces = [(LOW, False, ends[0], False), (ends[1], False, HIGH, False)]
        if ask == "none":
            pieces = [(ends[0], False, ends[1], False)]
        return Drawn(
            ask=ask,
            values={"equation": text},
            gold=gold.finite_set([low, high]) if ask == "one" else intervals.union(pieces, "k"),
            steps=f"The discriminant is ${discriminant}$. It is zero for $k = {ends[0].latex}$ and "
            f"$k = {ends[1].latex}$, negative between these numbers and positive outside.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The discriminant at three values of k gives it as a polynomial in k, whose zeros are
        # found and between which it is tried.
        points = []
        for k in (0, 1, 2):
            terms = _at(values["equation"], k)
            if len(terms) != 3:
                return None
            c, b, a = terms
            points.append((k, b * b - 4 * a * c))
        terms = polynomials.through(points)
        if len(terms) == 2:
            zeros = [polynomials.quotient(-terms[0], terms[1])]
        else:
            c, b, a = (int(each) for each in terms)
            under = b * b - 4 * a * c
            root = math.isqrt(max(under, 0))
            if under < 0 or root * root != under:
                return None
            zeros = [polynomials.quotient(-b + sign * root, 2 * a) for sign in (-1, 1)]
        if ask == "one":
            return gold.finite_set(zeros)

        def holds(k: Number) -> bool:
            value = polynomials.value(terms, k)
            return bool(value > 0) if ask == "two" else bool(value < 0)

        return intervals.where(zeros, holds, "k")


_K = re.compile(r"([0-9]*)k(x?)")


def _at(text: str, k: int) -> polynomials.Polynomial:
    """The polynomial in x with a number in place of k."""
    return polynomials.read(_K.sub(lambda match: f"{int(match[1] or 1) * k}{match[2]}", text))
