"""Compound interest."""

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
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class CompoundInterest(Family):
    """Capital that grows or shrinks by a percentage every year, and how long that takes."""

    name = "compound-interest"
    tag = "sequences/finance"
    wordings = Wordings(
        words={
            "who": ("Marta", "Jonas", "Sofia", "Karim", "Lena", "Oskar", "Yuki", "Amara"),
            "thing": ("car", "machine", "boat", "tractor", "van"),
        },
        amount=(
            "<who> puts $<capital>$ crowns into an account that pays $<rate:decimal>$ percent "
            "interest a year, added to the capital at the end of every year. How many crowns are "
            "in the account after $<years>$ years? Round only the final result, to two decimals.",
            "A sum of $<capital>$ crowns earns $<rate:decimal>$ percent compound interest, once a "
            "year. What is it worth after $<years>$ years, in crowns? Round to two decimals at the "
            "end, not before.",
        ),
        loss=(
            "A <thing> costs $<capital>$ crowns and loses $<rate:decimal>$ percent of its value in "
            "every year. What is it worth after $<years>$ years, in crowns? Round only the final "
            "result, to two decimals.",
            "The value of a <thing>, at first $<capital>$ crowns, falls by $<rate:decimal>$ "
            "percent of its current value each year. Find its value after $<years>$ years in "
            "crowns. Round to two decimals at the end, not before.",
        ),
        years=(
            "<who> puts $<capital>$ crowns into an account that pays $<rate:decimal>$ percent "
            "interest at the end of every year, on the whole amount in it, and takes nothing out. "
            "After how many full years are there more than $<aim>$ crowns for the first time?",
            "A sum of $<capital>$ crowns grows by $<rate:decimal>$ percent at the end of each "
            "year, compounded. How many years does it take until it is more than $<aim>$ crowns?",
        ),
        present=(
            "How many crowns must <who> put into an account today that pays $<rate:decimal>$ "
            "percent interest at the end of every year, compounded, to have exactly $<aim>$ crowns "
            "after $<years>$ years? Round the result to two decimals.",
            "A debt of $<aim>$ crowns is due in $<years>$ years. With $<rate:decimal>$ percent "
            "compound interest a year, which sum in crowns settles it today? Round the result to "
            "two decimals.",
        ),
    )

    years: Ends = dial(2, 15, "largest number of years", least=2, most=60)
    kinds: Ends = dial(2, 4, "how many kinds of question are asked", most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("amount", "loss", "years", "present")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        years = base.whole(rng, 2, base.steady(self.years, difficulty))
        capital = 50 * base.whole(rng, 4, 200)
        rate = Fraction(base.whole(rng, 2, 16 if ask != "loss" else 40), 2)
        if rng.random() < 0.6:
            rate = Fraction(base.whole(rng, 2, 9 if ask != "loss" else 25))
        percent = -rate if ask == "loss" else rate
        factor = 1 + percent / 100
        shown = _decimal(factor)
        values: dict[str, Any] = {"capital": capital, "rate": rate, "years": years}
        if ask == "years":
            amount, before = Fraction(capital), Fraction(capital)
            for _ in range(years):
                before, amount = amount, amount * factor
            low, high = math.ceil(before), math.floor(amount)
            aim = low + int((high - low) * rng.random())
            if not before <= aim < amount:
                aim = low
            values["aim"] = aim
            return Drawn(
                ask=ask,
                values={"capital": capital, "rate": rate, "aim": aim},
                gold=gold.integer(years),
                steps=f"Every year multiplies by ${shown}$. After ${years - 1}$ "
                f"{'year' if years == 2 else 'years'} there are about ${_rounded(before)}$ crowns, "
                f"after ${years}$ years about ${_rounded(amount)}$, and ${aim}$ lies between.",
            )
        power = factor**years
        if ask == "present":
            aim = 100 * base.whole(rng, 5, 200)
            start = aim / power
            return Drawn(
                ask=ask,
                values={"aim": aim, "rate": rate, "years": years},
                gold=gold.decimal(_rounded(start), decimals=2),
                steps=f"Every year multiplies by ${shown}$, so the sum times ${shown}^{{{years}}}$ "
                f"is ${aim}$. Divide: ${aim} : {shown}^{{{years}}} \\approx {_rounded(start)}$.",
            )
        amount = capital * power
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.decimal(_rounded(amount), decimals=2),
            steps=f"Every year multiplies by ${shown}$, so after ${years}$ years it is "
            f"${capital} \\cdot {shown}^{{{years}}} \\approx {_rounded(amount)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Year by year, in whole numbers: 200 times a half percent more or less.
        halves = int(2 * Fraction(values["rate"]))
        step = 200 - halves if ask == "loss" else 200 + halves
        if ask == "years":
            capital, aim, years = values["capital"], values["aim"], 0
            while capital <= aim:
                capital, aim, years = capital * step, aim * 200, years + 1
                if years > 200:
                    return None
            return gold.integer(years)
        years = values["years"]
        above, below = (values["aim"] if ask == "present" else values["capital"]), 1
        for _ in range(years):
            if ask == "present":
                above, below = above * 200, below * step
            else:
                above, below = above * step, below * 200
        cents, rest = divmod(100 * above, below)
        cents += 2 * rest >= below
        return gold.decimal(f"{cents // 100}.{cents % 100:02d}", decimals=2)


def _rounded(value: Fraction) -> str:
    """With two decimals; halves upwards."""
    cents = (200 * value.numerator + value.denominator) // (2 * value.denominator)
    return f"{cents // 100}.{cents % 100:02d}"


def _decimal(value: Fraction) -> str:
    text = f"{int(value * 1000):04d}"
    return f"{text[:-3]}.{text[-3:]}".rstrip("0").rstrip(".")
