"""Steps of numerical methods, done exactly: Newton's method and sums of rectangles."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class NumericalSteps(Family):
    """An exact step of Newton's method, or a sum of rectangles or trapezoids for an integral."""

    name = "numerical-steps"
    tag = "calculus/numerical-methods"
    wordings = Wordings(
        left=(
            "Approximate $\\int_{<low>}^{<high>} (<f:polynomial>)\\,dx$ by <n> rectangles of equal "
            "width whose heights are the values at the left ends. What exact number results?",
            "Compute the left Riemann sum of $f(x) = <f:polynomial>$ on $[<low>, <high>]$ with "
            "<n> subintervals of equal length, exactly.",
        ),
        right=(
            "Approximate $\\int_{<low>}^{<high>} (<f:polynomial>)\\,dx$ by <n> rectangles of equal "
            "width whose heights are the values at the right ends. What exact number results?",
            "Compute the right Riemann sum of $f(x) = <f:polynomial>$ on $[<low>, <high>]$ with "
            "<n> subintervals of equal length, exactly.",
        ),
        trapezoids=(
            "Approximate $\\int_{<low>}^{<high>} (<f:polynomial>)\\,dx$ by the trapezoidal rule "
            "with <n> strips of equal width. What exact number results?",
            "What exact number does the trapezoidal rule with <n> subintervals of equal length "
            "give for the integral of $<f:polynomial>$ from $<low>$ to $<high>$?",
        ),
        newton=(
            "Newton's method is applied to $f(x) = <f:polynomial>$ with $x_0 = <low>$. Find "
            "$x_<n>$ exactly.",
            "For the equation $<f:polynomial> = 0$ Newton's method starts at $x_0 = <low>$. What "
            "exactly is $x_<n>$?",
        ),
        euler=(
            "Euler's method with step $h = <h:ratio>$ is applied to $y' = <a>x + <b>y$, "
            "$y(0) = <c>$. Find the exact value that it gives after <n> steps.",
            "The initial value problem $y' = <a>x + <b>y$, $y(0) = <c>$ is solved approximately "
            "with <n> steps of Euler's method of size $h = <h:ratio>$. Which exact value of $y$ "
            "results after the last step?",
        ),
    )

    count: Ends = dial(2, 6, "how many strips", least=2, most=10)
    size: Ends = dial(5, 9, "largest coefficient", least=2, most=1000)
    iterated: Ends = dial(0.3, 0.8, "share with steps that build on each other", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        n = base.whole_near(rng, base.steady(self.count, difficulty))
        if rng.random() < base.steady(self.iterated, difficulty):
            if rng.random() < 0.5:
                return self._newton(rng, size, 2 if n > 3 else 1)
            return self._euler(rng, size, min(2 + n // 3, 4))
        kind = base.chosen(rng, ("left", "right", "trapezoids"))
        f = exact.some(rng, base.whole(rng, 2, 2 + size / 8), size)
        low = base.whole(rng, -2, 2)
        high = low + base.whole(rng, 1, 4)
        width = Fraction(high - low, n)
        heights = [Fraction(p.value(f, low + place * width)) for place in range(n + 1)]
        if kind == "trapezoids":
            total = width * (sum(heights) - (heights[0] + heights[-1]) / 2)
            how = "The values at the ends count by half, those between in full"
            shown = heights
        else:
            shown = heights[:-1] if kind == "left" else heights[1:]
            total = width * sum(shown)
            how = "The heights are added"
        said = ", ".join(ratio_text(each) for each in shown)
        return Drawn(
            ask=kind,
            values={"f": f, "low": low, "high": high, "n": n},
            gold=gold.rational(total),
            steps=f"Each strip has the width ${ratio_text(width)}$, and the values of the function "
            f"at the places used are ${said}$. {how}, and the sum is multiplied by the width.",
        )

    def _newton(self, rng: random.Random, size: float, count: int) -> Drawn:
        f = exact.some(rng, base.whole(rng, 2, 3), size)
        start = exact.nonzero(rng, 3)
        slope = p.derivative(f)
        for _ in range(6):  # a start from which the steps exist and lead somewhere
            if p.value(slope, start) and p.value(f, start):
                break
            start += 1
        at, said = Fraction(start), []
        for place in range(count):
            height, rise = Fraction(p.value(f, at)), Fraction(p.value(slope, at))
            if not rise or not height:
                count = place
                break
            following = at - height / rise
            said.append(
                f"$x_{place + 1} = {ratio_text(at)} - {_over(height, rise)} = "
                f"{ratio_text(following)}$"
            )
            at = following
        if not said:  # the polynomial x^2 - 2, from 1
            f, start, count, at = (-2, 0, 1), 1, 1, Fraction(3, 2)
            said = ["$x_1 = 1 - \\frac{-1}{2} = \\frac{3}{2}$"]
            slope = p.derivative(f)
        return Drawn(
            ask="newton",
            values={"f": f, "low": start, "n": count},
            gold=gold.rational(at),
            steps=f"Each step subtracts the value over the slope, where $f'(x) = "
            f"{p.latex(slope)}$: {', '.join(said)}.",
        )

    def _euler(self, rng: random.Random, size: float, count: int) -> Drawn:
        a, b, c = base.whole(rng, 2, size), base.whole(rng, 2, size), base.whole(rng, 1, size)
        h = Fraction(1, base.chosen(rng, (2, 4, 5, 10)))
        x, y, said = Fraction(0), Fraction(c), []
        for _ in range(count):
            rise = a * x + b * y
            after = y + h * rise
            said.append(
                f"${ratio_text(y)} + {ratio_text(h)} \\cdot {ratio_text(rise)} = "
                f"{ratio_text(after)}$"
            )
            x, y = x + h, after
        return Drawn(
            ask="euler",
            values={"a": a, "b": b, "c": c, "h": h, "n": count},
            gold=gold.rational(y),
            steps=f"Each step adds $h$ times the slope at the point reached: {', '.join(said)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        n = values["n"]
        if ask == "newton":
            # The tangent is what remains of f after division by (x - t)^2; its root comes next.
            at = Fraction(values["low"])
            for _ in range(n):
                line = p.divided(values["f"], (at * at, -2 * at, 1))[1]
                if len(line) != 2:
                    return None
                at = -Fraction(line[0]) / line[1]
            return gold.rational(at)
        if ask == "euler":
            # The recursion y -> (1 + hb) y + ha x has the sum formula
            # y_n = q^n c + ha (q^(n-1) x_0 + q^(n-2) x_1 + ... + x_(n-1)).
            a, b, c, h = (Fraction(values[name]) for name in "abch")
            q = 1 + h * b
            added = sum((q ** (n - 1 - k) * (k * h) for k in range(n)), Fraction(0))
            return gold.rational(q**n * c + h * a * added)
        # All three sums from the coefficients, by sums of powers of the places.
        f, low, high = values["f"], values["low"], values["high"]
        width = Fraction(high - low, n)
        first, last = {"left": (0, n), "right": (1, n + 1), "trapezoids": (0, n + 1)}[ask]
        total = sum(
            (
                c
                * sum((low * n + place * (high - low)) ** power for place in range(first, last))
                / Fraction(n**power)
                for power, c in enumerate(f)
            ),
            Fraction(0),
        )
        if ask == "trapezoids":
            total -= Fraction(p.value(f, low) + p.value(f, high)) / 2
        return gold.rational(width * total)


def _over(above: Fraction, below: Fraction) -> str:
    """A quotient, with the parts as they are where they are whole."""
    if above.denominator == below.denominator == 1 and below != 1:
        return f"\\frac{{{above}}}{{{below}}}"
    first, second = (f"({ratio_text(x)})" if x < 0 else ratio_text(x) for x in (above, below))
    return first if below == 1 else f"{first} \\div {second}"
