"""Sums of numbers times powers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ArithmeticoGeometric(Family):
    """A sum whose terms are an arithmetic sequence times a geometric one."""

    name = "arithmetico-geometric"
    tag = "sequences/sums"
    wordings = Wordings(
        finite=(
            "Compute $\\sum_{k=1}^{<high>} (<terms:text>) \\cdot <base>^k$.",
            "Find the value of $\\sum_{k=1}^{<high>} (<terms:text>) \\cdot <base>^k$.",
        ),
        infinite=(
            "Find the sum of the infinite series $\\sum_{k=1}^{\\infty} (<terms:text>) \\cdot "
            "\\left(<ratio:ratio>\\right)^k$.",
            "To which value does the series $\\sum_{k=1}^{\\infty} (<terms:text>) \\cdot "
            "\\left(<ratio:ratio>\\right)^k$ converge?",
        ),
    )

    high: Ends = dial(4, 12, "most terms of a finite sum", least=3, most=30)
    size: Ends = dial(3, 8, "largest coefficient", least=2, most=50)
    infinite: Ends = dial(0.2, 0.7, "share of infinite series", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        a, b = base.whole(rng, 1, size), base.whole(rng, 1, size)
        if rng.random() < 0.3:
            b = -b
        text = polynomials.latex(polynomials.polynomial((b, a)), "k")
        if rng.random() < base.steady(self.infinite, difficulty):
            below = base.whole(rng, 2, 2 + size / 2)
            ratio = Fraction(base.whole(rng, 1, below - 1), below)
            if rng.random() < 0.35:
                ratio = -ratio
            powers = ratio / (1 - ratio)
            counted = powers / (1 - ratio)
            total = a * counted + b * powers
            r = ratio_text(ratio)
            rest = f" {base.signed(b)[0]} {abs(b)} \\cdot {_bracketed(powers)}"
            return Drawn(
                ask="infinite",
                values={"terms": text, "ratio": ratio},
                gold=gold.rational(total),
                steps=f"With $r = {r}$ the powers $r + r^2 + \\dots$ add up to "
                f"$\\frac{{r}}{{1 - r}} = {ratio_text(powers)}$. In $r + 2r^2 + 3r^3 + \\dots$ "
                f"each power starts such a sum once more, so it is $\\frac{{r}}{{(1 - r)^2}} = "
                f"{ratio_text(counted)}$. Together: ${a} \\cdot {_bracketed(counted)}{rest}$.",
            )
        high, root = base.whole(rng, 4, base.steady(self.high, difficulty)), base.whole(rng, 2, 4)
        powers_sum = (root ** (high + 1) - root) // (root - 1)
        # (r - 1) T = n r^(n+1) - (r + ... + r^n)
        counted_sum = (high * root ** (high + 1) - powers_sum) // (root - 1)
        total_sum = a * counted_sum + b * powers_sum
        rest = f" {base.signed(b)[0]} {abs(b)} \\cdot {powers_sum}"
        left = f"{root}T - T" if root > 2 else "2T - T"
        return Drawn(
            ask="finite",
            values={"terms": text, "high": high, "base": root},
            gold=gold.integer(total_sum),
            steps=f"The powers ${root} + \\dots + {root}^{{{high}}}$ add up to ${powers_sum}$. For "
            f"$T = 1 \\cdot {root} + 2 \\cdot {root}^2 + \\dots + {high} \\cdot {root}^{{{high}}}$ "
            f"shifting gives ${left} = {high} \\cdot {root}^{{{high + 1}}} - {powers_sum}$, so "
            f"$T = {counted_sum}$. Together: ${a} \\cdot {counted_sum}{rest}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        b, a = (*polynomials.read(values["terms"], "k"), 0, 0)[:2]
        if ask == "finite":
            root = values["base"]
            total, power = 0, 1
            for k in range(1, values["high"] + 1):
                power *= root
                total += int(a * k + b) * power
            return gold.integer(total)
        # The value is linear in a and b, and dropping the first term shifts b by a:
        # V(a, b) = r ((a + b) + V(a, a + b)), and V(a, b) = u a + v b.
        ratio = Fraction(values["ratio"])
        if abs(ratio) >= 1:
            return None
        v = ratio / (1 - ratio)
        u = ratio * (1 + v) / (1 - ratio)
        return gold.rational(u * a + v * b)


def _bracketed(value: Fraction) -> str:
    text = ratio_text(value)
    return f"\\left({text}\\right)" if value < 0 else text
