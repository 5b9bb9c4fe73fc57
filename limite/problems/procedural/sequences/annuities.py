"""Savings plans and loans."""

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
class Annuities(Family):
    """Regular payments with interest: savings plans, and loans that are paid back."""

    name = "annuities"
    tag = "sequences/finance"
    wordings = Wordings(
        words={"who": ("Marta", "Jonas", "Sofia", "Karim", "Lena", "Oskar", "Yuki", "Amara")},
        saved=(
            "At the end of every year <who> puts $<payment>$ crowns into an account, which pays "
            "$<rate>$ percent interest a year on what was in it during the year. How many crowns "
            "are in the account right after payment number $<years>$? Round only the final result, "
            "to two decimals.",
            "An account earns $<rate>$ percent interest at the end of every year, on what was in "
            "it during the year, and then $<payment>$ crowns are paid in. It is empty at first. "
            "What does it hold, in crowns, right after $<years>$ such payments? Round only the "
            "final result, to two decimals.",
        ),
        debt=(
            "<who> borrows $<loan>$ crowns. At the end of every year, $<rate>$ percent interest is "
            "added to the debt, and then $<payment>$ crowns are paid back. How many crowns are "
            "still owed after $<years>$ payments? Round only the final result, to two decimals.",
            "A loan of $<loan>$ crowns carries $<rate>$ percent interest, added at the end of "
            "every year before a payment of $<payment>$ crowns is made. What is left of the debt, "
            "in crowns, after $<years>$ payments? Round only the final result, to two decimals.",
        ),
        payment=(
            "<who> borrows $<loan>$ crowns. At the end of every year, $<rate>$ percent interest is "
            "added to the debt, and then a payment is made, the same in every year. How large, in "
            "crowns, must it be so that the debt is gone with payment number $<years>$? Round the "
            "result to two decimals.",
            "A loan of $<loan>$ crowns with $<rate>$ percent interest, added at the end of each "
            "year, is paid back in $<years>$ equal payments at the ends of the years, just after "
            "the interest. Find the payment in crowns, rounded to two decimals.",
        ),
        length=(
            "<who> borrows $<loan>$ crowns. At the end of every year, $<rate>$ percent interest is "
            "added to the debt, and then $<payment>$ crowns are paid back (the last time only "
            "what is left). How many payments are made?",
            "A loan of $<loan>$ crowns carries $<rate>$ percent interest, added at the end of "
            "every year before a payment of $<payment>$ crowns, or of what is left if that is "
            "less. With which payment, counted from 1, is the debt gone?",
        ),
    )

    years: Ends = dial(2, 12, "largest number of payments", least=2, most=50)
    kinds: Ends = dial(2, 4, "how many kinds of question are asked", most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("saved", "debt", "length", "payment")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        years = base.whole(rng, 2, base.steady(self.years, difficulty))
        rate = base.whole(rng, 2, 9)
        factor = 1 + Fraction(rate, 100)
        shown, power = f"1.0{rate}", factor**years
        series = (power - 1) / (factor - 1)
        if ask == "saved":
            payment = 50 * base.whole(rng, 2, 60)
            answer = payment * series
            return Drawn(
                ask=ask,
                values={"payment": payment, "rate": rate, "years": years},
                gold=gold.decimal(_rounded(answer), decimals=2),
                steps=f"The payments grow by the factor ${shown}$ each year, so they are worth "
                f"${payment} \\cdot {_powers(shown, years)}$, a "
                f"geometric sum: ${payment} \\cdot \\frac{{{shown}^{{{years}}} - 1}}"
                f"{{0.0{rate}}} \\approx {_rounded(answer)}$.",
            )
        loan = 500 * base.whole(rng, 4, 80)
        if ask == "payment":
            answer = loan * power / series
            return Drawn(
                ask=ask,
                values={"loan": loan, "rate": rate, "years": years},
                gold=gold.decimal(_rounded(answer), decimals=2),
                steps=f"Carried to the end, the loan is worth ${loan} \\cdot {shown}^{{{years}}}$ "
                f"and the payments of $p$ are worth $p \\cdot \\frac{{{shown}^{{{years}}} - 1}}"
                f"{{0.0{rate}}}$. Both are equal for $p \\approx {_rounded(answer)}$.",
            )
        # Less than what would end the loan with the payment asked for, and more than interest.
        full = loan * power / series
        if ask == "debt":
            share = Fraction(base.whole(rng, 30, 95), 100)
            payment = max(int(full * share) // 10 * 10, 10)
            answer = loan * power - payment * series
            return Drawn(
                ask=ask,
                values={"loan": loan, "rate": rate, "payment": payment, "years": years},
                gold=gold.decimal(_rounded(answer), decimals=2),
                steps=f"Without payments the debt would be ${loan} \\cdot {shown}^{{{years}}} "
                f"\\approx {_rounded(loan * power)}$. The payments, with what interest they spare, "
                f"are worth ${payment} \\cdot {_powers(shown, years)} \\approx "
                f"{_rounded(payment * series)}$, which is taken away.",
            )
        payment = int(full) + 1
        count, left, rows = 0, Fraction(loan), []
        while left > 0:
            left = left * factor - payment
            count += 1
            rows.append(f"${_rounded(left)}$" if left > 0 else "nothing")
        return Drawn(
            ask=ask,
            values={"loan": loan, "rate": rate, "payment": payment},
            gold=gold.integer(count),
            steps=f"Each year the debt is multiplied by ${shown}$, and ${payment}$ is taken away. "
            f"What is left after the payments is about {', '.join(rows)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Year by year, in units that shrink by a hundred each time.
        step, years = 100 + values["rate"], values.get("years", 0)
        unit = 1
        if ask == "length":
            left, payment, count = values["loan"], values["payment"], 0
            if left * values["rate"] >= 100 * payment:
                return None
            while left > 0:
                unit *= 100
                left = left * step - payment * unit
                count += 1
            return gold.integer(count)
        start, payment = values.get("loan", 0), values.get("payment", 0)
        if ask == "payment":
            # The debt left by the payments 0 and 1 tells the rest: it falls evenly.
            with_none, with_one = start, start
            for _ in range(years):
                unit *= 100
                with_none = with_none * step
                with_one = with_one * step - unit
            return _cents(with_none, with_none - with_one)
        amount = -start
        for _ in range(years):
            unit *= 100
            amount = amount * step + payment * unit
        return _cents(amount if ask == "saved" else -amount, unit)


def _cents(above: int, below: int) -> Gold | None:
    cents, rest = divmod(100 * above, below)
    cents += 2 * rest >= below
    return gold.decimal(f"{cents // 100}.{cents % 100:02d}", decimals=2) if cents >= 0 else None


def _rounded(value: Fraction) -> str:
    """With two decimals; halves upwards."""
    cents = (200 * value.numerator + value.denominator) // (2 * value.denominator)
    return f"{cents // 100}.{cents % 100:02d}"


def _powers(factor: str, count: int) -> str:
    if count == 2:
        return f"(1 + {factor})"
    return f"(1 + {factor} + \\dots + {factor}^{{{count - 1}}})"
