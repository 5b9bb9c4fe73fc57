"""Telescoping sums."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class TelescopingSum(Family):
    """A sum of fractions or of roots in which nearly everything cancels."""

    name = "telescoping-sum"
    tag = "sequences/telescoping"
    wordings = Wordings(
        fractions=(
            "Compute $\\sum_{k=<low>}^{<high>} \\frac{<above>}{(<a>k + <b>)(<a>k + <c>)}$.",
            "Find the exact value of the sum $\\sum_{k=<low>}^{<high>} "
            "\\frac{<above>}{(<a>k + <b>)(<a>k + <c>)}$.",
        ),
        products=(
            "Compute $\\frac{1}{<b> \\cdot <c>} + \\frac{1}{<c> \\cdot <d>} + \\dots + "
            "\\frac{1}{<y> \\cdot <z>}$, where each factor is $<step>$ more than the one before.",
            "Find the sum $\\frac{1}{<b> \\cdot <c>} + \\frac{1}{<c> \\cdot <d>} + \\dots + "
            "\\frac{1}{<y> \\cdot <z>}$, in which neighbouring factors differ by $<step>$.",
        ),
        triple=(
            "Compute $\\sum_{k=<low>}^{<high>} \\frac{1}{k(k + 1)(k + 2)}$.",
            "Find the exact value of $\\sum_{k=<low>}^{<high>} \\frac{1}{k(k+1)(k+2)}$.",
        ),
        infinite=(
            "Find the sum of the infinite series $\\sum_{k=<low>}^{\\infty} "
            "\\frac{<above>}{k(k + <shift>)}$.",
            "To which value does the series $\\sum_{k=<low>}^{\\infty} "
            "\\frac{<above>}{k(k + <shift>)}$ converge?",
        ),
        roots=(
            "Compute $\\sum_{k=<low>}^{<high>} \\frac{1}{\\sqrt{k} + \\sqrt{k + 1}}$.",
            "Find the exact value of the sum $\\sum_{k=<low>}^{<high>} "
            "\\frac{1}{\\sqrt{k+1} + \\sqrt{k}}$.",
        ),
    )

    high: Ends = dial(9, 60, "most terms of a sum", least=6, most=200)
    kinds: Ends = dial(1, 5, "how many kinds of sum are asked for", most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("products", "roots", "fractions", "triple", "infinite")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        count = base.whole(rng, 5, base.steady(self.high, difficulty))
        low = base.whole(rng, 1, 6)
        high = low + count - 1
        if ask == "products":
            b, step = base.whole(rng, 1, 9), base.whole(rng, 1, 6)
            z = b + count * step
            values = {"b": b, "c": b + step, "d": b + 2 * step, "y": z - step, "z": z, "step": step}
            answer = Fraction(1, step) * (Fraction(1, b) - Fraction(1, z))
            what = _times_bracket(step, b, z)
            steps = (
                f"$\\frac{{1}}{{x(x + {step})}} = "
                f"{_over(step)}\\left(\\frac{{1}}{{x}} - \\frac{{1}}{{x + {step}}}\\right)$, so "
                f"all but the first and the last fraction cancel: ${what}$."
            )
        elif ask == "fractions":
            a, b = base.whole(rng, 2, 5), base.whole(rng, 1, 7)
            above = base.whole(rng, 1, 6)
            values = {"low": low, "high": high, "a": a, "b": b, "c": a + b, "above": above}
            first, last = a * low + b, a * (high + 1) + b
            answer = Fraction(above, a) * (Fraction(1, first) - Fraction(1, last))
            steps = (
                f"$\\frac{{1}}{{({a}k + {b})({a}k + {a + b})}} = \\frac{{1}}{{{a}}}\\left("
                f"\\frac{{1}}{{{a}k + {b}}} - \\frac{{1}}{{{a}k + {a + b}}}\\right)$, and the "
                "second fraction of each term cancels the first of the next. What remains is "
                f"${ratio_text(Fraction(above, a)) if above != a else ''}\\left("
                f"\\frac{{1}}{{{first}}} - \\frac{{1}}{{{last}}}\\right)$."
            )
        elif ask == "triple":
            values = {"low": low, "high": high}
            first, last = low * (low + 1), (high + 1) * (high + 2)
            answer = Fraction(1, 2) * (Fraction(1, first) - Fraction(1, last))
            steps = (
                "$\\frac{1}{k(k+1)(k+2)} = \\frac{1}{2}\\left(\\frac{1}{k(k+1)} - "
                "\\frac{1}{(k+1)(k+2)}\\right)$, so what remains is $\\frac{1}{2}\\left("
                f"\\frac{{1}}{{{first}}} - \\frac{{1}}{{{last}}}\\right)$."
            )
        elif ask == "infinite":
            shift, above = base.whole(rng, 1, 4), base.whole(rng, 1, 6)
            values = {"low": low, "shift": shift, "above": above}
            head = [Fraction(1, low + k) for k in range(shift)]
            answer = Fraction(above, shift) * sum(head)
            steps = (
                f"$\\frac{{1}}{{k(k + {shift})}} = {_over(shift)}\\left(\\frac{{1}}{{k}} - "
                f"\\frac{{1}}{{k + {shift}}}\\right)$. Everything cancels but "
                f"${' + '.join(map(ratio_text, head))} = {ratio_text(sum(head))}$, which is "
                f"multiplied by ${ratio_text(Fraction(above, shift))}$."
            )
        else:
            root = base.whole(rng, 1, 4)
            end = root + base.whole(rng, 2, 2 + base.steady(self.high, difficulty) / 6)
            values = {"low": root * root, "high": end * end - 1}
            steps = (
                "Multiplying above and below by $\\sqrt{k+1} - \\sqrt{k}$ turns each term into "
                f"$\\sqrt{{k+1}} - \\sqrt{{k}}$. What remains is $\\sqrt{{{end * end}}} - "
                f"\\sqrt{{{root * root}}} = {end} - {root}$."
            )
            return Drawn(ask=ask, values=values, gold=gold.integer(end - root), steps=steps)
        return Drawn(ask=ask, values=values, gold=gold.rational(answer), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        low, high = values.get("low", 0), values.get("high", 0)
        if ask == "roots":
            # Each term in units of 10^-30, less than one unit too small.
            unit = 10**30
            roots = [math.isqrt(k * unit * unit) for k in range(low, high + 2)]
            total = sum(unit * unit // (one + two) for one, two in itertools.pairwise(roots))
            found = (2 * total + unit) // (2 * unit)
            return gold.integer(found) if abs(total - found * unit) < 10**6 else None
        if ask == "infinite":
            return _limit(low, values["shift"], values["above"])
        if ask == "products":
            b, step, z = values["b"], values["step"], values["z"]
            if (values["c"], values["d"], values["y"]) != (b + step, b + 2 * step, z - step):
                return None
            factors = [(x, x + step) for x in range(b, z, step)]
            above = 1
            if (z - b) % step:
                return None
        elif ask == "triple":
            factors, above = [(k, (k + 1) * (k + 2)) for k in range(low, high + 1)], 1
        else:
            a, above = values["a"], values["above"]
            factors = [(a * k + values["b"], a * k + values["c"]) for k in range(low, high + 1)]
        # Straight addition over growing denominators.
        top, bottom = 0, 1
        for one, two in factors:
            top, bottom = top * one * two + above * bottom, bottom * one * two
            common = math.gcd(top, bottom)
            top, bottom = top // common, bottom // common
        return gold.rational(Fraction(top, bottom))


def _over(step: int) -> str:
    return "" if step == 1 else f"\\frac{{1}}{{{step}}}"


def _times_bracket(step: int, first: int, last: int) -> str:
    return f"{_over(step)}\\left({ratio_text(Fraction(1, first))} - \\frac{{1}}{{{last}}}\\right)"


def _limit(low: int, shift: int, above: int) -> Gold | None:
    """The one fraction with a fitting denominator that lies between two bounds."""
    last = low + 400
    top = sum(10**40 // (k * (k + shift)) for k in range(low, last))
    # The rest is between 1/(last + shift) and 1/(last - 1).
    least = Fraction(top, 10**40) + Fraction(1, last + shift)
    most = Fraction(top + 500, 10**40) + Fraction(1, last - 1)
    whole = shift * math.lcm(*range(low, low + shift))
    found = math.ceil(least * whole)
    if found > most * whole or found + 1 <= most * whole:
        return None
    return gold.rational(Fraction(above * found, whole))
