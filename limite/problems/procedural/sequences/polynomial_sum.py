"""Sums of polynomials."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PolynomialSum(Family):
    """The sum of the values of a polynomial at consecutive numbers."""

    name = "polynomial-sum"
    tag = "sequences/sums"
    wordings = Wordings(
        sum=(
            "Compute $\\sum_{k=<low>}^{<high>} (<terms:text>)$.",
            "Find the value of $\\sum_{k=<low>}^{<high>} (<terms:text>)$.",
        ),
        odd=(
            "Find the sum of the squares of the first $<count>$ odd positive integers "
            "$1, 3, 5, \\dots, <last>$.",
            "Compute $1^2 + 3^2 + 5^2 + \\dots + <last>^2$, the sum of the squares of the first "
            "$<count>$ odd positive integers.",
        ),
        neighbours=(
            "Compute $1 \\cdot <b> + 2 \\cdot <c> + 3 \\cdot <d> + \\dots + <y> \\cdot <z>$, where "
            "both factors grow by 1 from term to term.",
            "Find the sum $1 \\cdot <b> + 2 \\cdot <c> + 3 \\cdot <d> + \\dots + <y> \\cdot <z>$, "
            "in which both factors grow by 1 from each term to the next.",
        ),
    )

    high: Ends = dial(10, 60, "upper end of the sum", least=8, most=300)
    degree: Ends = dial(1, 3, "largest degree", least=1, most=4)
    size: Ends = dial(3, 9, "largest coefficient", least=2, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        high = base.whole(rng, 6, base.steady(self.high, difficulty))
        kind = rng.random()
        if kind < 0.12:
            return _neighbours(base.whole(rng, 1, 6), high)
        if kind < 0.2 and difficulty > 0.2:
            return self._odd(high)
        degree = base.whole(rng, 1, base.steady(self.degree, difficulty))
        size = base.steady(self.size, difficulty)
        terms = [base.whole(rng, 0, size) for _ in range(degree)] + [base.whole(rng, 1, size)]
        terms = [-each if rng.random() < 0.35 else each for each in terms]
        terms[-1] = abs(terms[-1])
        if degree == 1 and not terms[0]:
            terms[0] = 1
        low = 1 if rng.random() < 0.7 else base.whole(rng, 2, 5)
        total, rows = 0, []
        for power, factor in enumerate(terms):
            if factor:
                part = _power_sum(power, high) - _power_sum(power, low - 1)
                total += factor * part
                what = f"k^{power}" if power > 1 else "k" if power else "1"
                rows.append(f"$\\sum {what} = {part}$")
        combined = " ".join(
            f"{base.signed(factor)[0]} {abs(factor)} \\cdot "
            f"{_power_sum(power, high) - _power_sum(power, low - 1)}"
            for power, factor in reversed([*enumerate(terms)])
            if factor
        ).removeprefix("+ ")
        terms_text = polynomials.latex(polynomials.polynomial(terms), "k")
        return Drawn(
            ask="sum",
            values={"low": low, "high": high, "terms": terms_text},
            gold=gold.integer(total),
            steps=f"With $\\sum k = \\frac{{n(n+1)}}{{2}}$, $\\sum k^2 = \\frac{{n(n+1)(2n+1)}}"
            f"{{6}}$ and $\\sum k^3$ the square of $\\sum k$, the sums from ${low}$ to ${high}$ "
            f"are {', '.join(rows)}. Together: ${combined}$.",
        )

    def _odd(self, count: int) -> Drawn:
        total = count * (2 * count - 1) * (2 * count + 1) // 3
        return Drawn(
            ask="odd",
            values={"count": count, "last": 2 * count - 1},
            gold=gold.integer(total),
            steps=f"The squares of $1$ to ${2 * count}$ add up to ${_power_sum(2, 2 * count)}$. "
            f"The even ones among them are 4 times the squares of $1$ to ${count}$, "
            f"${4 * _power_sum(2, count)}$ in all, and are taken away.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "odd":
            if values["last"] != 2 * values["count"] - 1:
                return None
            return gold.integer(sum(k * k for k in range(1, 2 * values["count"], 2)))
        if ask == "neighbours":
            ahead = values["b"] - 1
            fits = (values["c"], values["d"], values["z"]) == (
                ahead + 2,
                ahead + 3,
                ahead + values["y"],
            )
            total = sum(k * (k + ahead) for k in range(1, values["y"] + 1))
            return gold.integer(total) if fits else None
        terms = polynomials.read(values["terms"], "k")
        found = sum(polynomials.value(terms, k) for k in range(values["low"], values["high"] + 1))
        return gold.integer(int(found))


def _neighbours(ahead: int, count: int) -> Drawn:
    squares, plain = _power_sum(2, count), _power_sum(1, count)
    factor = "" if ahead == 1 else f"{ahead} \\cdot "
    return Drawn(
        ask="neighbours",
        values={"b": 1 + ahead, "c": 2 + ahead, "d": 3 + ahead, "y": count, "z": count + ahead},
        gold=gold.integer(squares + ahead * plain),
        steps=f"The terms are $k(k + {ahead}) = k^2 + {'' if ahead == 1 else ahead}k$ for $k$ from "
        f"$1$ to ${count}$. The squares add up to ${squares}$ and the numbers to ${plain}$, so the "
        f"sum is ${squares} + {factor}{plain}$.",
    )


def _power_sum(power: int, n: int) -> int:
    """The sum of the powers of 1 to n."""
    triangle = n * (n + 1) // 2
    if power == 0:
        return n
    if power == 1:
        return triangle
    if power == 2:
        return triangle * (2 * n + 1) // 3
    if power == 3:
        return triangle * triangle
    return triangle * (2 * n + 1) * (3 * n * n + 3 * n - 1) // 15
