"""Products, sums of products and quotients of decimal numbers."""

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
from limite.problems.procedural.wording import Wordings, decimal_text

_FACTORS = re.compile(r"([-+]?) ?([0-9.]+) \\cdot ([0-9.]+)")


@attrs.frozen(kw_only=True)
class DecimalProducts(Family):
    """Decimal numbers multiplied, added and divided exactly."""

    name = "decimal-products"
    tag = "arithmetic/decimals"
    wordings = Wordings(
        words={"good": ("ribbon", "cable", "rope", "chain", "pipe")},
        products=(
            "The exact value of $<sum:text>$ is $\\frac{N}{10^{<places>}}$ with an integer $N$. "
            "Find $N$.",
            "For which integer $N$ is $<sum:text> = \\frac{N}{10^{<places>}}$?",
        ),
        quotient=(
            "Divide $<dividend:decimal>$ by $<divisor:decimal>$. Give the exact quotient.",
            "By which number must $<divisor:decimal>$ be multiplied to give $<dividend:decimal>$?",
            "A piece of <good> weighs $<dividend:decimal>$ kilograms, and one metre of it weighs "
            "$<divisor:decimal>$ kilograms. How many metres long is the piece? Give the exact "
            "length.",
        ),
    )

    digits: Ends = dial(1.5, 4, "digits of every number", least=1, most=9)
    products: Ends = dial(1, 3, "how many products are added", most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        digits = base.steady(self.digits, difficulty)
        if rng.random() < 0.35:
            first, places = _number(rng, digits)
            second, more = _number(rng, digits)
            product = Fraction(first * second, 10 ** (places + more))
            divisor = Fraction(second, 10**more)
            wide = product * 10**more
            return Drawn(
                ask="quotient",
                values={"dividend": product, "divisor": divisor},
                gold=gold.terminating(Fraction(first, 10**places)),
                steps=f"Multiply both numbers by ${10**more}$, so that the divisor is whole: "
                f"${decimal_text(wide)} \\div {second}$. Since ${first} \\cdot {second} = "
                f"{first * second}$, the quotient is ${first} \\div {10**places}$.",
            )
        count = base.whole_near(rng, base.steady(self.products, difficulty))
        text, steps, total, finest = "", [], 0, 0
        shifted: list[tuple[int, int]] = []
        for place in range(count):
            first, places = _number(rng, digits)
            second, more = _number(rng, digits)
            minus = place > 0 and rng.random() < 0.4
            left, right = Fraction(first, 10**places), Fraction(second, 10**more)
            sign = (" - " if minus else " + ") if place else ""
            text += f"{sign}{decimal_text(left)} \\cdot {decimal_text(right)}"
            written = decimal_text(Fraction(first * second, 10 ** (places + more)))
            steps.append(
                f"${first} \\cdot {second} = {first * second}$, so "
                f"${decimal_text(left)} \\cdot {decimal_text(right)} = {written}$"
            )
            shifted.append((-first * second if minus else first * second, places + more))
            finest = max(finest, places + more)
        for product_digits, places in shifted:
            total += product_digits * 10 ** (finest - places)
        found = decimal_text(Fraction(total, 10**finest))
        adding = (
            "This"
            if count == 1
            else f"Added with their signs the products give ${found}$, and this"
        )
        return Drawn(
            ask="products",
            values={"sum": text, "places": finest},
            gold=gold.integer(total),
            steps=f"Multiply without the points, then set them: {'; '.join(steps)}. {adding} is "
            f"multiplied by $10^{{{finest}}}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "quotient":
            return gold.terminating(Fraction(values["dividend"]) / values["divisor"])
        total = Fraction(0)
        for sign, left, right in _FACTORS.findall(values["sum"]):
            product = Fraction(left) * Fraction(right)
            total += -product if sign == "-" else product
        scaled = total * 10 ** values["places"]
        return gold.integer(int(scaled)) if scaled.denominator == 1 else None


def _number(rng: random.Random, digits: float) -> tuple[int, int]:
    """Digits that end in no zero, and how many of them stand after the point."""
    size = base.whole_near(rng, digits)
    number = base.whole(rng, max(2, 10 ** (size - 1)), 10**size - 1)
    if number % 10 == 0:
        number += 1
    return number, base.whole(rng, 1, min(size + 1, 3))
