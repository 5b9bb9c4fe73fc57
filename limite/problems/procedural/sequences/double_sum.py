"""Double sums."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class DoubleSum(Family):
    """A sum over pairs of numbers, all of them or those in order."""

    name = "double-sum"
    tag = "sequences/sums"
    wordings = Wordings(
        square=(
            "Compute $\\sum_{i=1}^{<high>} \\sum_{j=1}^{<right>} (<a>i + <b>j)$.",
            "Find the value of $\\sum_{i=1}^{<high>} \\sum_{j=1}^{<right>} (<a>i + <b>j)$.",
        ),
        products=(
            "Compute $\\sum_{i=1}^{<high>} \\sum_{j=1}^{<right>} (i + <a>)(j + <b>)$.",
            "Find the value of $\\sum_{i=1}^{<high>} \\sum_{j=1}^{<right>} (i + <a>)(j + <b>)$.",
        ),
        triangle=(
            "Compute $\\sum_{i=1}^{<high>} \\sum_{j=1}^{i} (<a>i + <b>j)$.",
            "Find the value of $\\sum_{i=1}^{<high>} \\sum_{j=1}^i (<a>i + <b>j)$.",
        ),
        pairs=(
            "Find the sum of the products $ij$ over all pairs of integers with "
            "$1 \\le i < j \\le <high>$.",
            "All products of two different integers from $1$ to $<high>$ are added, each pair "
            "taken once. What is the sum?",
        ),
        table=(
            "A multiplication table has the rows $1$ to $<high>$ and the columns $1$ to $<right>$. "
            "What is the sum of all its entries?",
            "Find the sum of the products $ij$ over all integers $i$ from $1$ to $<high>$ and $j$ "
            "from $1$ to $<right>$.",
        ),
        larger=(
            "Find the sum of $\\max(i, j)$ over all pairs of integers $i$ and $j$ from $1$ to "
            "$<high>$.",
            "In a square table with $<high>$ rows and $<high>$ columns, each entry is the larger "
            "of the numbers of its row and its column (or either, where they are equal). What is "
            "the sum of all entries?",
        ),
    )

    high: Ends = dial(6, 30, "largest upper end", least=5, most=60)
    kinds: Ends = dial(3, 6, "how many kinds of sum are asked for", most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("table", "square", "triangle", "products", "pairs", "larger")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        top = base.steady(self.high, difficulty)
        n, m = base.whole(rng, 4, top), base.whole(rng, 4, top)
        a, b = base.whole(rng, 2, 6), base.whole(rng, 2, 6)
        one, two = n * (n + 1) // 2, m * (m + 1) // 2
        squares = n * (n + 1) * (2 * n + 1) // 6
        values = {"high": n, "right": m, "a": a, "b": b}
        if ask == "table":
            total = one * two
            steps = (
                f"The sum is the product of the sums $1 + \\dots + {n} = {one}$ and "
                f"$1 + \\dots + {m} = {two}$."
            )
        elif ask == "square":
            total = a * m * one + b * n * two
            steps = (
                f"Each $i$ occurs ${m}$ times and each $j$ occurs ${n}$ times. With "
                f"$1 + \\dots + {n} = {one}$ and $1 + \\dots + {m} = {two}$ the sum is "
                f"${a} \\cdot {m} \\cdot {one} + {b} \\cdot {n} \\cdot {two}$."
            )
        elif ask == "products":
            left, right = one + n * a, two + m * b
            total = left * right
            steps = (
                f"The sum is the product of $\\sum (i + {a}) = {one} + {n} \\cdot {a} = {left}$ "
                f"and $\\sum (j + {b}) = {two} + {m} \\cdot {b} = {right}$."
            )
        elif ask == "triangle":
            # a i * i + b i (i + 1) / 2
            total = a * squares + b * (squares + one) // 2
            steps = (
                f"The inner sum is ${a}i^2 + {b} \\cdot \\frac{{i(i+1)}}{{2}}$. With $\\sum i^2 = "
                f"{squares}$ and $\\sum i = {one}$ the whole is ${a} \\cdot {squares} + {b} \\cdot "
                f"\\frac{{{squares} + {one}}}{{2}}$."
            )
        elif ask == "pairs":
            total = (one * one - squares) // 2
            steps = (
                f"$(1 + \\dots + {n})^2 = {one}^2 = {one * one}$ holds the squares, with the sum "
                f"${squares}$, and every pair twice: $\\frac{{{one * one} - {squares}}}{{2}}$."
            )
        else:
            total = n * (n + 1) * (4 * n - 1) // 6
            steps = (
                f"The value $k$ occurs $2k - 1$ times, so the sum is $\\sum (2k^2 - k)$ for $k$ "
                f"from $1$ to ${n}$: $2 \\cdot {squares} - {one}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(total), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        n = values["high"]
        m, a, b = values.get("right", n), values.get("a", 0), values.get("b", 0)
        total = 0
        for i in range(1, n + 1):
            if ask == "table":
                total += sum(i * j for j in range(1, m + 1))
            elif ask == "square":
                total += sum(a * i + b * j for j in range(1, m + 1))
            elif ask == "products":
                total += sum((i + a) * (j + b) for j in range(1, m + 1))
            elif ask == "triangle":
                total += sum(a * i + b * j for j in range(1, i + 1))
            elif ask == "pairs":
                total += sum(i * j for j in range(i + 1, n + 1))
            else:
                total += sum(max(i, j) for j in range(1, n + 1))
        return gold.integer(total)
