"""Continued fractions: their value, and the one of a given fraction."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ContinuedFractions(Family):
    """The value of a continued fraction, or the continued fraction of a value."""

    name = "continued-fractions"
    tag = "arithmetic/continued-fractions"
    wordings = Wordings(
        value=(
            "Compute the continued fraction $[<first>; <others:integers>]$ as an exact fraction.",
            "What is the exact value of the continued fraction $[<first>; <others:integers>]$, "
            "whose partial quotients are these numbers?",
        ),
        nested=(
            "Compute $<nested:text>$. Give a fraction in lowest terms.",
            "Write $<nested:text>$ as one fraction in lowest terms.",
        ),
        terms=(
            "Write $<ratio:ratio>$ as a simple continued fraction $[a_0; a_1, \\dots, a_n]$ of "
            "positive whole numbers, the last of them greater than $1$. Give "
            "$(a_0, a_1, \\dots, a_n)$.",
            "Which simple continued fraction $[a_0; a_1, \\dots, a_n]$, with positive whole "
            "numbers and the last of them greater than $1$, is equal to $<ratio:ratio>$? Answer "
            "with $(a_0, a_1, \\dots, a_n)$.",
        ),
    )

    terms: Ends = dial(2, 7, "how many partial quotients", least=2, most=14)
    largest: Ends = dial(9, 12, "largest partial quotient", least=2, most=99)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.terms, difficulty))
        largest = base.steady(self.largest, difficulty)
        terms = [base.whole(rng, 1, largest) for _ in range(count - 1)]
        terms.append(base.whole(rng, 2, largest))
        # From the inside out: a whole number and the inverse of what comes after it.
        value, steps = Fraction(terms[-1]), []
        for term in reversed(terms[:-1]):
            after = term + 1 / value
            steps.append(f"${term} + {ratio_text(1 / value)} = {ratio_text(after)}$")
            value = after
        kind = rng.random()
        if kind < 0.4:
            return Drawn(
                ask="terms",
                values={"ratio": value},
                gold=gold.ordered(terms),
                steps=f"Take off the whole part and turn what is left upside down, again and "
                f"again: {', '.join(_taken_apart(value))}.",
            )
        inner = str(terms[-1])
        for term in reversed(terms[:-1]):
            inner = f"{term} + \\frac{{1}}{{{inner}}}"
        nested = kind >= 0.7 and count > 2
        return Drawn(
            ask="nested" if nested else "value",
            values={"first": terms[0], "others": terms[1:], "nested": inner},
            gold=gold.rational(value, lowest=nested),
            steps=f"From the inside out: {', '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "terms":
            # Euclid's algorithm: the quotients are the terms, and the last is above 1 by itself.
            above, below = values["ratio"].numerator, values["ratio"].denominator
            terms = []
            while below:
                terms.append(above // below)
                above, below = below, above % below
            return gold.ordered(terms)
        if ask == "value":
            terms = [values["first"], *values["others"]]
        else:
            terms = [int(found) for found in re.findall(r"\d+", values["nested"])]
            del terms[1::2]  # the ones above the bars
        # Convergents, from the first term on.
        before, top, lower, bottom = 1, terms[0], 0, 1
        for term in terms[1:]:
            before, top = top, term * top + before
            lower, bottom = bottom, term * bottom + lower
        return gold.rational(Fraction(top, bottom), lowest=ask == "nested")


def _taken_apart(value: Fraction) -> list[str]:
    steps = []
    while value.denominator > 1:
        whole = value.numerator // value.denominator
        rest = value - whole
        steps.append(
            f"${ratio_text(value)} = {whole} + {ratio_text(rest)}$ and "
            f"$1 \\div {ratio_text(rest)} = {ratio_text(1 / rest)}$"
        )
        value = 1 / rest
    return steps
