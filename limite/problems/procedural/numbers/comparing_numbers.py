"""The largest or smallest of several numbers in different forms."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.options import LETTERS, options_text, read_options
from limite.problems.procedural.wording import Wordings

_FRACTION = re.compile(r"\$\\frac\{(\d+)\}\{(\d+)\}\$")
_POWER = re.compile(r"\$(\d+)\^\{(\d+)\}\$")
_ROOT = re.compile(r"\$(\d*)\\sqrt\{(\d+)\}\$")


@attrs.frozen(kw_only=True)
class ComparingNumbers(Family):
    """The largest or smallest of several fractions, roots or powers."""

    name = "comparing-numbers"
    tag = "arithmetic/comparison"
    wordings = Wordings(
        largest=(
            "Which of these numbers is the largest? <options:text>. Answer with its letter.",
            "Choose the greatest number: <options:text>. Give the letter.",
        ),
        smallest=(
            "Which of these numbers is the smallest? <options:text>. Answer with its letter.",
            "Choose the least number: <options:text>. Give the letter.",
        ),
    )

    options: Ends = dial(3, 5, "how many numbers", least=2, most=8)
    size: Ends = dial(10, 60, "largest number in a fraction", least=8, most=1000)
    turned: Ends = dial(0, 0.6, "share of powers and roots", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.options, difficulty))
        size = base.steady(self.size, difficulty)
        make = _fractions
        if rng.random() < base.steady(self.turned, difficulty):
            make = base.chosen(rng, (_powers, _roots))
        texts, worth, shown = make(rng, count, size)
        largest = rng.random() < 0.5
        best = (max if largest else min)(range(count), key=lambda place: worth[place])
        options = dict(zip(LETTERS, texts, strict=False))
        return Drawn(
            ask="largest" if largest else "smallest",
            values={"options": options_text(texts)},
            gold=gold.choice(LETTERS[best], options),
            steps=f"{shown} The {'largest' if largest else 'smallest'} of these belongs to "
            f"{texts[best]}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Every number in decimals, with 30 of them.
        options = read_options(values["options"])
        worth = {letter: _decimals(text) for letter, text in options.items()}
        best = (max if ask == "largest" else min)(worth.values())
        found = [letter for letter, each in worth.items() if each == best]
        return gold.choice(found[0], options) if len(found) == 1 else None


def _decimals(text: str) -> int:
    match = _FRACTION.fullmatch(text)
    if match:
        return 10**30 * int(match[1]) // int(match[2])
    match = _POWER.fullmatch(text)
    if match:
        product = 10**30
        for _ in range(int(match[2])):
            product *= int(match[1])
        return product
    match = _ROOT.fullmatch(text)
    if match:
        return int(match[1] or 1) * math.isqrt(int(match[2]) * 10**60)
    raise ValueError(f"no number: {text!r}")


Made = tuple[list[str], list[int], str]
"""Numbers as texts, whole numbers in the same order of size, and how these were found."""


def _fractions(rng: random.Random, count: int, size: float) -> Made:
    pairs: list[tuple[int, int]] = []
    aim = base.whole(rng, 2, 8)
    while len(pairs) < count:
        below = base.whole(rng, 3, size)
        above = max(1, min(below - 1, below * aim // 10 + base.whole(rng, 0, 2)))
        while any(above * other == below * one for one, other in pairs):
            below += 1
        pairs.append((above, below))
    common = math.lcm(*(below for _, below in pairs))
    worth = [above * (common // below) for above, below in pairs]
    return (
        [f"$\\frac{{{above}}}{{{below}}}$" for above, below in pairs],
        worth,
        f"Over the common denominator ${common}$ the numerators are "
        f"${', '.join(map(str, worth))}$.",
    )


def _powers(rng: random.Random, count: int, size: float) -> Made:
    """Powers that are near each other: each base has the exponent that comes near one size."""
    aim = base.whole(rng, 30, 30 + size)  # in bits
    bases = base.distinct(rng, count, 2, 12)
    pairs, worth = [], []
    for each in bases:
        exponent = 2
        while (each ** (exponent + 1)).bit_length() <= aim:
            exponent += 1
        exponent += rng.random() < 0.3
        while each**exponent in worth:
            exponent += 1
        pairs.append((each, exponent))
        worth.append(each**exponent)
    shown = ", ".join(f"${each}^{{{exponent}}} = {each**exponent}$" for each, exponent in pairs)
    return [f"${each}^{{{exponent}}}$" for each, exponent in pairs], worth, f"Written out, {shown}."


def _roots(rng: random.Random, count: int, size: float) -> Made:
    aim = base.whole(rng, 40, 100 + 20 * size)
    pairs: list[tuple[int, int]] = []
    squares: list[int] = []
    while len(pairs) < count:
        factor = base.whole(rng, 1, 6)
        inside = max(2, aim // (factor * factor) + base.whole(rng, 0, 6) - 3)
        while factor * factor * inside in squares or math.isqrt(inside) ** 2 == inside:
            inside += 1
        pairs.append((factor, inside))
        squares.append(factor * factor * inside)
    return (
        [f"${factor if factor > 1 else ''}\\sqrt{{{inside}}}$" for factor, inside in pairs],
        squares,
        f"The squares of these numbers are ${', '.join(map(str, squares))}$.",
    )
