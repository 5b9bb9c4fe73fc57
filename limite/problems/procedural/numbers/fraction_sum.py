"""Sums and differences of fractions, and what is left of a whole."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_NAMES = ("Ana", "Luc", "Mira", "Tom", "Ines", "Jan", "Sara", "Omar")
_TERM = re.compile(r"([-+]?) ?([0-9]*)\\frac\{([0-9]+)\}\{([0-9]+)\}")


@attrs.frozen(kw_only=True)
class FractionSum(Family):
    """Fractions and mixed numbers added and taken away, or taken from a whole."""

    name = "fraction-sum"
    tag = "arithmetic/fractions"
    wordings = Wordings(
        words={"name": _NAMES},
        sum=(
            "Compute $<sum:text>$. Give the result as a fraction in lowest terms, or as a whole "
            "number.",
            "What is $<sum:text>$ in lowest terms?",
            "Write $<sum:text>$ as a single fraction in lowest terms (or as a whole number).",
        ),
        left=(
            "<name> uses these parts of the same roll of cloth, one after the other, each a part "
            "of the whole roll: $<parts:ratios>$. What fraction of the roll is left? Answer in "
            "lowest terms.",
            "On successive days, these parts of all the pages of a book are read: "
            "$<parts:ratios>$. Which fraction of the pages is still unread? Give it in lowest "
            "terms.",
        ),
    )

    terms: Ends = dial(2, 5, "how many fractions", least=2, most=8)
    denominator: Ends = dial(8, 36, "largest denominator", least=6, most=200)
    mixed: Ends = dial(0, 0.5, "share of mixed numbers in sums", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.terms, difficulty))
        largest = base.steady(self.denominator, difficulty)
        if rng.random() < 0.25:
            return _left(rng, count, largest)
        mixed = base.steady(self.mixed, difficulty)
        text, tops, bottoms = "", [], []
        for place in range(count):
            bottom = base.whole(rng, 3, largest)
            top = _prime_to(rng, bottom)
            ones = base.whole(rng, 1, 9) if rng.random() < mixed else 0
            minus = place > 0 and rng.random() < 0.5
            sign = (" - " if minus else " + ") if place else ""
            text += f"{sign}{ones or ''}\\frac{{{top}}}{{{bottom}}}"
            tops.append((top + ones * bottom) * (-1 if minus else 1))
            bottoms.append(bottom)
        common = math.lcm(*bottoms)
        wide = [top * (common // bottom) for top, bottom in zip(tops, bottoms, strict=True)]
        shared = math.gcd(sum(wide), common)
        reduced = f" Reduce by the common factor ${shared}$." if shared > 1 else ""
        return Drawn(
            ask="sum",
            values={"sum": text},
            gold=gold.rational(Fraction(sum(wide), common), lowest=True),
            steps=f"Over the common denominator ${common}$ the numerators are "
            f"${_sum_text(wide)} = {sum(wide)}$.{reduced}",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "left":
            rest = Fraction(1)
            for part in values["parts"]:
                rest -= part
            return gold.rational(rest, lowest=True)
        # Whole numbers apart from fractions, and one fraction after the other.
        ones, top, bottom = 0, 0, 1
        for sign, whole, above, below in _TERM.findall(values["sum"]):
            factor = -1 if sign == "-" else 1
            ones += factor * int(whole or 0)
            top, bottom = top * int(below) + factor * int(above) * bottom, bottom * int(below)
        return gold.rational(ones + Fraction(top, bottom), lowest=True)


def _left(rng: random.Random, count: int, largest: float) -> Drawn:
    """Parts of a whole that leave something: each is drawn smaller than what is left."""
    parts: list[Fraction] = []
    used = Fraction(0)
    for place in range(count):
        bottom = base.whole(rng, 3, largest)
        most = (1 - used) * bottom / (count - place)
        top = base.whole(rng, 1, max(1, most.numerator // most.denominator))
        if Fraction(top, bottom) >= 1 - used:  # too small a rest for this denominator
            bottom = 2 * (1 - used).denominator * (count - place)
            top = 1
        parts.append(Fraction(top, bottom))
        used += parts[-1]
    common = math.lcm(*(part.denominator for part in parts))
    tops = [part.numerator * (common // part.denominator) for part in parts]
    return Drawn(
        ask="left",
        values={"parts": parts},
        gold=gold.rational(Fraction(common - sum(tops), common), lowest=True),
        steps=f"In parts of $\\frac{{1}}{{{common}}}$ of the whole, ${_sum_text(tops)} = "
        f"{sum(tops)}$ are used and ${common} - {sum(tops)} = {common - sum(tops)}$ are left.",
    )


def _prime_to(rng: random.Random, bottom: int) -> int:
    top = base.whole(rng, 1, bottom - 1)
    while math.gcd(top, bottom) > 1:  # ends at 1 at the latest
        top -= 1
    return top


def _sum_text(numbers: list[int]) -> str:
    return str(numbers[0]) + "".join(f" {'-' if n < 0 else '+'} {abs(n)}" for n in numbers[1:])
