"""Quotients and roots rounded to some decimals."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, decimal_text


@attrs.frozen(kw_only=True)
class RoundedValues(Family):
    """Quotients, square roots and cube roots to a stated number of decimals."""

    name = "rounded-values"
    tag = "arithmetic/rounding"
    wordings = Wordings(
        words={"thing": ("rope", "ribbon", "cable", "wire")},
        quotient=(
            "Compute $<number> \\div <divisor>$, rounded to $<decimals>$ decimal places.",
            "A <thing> of $<number>$ metres is cut into $<divisor>$ equal pieces. How long is each "
            "piece in metres, rounded to $<decimals>$ decimal places?",
        ),
        square=(
            "Compute $\\sqrt{<number>}$, rounded to $<decimals>$ decimal places.",
            "A square has an area of $<number>$ square metres. How long is its side in metres, "
            "rounded to $<decimals>$ decimal places?",
        ),
        cube=(
            "Compute $\\sqrt[3]{<number>}$, rounded to $<decimals>$ decimal places.",
            "A cube has a volume of $<number>$ cubic metres. How long is its edge in metres, "
            "rounded to $<decimals>$ decimal places?",
        ),
    )

    decimals: Ends = dial(2, 4, "how many decimal places", least=2, most=8)
    largest: Ends = dial(60, 5000, "largest number", least=20)
    roots: Ends = dial(0, 0.8, "share of roots", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        decimals = base.whole_near(rng, base.steady(self.decimals, difficulty))
        number = base.whole(rng, 11, base.slow_start(self.largest, difficulty))
        values = {"number": number, "decimals": decimals}
        if rng.random() >= base.steady(self.roots, difficulty):
            divisor = base.whole(rng, 3, 9 + 90 * difficulty)
            while 2 * number * 10**decimals % divisor == 0:  # nothing to round, or a tie
                divisor += 1
            rounded, rest = divmod(number * 10**decimals, divisor)
            below = _decimal(rounded, decimals)
            rounded += 2 * rest > divisor
            return Drawn(
                ask="quotient",
                values={**values, "divisor": divisor},
                gold=_gold(rounded, decimals),
                steps=f"${below} \\cdot {divisor}$ is ${number}$ less a rest of "
                f"${_decimal(rest, decimals)}$, which is {_half(2 * rest - divisor)} of "
                f"${_decimal(divisor, decimals)}$.",
            )
        power = 2 if rng.random() < 0.6 else 3
        low = _root(number, power)
        if low**power == number:
            number += 1
        rounded = _root(number * 10 ** (power * decimals), power)
        half = (2 * rounded + 1) ** power - 2**power * number * 10 ** (power * decimals)
        below = _decimal(rounded, decimals)
        middle = f"{below}5"
        exact = decimal_text(Fraction(2 * rounded + 1, 2 * 10**decimals) ** power)
        rounded += half < 0
        return Drawn(
            ask="square" if power == 2 else "cube",
            values={**values, "number": number},
            gold=_gold(rounded, decimals),
            steps=f"The root lies between ${below}$ and the next decimal of ${decimals}$ places. "
            f"Half-way, ${middle}^{power} = {exact}$ is {'less' if half < 0 else 'more'} than "
            f"${number}$, so it is rounded {'up' if half < 0 else 'down'}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        number, decimals = values["number"], values["decimals"]
        if ask == "quotient":
            exact = Fraction(number, values["divisor"]) * 10**decimals
            return _gold(round(exact), decimals) if exact.denominator > 2 else None
        # Halves of units of the last place, halved down to the interval that holds the root.
        power = 2 if ask == "square" else 3
        target = number * (2 * 10**decimals) ** power
        low, high = 0, 2 * number * 10**decimals
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**power <= target else (low, middle)
        return _gold((low + 1) // 2, decimals) if low**power < target else None


def _gold(digits: int, decimals: int) -> Gold:
    written = _decimal(digits, decimals)
    # Exactly this number: within half of its last place lies what was to be rounded, as well.
    return attrs.evolve(gold.rational(Fraction(digits, 10**decimals)), latex=written)


def _decimal(digits: int, decimals: int) -> str:
    text = str(digits).rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}"


def _half(excess: int) -> str:
    return "more than half" if excess > 0 else "less than half"


def _root(number: int, power: int) -> int:
    """The whole part of a square or cube root, by Newton's steps from above."""
    if power == 2:
        return math.isqrt(number)
    guess = 1 << (number.bit_length() // 3 + 1)
    while guess**3 > number:
        guess = (2 * guess + number // guess**2) // 3
    return guess
