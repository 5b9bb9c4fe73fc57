"""Sums, differences and products without leaving a base other than ten."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold, digits_in
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class ArithmeticInBase(Family):
    """The sum, difference or product of two numbers in a base below ten."""

    name = "arithmetic-in-base"
    tag = "arithmetic/number-bases"
    wordings = Wordings(
        sum=(
            "Add $<first:word>_{<base>}$ and $<second:word>_{<base>}$, both written in base "
            "$<base>$. Give the sum in base $<base>$.",
            "In base $<base>$, what is $<first:word> + <second:word>$? Answer in base $<base>$.",
        ),
        difference=(
            "Subtract $<second:word>_{<base>}$ from $<first:word>_{<base>}$, both written in base "
            "$<base>$. Give the difference in base $<base>$.",
            "In base $<base>$, what is $<first:word> - <second:word>$? Answer in base $<base>$.",
        ),
        product=(
            "Multiply $<first:word>_{<base>}$ by $<second:word>_{<base>}$, both written in base "
            "$<base>$. Give the product in base $<base>$.",
            "In base $<base>$, what is $<first:word> \\cdot <second:word>$? Answer in base "
            "$<base>$.",
        ),
    )

    digits: Ends = dial(2, 6, "digits of the longer number", least=2, most=12)
    products: Ends = dial(0, 0.5, "share of products", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        radix = base.whole(rng, 2, 9)
        length = base.whole_near(rng, base.steady(self.digits, difficulty)) + (radix == 2)
        first = base.whole(rng, radix ** (length - 1), radix**length - 1)
        product = rng.random() < base.steady(self.products, difficulty)
        if product:
            shorter = max(2, (length + 1) // 2) + (radix == 2)
            second = base.whole(rng, radix ** (shorter - 1) + 1, radix**shorter - 1)
            ask, result = "product", first * second
            steps = _rows(first, second, radix)
        else:
            second = base.whole(rng, radix, first - 1) if first > radix + 1 else radix
            ask = "sum" if rng.random() < 0.5 or second == first else "difference"
            minus = ask == "difference"
            result = first - second if minus else first + second
            steps = _columns(first, second, radix, minus=minus)
        return Drawn(
            ask=ask,
            values={
                "first": digits_in(first, radix),
                "second": digits_in(second, radix),
                "base": radix,
            },
            gold=gold.in_base(result, radix),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Through values: the digits are read as numbers, which count in tens.
        radix = values["base"]
        first, second = int(values["first"], radix), int(values["second"], radix)
        if ask == "sum":
            return gold.in_base(first + second, radix)
        return gold.in_base(first - second if ask == "difference" else first * second, radix)


def _columns(first: int, second: int, radix: int, *, minus: bool) -> str:
    """Digit by digit from the right, with what is carried or borrowed."""
    upper, lower = digits_in(first, radix), digits_in(second, radix)
    lower = lower.rjust(len(upper), "0")
    carry, steps = 0, []
    for one, other in zip(reversed(upper), reversed(lower), strict=True):
        column = f"{one} {'-' if minus else '+'} {other}"
        total = int(one) - int(other) - carry if minus else int(one) + int(other) + carry
        carried = f" {'-' if minus else '+'} {carry}" if carry else ""
        carry = int(total < 0) if minus else total // radix
        digit = total + radix * carry if minus else total - radix * carry
        moved = f" ({'borrow' if minus else 'carry'} ${carry}$)" if carry else ""
        steps.append(f"${column}{carried}$ gives the digit ${digit}${moved}")
    end = f", and the last carry is ${carry}$" if carry else ""
    return f"From the right, in base ${radix}$: {', '.join(steps)}{end}."


def _rows(first: int, second: int, radix: int) -> str:
    """One row for each digit of the second number, then their sum."""
    written, rows = digits_in(first, radix), []
    for place, digit in enumerate(reversed(digits_in(second, radix))):
        row = first * int(digit) * radix**place
        zeros = f" with ${place}$ zeros appended" if place > 1 else " with a zero appended"
        if row:
            rows.append(
                f"${written} \\cdot {digit}${zeros if place else ''} is ${digits_in(row, radix)}$"
            )
    total = " The rows add up to the product." if len(rows) > 1 else ""
    return f"In base ${radix}$, {', '.join(rows)}.{total}"
