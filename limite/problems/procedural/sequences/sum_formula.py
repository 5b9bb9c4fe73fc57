"""Closed forms of sums."""

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
class SumFormula(Family):
    """A formula in n for a sum from 1 to n of a polynomial or of powers."""

    name = "sum-formula"
    tag = "sequences/sums"
    wordings = Wordings(
        polynomial=(
            "Find a formula in $n$, without a summation sign, for $\\sum_{k=1}^n (<terms:text>)$.",
            "Express $\\sum_{k=1}^n (<terms:text>)$ as a polynomial in $n$.",
        ),
        shifted=(
            "Find a formula in $n$, without a summation sign, for "
            "$\\sum_{k=n+1}^{2n} (<terms:text>)$.",
            "Express $\\sum_{k=n+1}^{2n} (<terms:text>)$ as a polynomial in $n$.",
        ),
        powers=(
            "Find a formula in $n$, without a summation sign, for "
            "$\\sum_{k=0}^n <factor> \\cdot <base>^k$.",
            "Express $<factor> + <factor> \\cdot <base> + <factor> \\cdot <base>^2 + \\dots + "
            "<factor> \\cdot <base>^n$ in terms of $n$, without a summation sign.",
        ),
    )

    degree: Ends = dial(1, 3, "largest degree", least=1, most=3)
    size: Ends = dial(5, 14, "largest coefficient", least=2, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        if rng.random() < 0.2:
            root, factor = base.whole(rng, 2, 2 + size / 2), base.whole(rng, 2, size)
            return Drawn(
                ask="powers",
                values={"base": root, "factor": factor},
                gold=_power_formula(root, factor),
                steps=f"Let $S$ be the sum. Then ${root}S - S = {factor} \\cdot {root}^{{n+1}} - "
                f"{factor}$, because all other terms are in both, and the left side is "
                f"${root - 1 if root > 2 else ''}S$.",
            )
        degree = base.whole(rng, 1, base.steady(self.degree, difficulty))
        terms = [base.whole(rng, 0, size) for _ in range(degree)] + [base.whole(rng, 1, size)]
        terms = [-each if rng.random() < 0.35 else each for each in terms]
        terms[-1] = abs(terms[-1])
        if degree == 1 and not terms[0]:
            terms[0] = 1
        found: polynomials.Polynomial = ()
        rows = []
        for power, factor in enumerate(terms):
            if factor:
                found = polynomials.plus(found, polynomials.scaled(_SUMS[power], factor))
                what = f"k^{power}" if power > 1 else "k" if power else "1"
                rows.append(f"$\\sum {what} = {_SUM_TEXTS[power]}$")
        text = polynomials.latex(polynomials.polynomial(terms), "k")
        steps = f"For $k$ from $1$ to $n$: {', '.join(rows)}. "
        steps += f"With the factors of the terms this is ${polynomials.latex(found, 'n')}$."
        if rng.random() >= 0.25 * difficulty:
            return Drawn(
                ask="polynomial",
                values={"terms": text},
                gold=gold.polynomial(found, "n"),
                steps=steps,
            )
        whole = polynomials.composed(found, (0, 2))
        difference = polynomials.minus(whole, found)
        return Drawn(
            ask="shifted",
            values={"terms": text},
            gold=gold.polynomial(difference, "n"),
            steps=f"{steps} Putting $2n$ in place of $n$ gives ${polynomials.latex(whole, 'n')}$, "
            "the sum from $1$ to $2n$, and the sum from $1$ to $n$ is taken away from it.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Through enough of the sums themselves.
        if ask == "powers":
            return _fitted(values["base"], values["factor"])
        terms = polynomials.read(values["terms"], "k")
        points, total = [], 0
        for n in range(len(terms) + 1):
            ends = (n + 1, 2 * n) if ask == "shifted" else (1, n)
            total = sum(int(polynomials.value(terms, k)) for k in range(ends[0], ends[1] + 1))
            points.append((n, total))
        return gold.polynomial(polynomials.through(points), "n")


def _power_formula(root: int, factor: int) -> Gold:
    """factor * (root^(n+1) - 1) / (root - 1), with the fraction in lowest terms."""
    size = Fraction(factor, root - 1)
    plain, latex = str(size), ratio_text(size)
    if size == 1:
        return gold.expression(f"{root}^(n+1)-1", f"{root}^{{n+1}} - 1", ["n"])
    return gold.expression(
        f"{plain}*({root}^(n+1)-1)", f"{latex}\\left({root}^{{n+1}} - 1\\right)", ["n"]
    )


def _fitted(root: int, factor: int) -> Gold | None:
    """The sums are p + q * root^n: fitted to two of them, and tried on two more."""
    sums = [factor]
    for k in range(1, 4):
        sums.append(sums[-1] + factor * root**k)
    q = Fraction(sums[1] - sums[0], root - 1)
    p = sums[0] - q
    if any(p + q * root**n != sums[n] for n in range(4)):
        return None
    plain = f"{q}*{root}^n" if q != 1 else f"{root}^n"
    return gold.expression(f"{plain}{'-' if p < 0 else '+'}{abs(p)}", "", ["n"])


_SUMS: tuple[polynomials.Polynomial, ...] = (
    (0, 1),
    (0, Fraction(1, 2), Fraction(1, 2)),
    (0, Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)),
    (0, 0, Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)),
)
_SUM_TEXTS = (
    "n",
    "\\frac{n(n+1)}{2}",
    "\\frac{n(n+1)(2n+1)}{6}",
    "\\frac{n^2(n+1)^2}{4}",
)
