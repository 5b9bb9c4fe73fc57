"""Decimals that repeat, and the fractions they stand for."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RepeatingDecimals(Family):
    """Fractions of repeating decimals, and the digits and periods of fractions."""

    name = "repeating-decimals"
    tag = "arithmetic/decimals"
    wordings = Wordings(
        fraction=(
            "Write $<decimal:text>$ as a fraction in lowest terms. The line marks the digits that "
            "repeat without end.",
            "Which fraction in lowest terms is equal to $<decimal:text>$, where the digits under "
            "the line repeat for ever?",
        ),
        digit=(
            "Which digit stands at place $<place>$ after the decimal point of $<ratio:ratio>$?",
            "The fraction $<ratio:ratio>$ is written as a decimal. What is digit number $<place>$ "
            "after the point?",
        ),
        period=(
            "How many digits does the shortest repeating block have in the decimal expansion of "
            "$<ratio:ratio>$?",
            "What is the length of the period of $<ratio:ratio>$ as a decimal (the smallest number "
            "of digits that repeat without end)?",
        ),
    )

    digits: Ends = dial(1, 4, "how many digits repeat", most=6)
    before: Ends = dial(0.2, 1.6, "how many digits come before them", least=0, most=3)
    denominator: Ends = dial(15, 100, "largest denominator", least=12, most=1000)
    turned: Ends = dial(0.2, 0.6, "share that asks for digits or periods", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        if rng.random() < base.steady(self.turned, difficulty):
            return _expansion(rng, base.steady(self.denominator, difficulty), difficulty)
        repeated = base.whole_near(rng, base.steady(self.digits, difficulty))
        start = base.whole_near(rng, base.steady(self.before, difficulty))
        block = base.whole(rng, 1, 10**repeated - 2)
        front = base.whole(rng, 0, 10**start - 1)
        whole = base.whole(rng, 0, 3) if rng.random() < 0.5 else 0
        first = str(front).rjust(start, "0") if start else ""
        again = str(block).rjust(repeated, "0")
        shift, longer = 10**start, 10 ** (start + repeated)
        above, below = whole * longer + front * 10**repeated + block, whole * shift + front
        front_text = str(shift) if start else ""
        return Drawn(
            ask="fraction",
            values={"decimal": f"{whole}.{first}\\overline{{{again}}}"},
            gold=gold.rational(Fraction(above - below, longer - shift), lowest=True),
            steps=f"With $x$ for the number, ${longer}x$ and ${front_text}x$ have the same digits "
            f"after the point, so ${longer}x - {front_text}x = {above} - {below} = "
            f"{above - below}$ and $x = \\frac{{{above - below}}}{{{longer - shift}}}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "fraction":
            # The simplest fraction near enough to many digits.
            front, _, block = values["decimal"][:-1].partition("\\overline{")
            number = Fraction(front + block * (60 // len(block) + 1))
            places = len(front.partition(".")[2]) + len(block)
            return gold.rational(number.limit_denominator(10**places), lowest=True)
        above, below = values["ratio"].numerator, values["ratio"].denominator
        if ask == "digit":
            return gold.integer(10 * (above * pow(10, values["place"] - 1, below) % below) // below)
        # Fermat: the period is the order of ten to what is left without twos and fives.
        for prime in (2, 5):
            while below % prime == 0:
                below //= prime
        if below == 1:
            return None
        order = 1
        while pow(10, order, below) != 1:
            order += 1
        return gold.integer(order)


def _expansion(rng: random.Random, largest: float, difficulty: float) -> Drawn:
    for _ in range(20):
        below = base.whole(rng, 7, largest)
        above = base.whole(rng, 1, below - 1)
        ratio = Fraction(above, below)
        rest, rests, digits = ratio.numerator, [], ""
        while rest and rest not in rests:
            rests.append(rest)
            digits += str(10 * rest // ratio.denominator)
            rest = 10 * rest % ratio.denominator
        if rest and (difficulty < 0.3 or len(digits) > 2) and len(digits) < 50:
            break
    else:
        ratio, rests, digits, rest = Fraction(1, 7), [1, 3, 2, 6, 4, 5], "142857", 1
    start = rests.index(rest)
    length = len(digits) - start
    steps = (
        f"Long division gives the digits ${digits}$, and then the remainder ${rest}$ comes again, "
        f"so the last ${length}$ of these digits repeat"
        if length > 1
        else f"Long division gives the digits ${digits}$, and then the remainder ${rest}$ comes "
        f"again, so the digit ${digits[-1]}$ repeats"
    )
    if rng.random() < 0.4:
        return Drawn(
            ask="period", values={"ratio": ratio}, gold=gold.integer(length), steps=f"{steps}."
        )
    place = base.whole(rng, start + 3, 20 + 300 * difficulty)
    where = start + (place - 1 - start) % length
    return Drawn(
        ask="digit",
        values={"ratio": ratio, "place": place},
        gold=gold.integer(int(digits[where])),
        steps=f"{steps}. Leaving out whole repetitions, place ${place}$ has the digit of place "
        f"${where + 1}$.",
    )
