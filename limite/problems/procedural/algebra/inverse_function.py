"""Inverses of linear and of fractional linear functions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra.writing import fraction, linear, nonzero, ratio, read_linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class InverseFunction(Family):
    """The inverse of a linear or fractional linear function, or its value at a number."""

    name = "inverse-function"
    tag = "algebra/functions"
    wordings = Wordings(
        value=(
            "Let $f(x) = <rule:text>$. Find $f^{-1}(<at>)$, where $f^{-1}$ is the inverse "
            "function of $f$.",
            "The function $f(x) = <rule:text>$ has an inverse function $f^{-1}$. What is "
            "$f^{-1}(<at>)$?",
        ),
        rule=(
            "Find the inverse function $f^{-1}(x)$ of $f(x) = <rule:text>$.",
            "Let $f(x) = <rule:text>$. Give a formula for the inverse function $f^{-1}(x)$.",
        ),
    )

    coefficient: Ends = dial(5, 12, "largest coefficient", least=3, most=100)
    fractional: Ends = dial(0, 1, "share of fractional linear functions", least=0, most=1)
    formula: Ends = dial(0.2, 0.6, "share that asks for the formula", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.coefficient, difficulty)
        a, b = base.whole(rng, 2, largest), nonzero(rng, largest)
        c, d = 0, 1
        if rng.random() < base.steady(self.fractional, difficulty):
            c, d = base.whole(rng, 1, largest / 2), nonzero(rng, largest)
            if a * d == b * c:
                d += 1 if d != -1 else 2
        above, below = linear([a], "x", b), linear([c], "x", d)
        rule = above if c == 0 else fraction(above, below)
        # y = (ax + b)/(cx + d) means x(a - cy) = dy - b.
        if rng.random() < base.steady(self.formula, difficulty):
            if c == 0:
                text, latex = f"(x{-b:+d})/{a}", fraction(linear([1], "x", -b), str(a))
                steps = f"From $y = {rule}$ follows ${linear([a], 'x')} = {linear([1], 'y', -b)}$."
            else:
                text = f"({d}*x{-b:+d})/({-c}*x{a:+d})"
                latex = fraction(linear([d], "x", -b), _ascending(a, -c))
                steps = (
                    f"From $y = {rule}$ follows $y({below}) = {above}$, and collecting the terms "
                    f"with $x$ gives $x({_ascending(a, -c).replace('x', 'y')}) = "
                    f"{linear([d], 'y', -b)}$."
                )
            return Drawn(
                ask="rule",
                values={"rule": rule},
                gold=gold.expression(text, latex, ["x"]),
                steps=f"{steps} Dividing, and writing $x$ for $y$, gives the formula.",
            )
        at = nonzero(rng, largest)
        if a == c * at:
            at += 1 if at != -1 else 2
        top, bottom = d * at - b, a - c * at
        if c == 0:
            steps = f"Solving ${rule} = {at}$ gives ${linear([a], 'x')} = {top}$"
        else:
            cleared = linear([c * at], "x", d * at)
            steps = (
                f"Solving ${rule} = {at}$ gives ${above} = {cleared}$, so "
                f"${linear([bottom], 'x')} = {top}$"
            )
        value = ratio(top, bottom)
        return Drawn(
            ask="value",
            values={"rule": rule, "at": at},
            gold=gold.rational(value),
            steps=steps + ("." if bottom == 1 else f" and $x = {ratio_text(value)}$."),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # As a matrix: the inverse function belongs to the adjugate.
        rule = values["rule"]
        above, below = rule, "1"
        if rule.startswith("\\frac{"):
            above, _, below = rule[6:-1].partition("}{")
        (a,), b = read_linear(above, "x")
        (c,), d = read_linear(below, "x")
        if a * d == b * c:
            return None
        if ask == "rule":
            return gold.expression(f"({d}*x-({b}))/(({a})-({c})*x)", "", ["x"])
        at = values["at"]
        return None if a == c * at else gold.rational(ratio(int(d * at - b), int(a - c * at)))


def _ascending(constant: int, slope: int) -> str:
    """``5 - 2x``."""
    size = "" if abs(slope) == 1 else str(abs(slope))
    return f"{constant} {'-' if slope < 0 else '+'} {size}x"
