"""Telescoping products."""

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
class TelescopingProduct(Family):
    """A product of many factors in which nearly everything cancels."""

    name = "telescoping-product"
    tag = "sequences/telescoping"
    wordings = Wordings(
        shift=(
            "Compute the product $\\prod_{k=<low>}^{<high>} \\left(1 + \\frac{<a>}{k}\\right)$.",
            "Find the exact value of $\\prod_{k=<low>}^{<high>} \\frac{k + <a>}{k}$.",
        ),
        less=(
            "Compute the product $\\prod_{k=<low>}^{<high>} \\left(1 - \\frac{<a>}{k}\\right)$.",
            "Find the exact value of $\\prod_{k=<low>}^{<high>} \\frac{k - <a>}{k}$.",
        ),
        squares=(
            "Compute the product $\\prod_{k=<low>}^{<high>} \\left(1 - \\frac{<a>}{k^2}\\right)$.",
            "Find the exact value of $\\prod_{k=<low>}^{<high>} \\frac{k^2 - <a>}{k^2}$.",
        ),
        mixed=(
            "Compute the product $\\prod_{k=<low>}^{<high>} \\frac{k(k + <a>)}{(k + <b>)(k + <c>)}"
            "$.",
            "Find the exact value of $\\prod_{k=<low>}^{<high>} "
            "\\frac{k (k + <a>)}{(k + <b>) (k + <c>)}$.",
        ),
    )

    high: Ends = dial(10, 80, "most factors of a product", least=8, most=300)
    kinds: Ends = dial(2, 4, "how many kinds of product are asked for", most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("shift", "less", "squares", "mixed")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        low = base.whole(rng, 1, 6)
        count = base.whole(rng, 7, base.steady(self.high, difficulty))
        a = base.whole(rng, 1, 4)
        if ask in ("less", "squares"):
            low += a
        high = low + count
        values = {"low": low, "high": high, "a": a}
        if ask == "shift":
            answer, text = _ratio(low, high, a)
            steps = (
                f"$1 + \\frac{{{a}}}{{k}} = \\frac{{k + {a}}}{{k}}$. Numerators from ${low + a}$ "
                f"to ${high + a}$ meet denominators from ${low}$ to ${high}$, and what is in both "
                f"cancels: ${text}$ remains."
            )
        elif ask == "less":
            answer, text = _ratio(low - a, high - a, a)
            answer, text = 1 / answer, _turned(text)
            steps = (
                f"$1 - \\frac{{{a}}}{{k}} = \\frac{{k - {a}}}{{k}}$. Numerators from ${low - a}$ "
                f"to ${high - a}$ meet denominators from ${low}$ to ${high}$, and what is in both "
                f"cancels: ${text}$ remains."
            )
        elif ask == "squares":
            values["a"] = a * a
            up, up_text = _ratio(low, high, a)
            down, down_text = _ratio(low - a, high - a, a)
            answer = up / down
            steps = (
                f"$1 - \\frac{{{a * a}}}{{k^2}} = \\frac{{k - {a}}}{{k}} \\cdot "
                f"\\frac{{k + {a}}}{{k}}$. In the product of the first fractions "
                f"${_turned(down_text)}$ remains, in that of the second ${up_text}$."
            )
        else:
            b, c = base.whole(rng, 1, 3), base.whole(rng, 4, 6)
            values |= {"a": b + c, "b": b, "c": c}
            one, one_text = _ratio(low, high, b)
            two, two_text = _ratio(low + c, high + c, b)
            answer = two / one
            steps = (
                f"Take the factors $\\frac{{k}}{{k + {b}}}$ and $\\frac{{k + {b + c}}}{{k + {c}}}$ "
                f"apart. In the product of the first ${_turned(one_text)}$ remains, in that of "
                f"the second ${two_text}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.rational(answer), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        top = bottom = 1
        a = values["a"]
        for k in range(values["low"], values["high"] + 1):
            if ask == "squares":
                top, bottom = top * (k * k - a), bottom * k * k
            elif ask == "mixed":
                top, bottom = top * k * (k + a), bottom * (k + values["b"]) * (k + values["c"])
            else:
                top, bottom = top * (k + a if ask == "shift" else k - a), bottom * k
        return gold.rational(Fraction(top, bottom))


def _ratio(low: int, high: int, a: int) -> tuple[Fraction, str]:
    """The product of (k + a) / k, and what remains of it after cancelling."""
    above, below = range(high + 1, high + a + 1), range(low, low + a)
    value = Fraction(math.prod(above), math.prod(below))
    return value, (
        f"\\frac{{{' '.join(map(str, above))}}}{{{' '.join(map(str, below))}}}".replace(
            " ", " \\cdot "
        )
    )


def _turned(text: str) -> str:
    top, _, bottom = text[len("\\frac{") : -1].partition("}{")
    return f"\\frac{{{bottom}}}{{{top}}}"
