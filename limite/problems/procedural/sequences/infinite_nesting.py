"""Continued fractions and roots that go on forever."""

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
class InfiniteNesting(Family):
    """The exact value of a continued fraction or of nested roots that go on forever."""

    name = "infinite-nesting"
    tag = "sequences/limits"
    wordings = Wordings(
        periodic=(
            "A positive number $x$ satisfies $x = <a> + \\frac{1}{<b> + \\frac{1}{x}}$. Find $x$ "
            "exactly.",
            "Find the exact value of the infinite continued fraction $<a> + \\frac{1}{<b> + "
            "\\frac{1}{<a> + \\frac{1}{<b> + \\dots}}}$, in which $<a>$ and $<b>$ take turns "
            "forever.",
        ),
        roots=(
            "Find the exact value of $\\sqrt{<a> + \\sqrt{<a> + \\sqrt{<a> + \\dots}}}$, with "
            "infinitely many roots.",
            "A positive number $x$ satisfies $x = \\sqrt{<a> + x}$. Find $x$ exactly.",
        ),
        difference=(
            "Find the exact value of $\\sqrt{<a> - \\sqrt{<a> - \\sqrt{<a> - \\dots}}}$, with "
            "infinitely many roots.",
            "A positive number $x$ satisfies $x = \\sqrt{<a> - x}$. Find $x$ exactly.",
        ),
        scaled=(
            "Find the exact value of $\\sqrt{<a> + <b>\\sqrt{<a> + <b>\\sqrt{<a> + \\dots}}}$, "
            "with infinitely many roots.",
            "A positive number $x$ satisfies $x = \\sqrt{<a> + <b>x}$. Find $x$ exactly.",
        ),
    )

    size: Ends = dial(30, 400, "largest number", least=5, most=2000)
    kinds: Ends = dial(2, 4, "how many kinds of question are asked", most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("roots", "difference", "scaled", "periodic")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        size = base.steady(self.size, difficulty)
        if ask == "periodic":
            a, b = base.whole(rng, 1, 3 + size / 16), base.whole(rng, 1, 3 + size / 16)
            if a == b:
                a += 1
            inside = a * a * b * b + 4 * a * b
            return Drawn(
                ask=ask,
                values={"a": a, "b": b},
                gold=_surd(a * b, inside, 2 * b),
                steps=f"$x = {a} + \\frac{{1}}{{{b} + \\frac{{1}}{{x}}}} = {a} + \\frac{{x}}"
                f"{{{_letter(b)}x + 1}}$, so ${_letter(b)}x^2 - {_letter(a * b)}x - {a} = 0$. The "
                f"positive root is $\\frac{{{a * b} + \\sqrt{{{inside}}}}}{{{2 * b}}}$.",
            )
        a = base.whole(rng, 2, size)
        if rng.random() < 0.3:  # a whole result
            root = base.whole(rng, 2, 2 + size / 8)
            a = root * (root - 1) if ask == "roots" else root * (root + 1)
        b = base.whole(rng, 2, 9) if ask == "scaled" else -1 if ask == "difference" else 1
        inside = b * b + 4 * a
        sign = "+" if b < 0 else "-"
        return Drawn(
            ask=ask,
            values={"a": a} | ({"b": b} if ask == "scaled" else {}),
            gold=_surd(b, inside, 2),
            steps=f"The number satisfies $x = \\sqrt{{{a} {'-' if b < 0 else '+'} "
            f"{_letter(abs(b))}x}}$, so $x^2 {sign} {_letter(abs(b))}x - {a} = 0$. The positive "
            f"root is $\\frac{{{b} + \\sqrt{{{inside}}}}}{{2}}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The number itself to many digits, from many layers; then the surd that it is.
        unit = 10**40
        a, b = values["a"], values.get("b", -1 if ask == "difference" else 1)
        x = unit * a
        if ask == "periodic":
            above, below = 1, 1
            for _ in range(70):  # a + 1 / (b + 1 / x)
                above, below = a * (b * above + below) + above, b * above + below
            x, divisor = unit * above // below, 2 * b
        else:
            divisor = 2
            for _ in range(140):
                x = math.isqrt(unit * (a * unit + b * x))
        for whole in range(-1, (a * b if ask == "periodic" else b) + 1):
            root = divisor * x - whole * unit
            square = root * root // unit
            inside = (square + unit // 2) // unit
            if root > 0 and abs(square - inside * unit) < 10**25:
                return _surd(whole, inside, divisor)
        return None


def _letter(value: int) -> str:
    return "" if value == 1 else str(value)


def _surd(whole: int, inside: int, below: int) -> Gold:
    """(whole + sqrt(inside)) / below with a root as small as it gets."""
    factor = 1
    for step in range(math.isqrt(inside), 1, -1):
        if inside % (step * step) == 0:
            factor, inside = step, inside // (step * step)
            break
    common = math.gcd(whole, factor, below)
    whole, factor, below = whole // common, factor // common, below // common
    if inside == 1:
        value = Fraction(whole + factor, below)
        return gold.rational(value)
    root = f"sqrt({inside})" if factor == 1 else f"{factor}*sqrt({inside})"
    shown = f"{_letter(factor)}\\sqrt{{{inside}}}"
    if below == 1:
        return gold.expression(f"{whole}+{root}", f"{whole} + {shown}")
    return gold.expression(f"({whole}+{root})/{below}", f"\\frac{{{whole} + {shown}}}{{{below}}}")
