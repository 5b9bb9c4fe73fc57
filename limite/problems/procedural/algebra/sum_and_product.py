"""Symmetric expressions in two numbers from their sum and product."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra.writing import bracketed, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class SumAndProduct(Family):
    """Powers of two numbers, or of a number and its reciprocal, without finding them."""

    name = "sum-and-product"
    tag = "algebra/symmetric-expressions"
    wordings = Wordings(
        powers=(
            "Two complex numbers $x$ and $y$ satisfy $x + y = <sum>$ and $xy = <product>$. Find "
            "$x^{<power>} + y^{<power>}$.",
            "If $x + y = <sum>$ and $xy = <product>$ for complex numbers $x$ and $y$, what is "
            "$x^{<power>} + y^{<power>}$?",
        ),
        squares=(
            "Two complex numbers $x$ and $y$ satisfy $x + y = <sum>$ and $x^2 + y^2 = <squares>$. "
            "Find $x^{<power>} + y^{<power>}$.",
            "If $x + y = <sum>$ and $x^2 + y^2 = <squares>$ for complex numbers $x$ and $y$, what "
            "is $x^{<power>} + y^{<power>}$?",
        ),
        reciprocal=(
            "A complex number $x$ satisfies $x + \\frac{1}{x} = <sum>$. Find $x^{<power>} + "
            "\\frac{1}{x^{<power>}}$.",
            "If $x + \\frac{1}{x} = <sum>$, what is $x^{<power>} + \\frac{1}{x^{<power>}}$?",
        ),
    )

    size: Ends = dial(8, 14, "largest sum or product", least=3, most=50)
    power: Ends = dial(2, 7, "largest power", least=2, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size, highest = base.steady(self.size, difficulty), base.steady(self.power, difficulty)
        total, product = nonzero(rng, size), nonzero(rng, size)
        ask = base.chosen(rng, ("powers", "squares", "reciprocal"))
        power = base.whole(rng, 2, highest)
        values = {"sum": total, "power": power}
        if ask == "reciprocal":
            product = 1
            if abs(total) < 3:
                total = 3 if total > 0 else -3
            values["sum"] = total
            intro = "Write $s_n$ for $x^n + \\frac{1}{x^n}$. "
        else:
            intro = "Write $s_n$ for $x^n + y^n$. "
        if ask == "powers":
            values["product"] = product
        if ask == "squares":
            values["power"] = power = max(power, 3)
            squares = total * total - 2 * product
            values["squares"] = squares
            intro += (
                f"Squaring the sum gives ${total * total} = {squares} + 2xy$, so $xy = {product}$. "
            )
        steps = [total * total - 2 * product]
        text = (
            f"Squaring gives $s_2 = {bracketed(total)}^2 - 2 \\cdot {bracketed(product)} = "
            f"{steps[0]}$."
        )
        before, now = total, steps[0]
        factor = f" - {bracketed(product)}" if product != 1 else " - "
        for n in range(3, power + 1):
            after = total * now - product * before
            times = f"{factor} \\cdot " if product != 1 else factor
            text += (
                f" {'As' if n == 3 else 'Then'} $s_{n} = {bracketed(total)} \\cdot {bracketed(now)}"
                f"{times}{bracketed(before)} = {after}$"
                + (", multiplying by the sum." if n == 3 else ".")
            )
            before, now = now, after
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(now),
            steps=intro
            + text.replace("As $s_3", "Multiplying by the sum gives $s_3").replace(
                ", multiplying by the sum.", "."
            ),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The numbers are p + q and p - q with q^2 known: odd powers of q cancel.
        total, power = values["sum"], values["power"]
        if ask == "squares":
            product = Fraction(total * total - values["squares"], 2)
        else:
            product = Fraction(values.get("product", 1))
        half = Fraction(total, 2)
        square = half * half - product
        found, choose = Fraction(0), 1
        for k in range(power + 1):
            if k % 2 == 0:
                found += 2 * choose * half ** (power - k) * square ** (k // 2)
            choose = choose * (power - k) // (k + 1)
        return gold.integer(int(found)) if found.denominator == 1 else None
