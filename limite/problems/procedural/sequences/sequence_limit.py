"""Limits of sequences."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class SequenceLimit(Family):
    """The limit of a sequence: of a quotient, a difference of roots, or a recurrence."""

    name = "sequence-limit"
    tag = "sequences/limits"
    wordings = Wordings(
        powers=(
            "Find $\\lim_{n \\to \\infty} \\frac{<a> \\cdot <p>^n + <b> \\cdot <q>^n}"
            "{<c> \\cdot <p>^n + <d> \\cdot <q>^n}$.",
            "To which number does the sequence $a_n = \\frac{<a> \\cdot <p>^n + <b> \\cdot <q>^n}"
            "{<c> \\cdot <p>^n + <d> \\cdot <q>^n}$ converge as $n \\to \\infty$?",
        ),
        quotient=(
            "Find $\\lim_{n \\to \\infty} \\frac{<above:text>}{<below:text>}$.",
            "To which number does the sequence $a_n = \\frac{<above:text>}{<below:text>}$ converge "
            "as $n \\to \\infty$?",
        ),
        roots=(
            "Find $\\lim_{n \\to \\infty} \\left(\\sqrt{<under:text>} - <right:text>\\right)$.",
            "To which number does the sequence $a_n = \\sqrt{<under:text>} - <right:text>$ "
            "converge as $n \\to \\infty$?",
        ),
        recurrence=(
            "A sequence has $a_1 = <start>$ and $a_{n+1} = <ratio:ratio>a_n <plus:text> <shift>$ "
            "for $n \\ge 1$. Find $\\lim_{n \\to \\infty} a_n$.",
            "Let $a_1 = <start>$ and $a_{n+1} = <ratio:ratio>a_n <plus:text> <shift>$ for all "
            "$n \\ge 1$. To which number do the terms converge?",
        ),
        mean=(
            "A sequence has $a_1 = <start>$, $a_2 = <next>$, and every further term is the mean of "
            "the two before, $a_{n+2} = \\frac{a_{n+1} + a_n}{2}$. Find "
            "$\\lim_{n \\to \\infty} a_n$.",
            "Let $a_1 = <start>$ and $a_2 = <next>$, and let each further term be the arithmetic "
            "mean of the two terms before it. To which number do the terms converge?",
        ),
    )

    degree: Ends = dial(1, 4, "largest degree in a quotient", least=1, most=6)
    size: Ends = dial(5, 15, "largest coefficient", least=3, most=100)
    kinds: Ends = dial(1, 5, "how many kinds of limit are asked for", most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("quotient", "recurrence", "powers", "roots", "mean")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        if ask == "quotient":
            degree = base.whole(rng, 1, base.steady(self.degree, difficulty))
            tops = [base.whole(rng, -size, size) for _ in range(degree)]
            bottoms = [base.whole(rng, 0, size) for _ in range(degree)]
            lead, under = base.whole(rng, 1, size), base.whole(rng, 2, size)
            lead = -lead if rng.random() < 0.25 else lead
            above, below = (*tops, lead), (*bottoms, under)
            if not any(tops) and not any(bottoms):
                above = (1, *above[1:])
            power = f"n^{degree}" if degree > 1 else "n"
            return Drawn(
                ask=ask,
                values={
                    "above": polynomials.latex(above, "n"),
                    "below": polynomials.latex(below, "n"),
                },
                gold=gold.rational(Fraction(lead, under)),
                steps=f"Divide above and below by ${power}$. All terms but the first ones go to "
                f"$0$, so above the limit is ${lead}$ and below it is ${under}$.",
            )
        if ask == "roots":
            # sqrt(m^2 n^2 + b n + c) - (m n + d)
            m, b = base.whole(rng, 1, 5), base.whole(rng, 1, 2 * size)
            c, d = base.whole(rng, 0, size), base.whole(rng, 0, 4)
            if b * b < 4 * m * m * c and rng.random() < 0.5:
                b = -b  # there is a root for every n all the same
            if b == 2 * m * d:
                b += 1
            limit = Fraction(b, 2 * m) - d
            right = polynomials.latex(polynomials.polynomial((d, m)), "n")
            inner = polynomials.latex(polynomials.polynomial((c - d * d, b - 2 * m * d)), "n")
            return Drawn(
                ask=ask,
                values={
                    "under": polynomials.latex((c, b, m * m), "n"),
                    "right": f"({right})" if d else right,
                },
                gold=gold.rational(limit),
                steps=f"Multiply above and below by the sum of the two terms: the numerator "
                f"becomes ${inner}$, and the denominator grows like ${2 * m}n$. The limit is "
                f"$\\frac{{{b - 2 * m * d}}}{{{2 * m}}}$.",
            )
        if ask == "powers":
            p, q = base.distinct(rng, 2, 2, 3 + size // 2)
            a, b, c, d = (base.whole(rng, 2, size) for _ in range(4))
            if a * d == b * c:
                a += 1
            high = p > q
            answer = Fraction(a, c) if high else Fraction(b, d)
            return Drawn(
                ask=ask,
                values={"a": a, "b": b, "c": c, "d": d, "p": p, "q": q},
                gold=gold.rational(answer),
                steps=f"Divide above and below by ${max(p, q)}^n$. The powers of "
                f"$\\frac{{{min(p, q)}}}{{{max(p, q)}}}$ go to $0$, and "
                f"$\\frac{{{a if high else b}}}{{{c if high else d}}}$ remains.",
            )
        start = base.whole(rng, 0, size)
        if ask == "recurrence":
            whole = base.whole(rng, 2, 2 + size // 2)
            ratio = Fraction(base.whole(rng, 1, whole - 1), whole)
            ratio = -ratio if rng.random() < 0.35 else ratio
            shift = base.whole(rng, 1, size)
            sign = -1 if rng.random() < 0.3 else 1
            limit = sign * shift / (1 - ratio)
            if limit == start:
                start += 1
            return Drawn(
                ask=ask,
                values={
                    "start": start,
                    "ratio": ratio,
                    "plus": "-" if sign < 0 else "+",
                    "shift": shift,
                },
                gold=gold.rational(limit),
                steps=f"The distance from the fixed number $x = {ratio_text(ratio)}x "
                f"{'-' if sign < 0 else '+'} {shift}$ is multiplied by ${ratio_text(ratio)}$ in "
                f"every step, so it goes to $0$. The equation says ${ratio_text(1 - ratio)}x = "
                f"{sign * shift}$.",
            )
        following = start + base.whole(rng, 2, 2 * size) * (1 if rng.random() < 0.7 else -1)
        limit = Fraction(start + 2 * following, 3)
        return Drawn(
            ask=ask,
            values={"start": start, "next": following},
            gold=gold.rational(limit),
            steps=f"From term to term the change is multiplied by $-\\frac{{1}}{{2}}$. It begins "
            f"with ${following - start}$, and all changes add up to "
            f"${following - start} : \\frac{{3}}{{2}} = "
            f"{ratio_text(Fraction(2 * (following - start), 3))}$, from ${start}$ on.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # A term so far out that only one simple fraction is near it.
        far = 10**30
        if ask == "quotient":
            above, below = (polynomials.read(values[name], "n") for name in ("above", "below"))
            if len(above) != len(below):
                return None
            return _near(
                int(polynomials.value(above, far)) * far // int(polynomials.value(below, far)), far
            )
        if ask == "roots":
            under = polynomials.read(values["under"], "n")
            right = polynomials.read(values["right"].removeprefix("(").removesuffix(")"), "n")
            digits = 10**20
            root = math.isqrt(int(polynomials.value(under, far)) * digits * digits)
            return _near(root - int(polynomials.value(right, far)) * digits, digits)
        if ask == "powers":
            if values["p"] == values["q"]:
                return None
            count = 4000 // max(values["p"], values["q"])
            large, small = values["p"] ** count, values["q"] ** count
            above = values["a"] * large + values["b"] * small
            below = values["c"] * large + values["d"] * small
            return _near(above * far // below, far)
        term: int
        if ask == "mean":
            before, term = values["start"] * far, values["next"] * far
            for _ in range(90):
                before, term = term, (before + term) // 2
            return _near(term, far)
        ratio = Fraction(values["ratio"])
        if abs(ratio) >= 1 or values["plus"] not in ("+", "-"):
            return None
        shift = values["shift"] * far * (1 if values["plus"] == "+" else -1)
        term = values["start"] * far
        for _ in range(40 * ratio.denominator):
            term = term * ratio.numerator // ratio.denominator + shift
        return _near(term, far)


def _near(value: int, unit: int) -> Gold | None:
    """The fraction with a small denominator next to ``value / unit``."""
    found = Fraction(value, unit).limit_denominator(1000)
    close = abs(found * unit - value) * 10**12 < unit
    return gold.rational(found) if close else None
