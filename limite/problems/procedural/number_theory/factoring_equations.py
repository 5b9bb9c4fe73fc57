"""Equations in whole numbers that factor."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import divisors
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FactoringEquations(Family):
    """Equations in two whole numbers that become a product, such as sums of unit fractions."""

    name = "factoring-equations"
    tag = "number-theory/diophantine"
    wordings = Wordings(
        unit=(
            "How many ordered pairs $(x, y)$ of positive integers satisfy "
            "$\\frac{1}{x} + \\frac{1}{y} = \\frac{1}{<number>}$?",
            "Find the number of ordered pairs of positive integers $x$, $y$ whose reciprocals add "
            "up to $\\frac{1}{<number>}$.",
        ),
        unordered=(
            "In how many ways is $\\frac{1}{<number>}$ the sum of the reciprocals of two positive "
            "integers $x \\le y$?",
            "How many pairs of positive integers $x \\le y$ satisfy "
            "$\\frac{1}{x} + \\frac{1}{y} = \\frac{1}{<number>}$?",
        ),
        count=(
            "How many pairs $(x, y)$ of positive integers satisfy $xy + <a>x + <b>y = <c>$?",
            "Find the number of solutions of $xy + <a>x + <b>y = <c>$ in positive integers $x$ and "
            "$y$.",
        ),
        largest=(
            "Positive integers $x$ and $y$ satisfy $xy - <a>x - <b>y = <c>$. What is the largest "
            "possible value of $x$?",
            "Find the largest positive integer $x$ for which there is a positive integer $y$ with "
            "$xy - <a>x - <b>y = <c>$.",
        ),
        solutions=(
            "Find the set of all positive integers $x$ for which $<b>x + <c>$ is divisible by "
            "$x + <a>$.",
            "For which positive integers $x$ is $\\frac{<b>x + <c>}{x + <a>}$ an integer? Give the "
            "set of all of them.",
        ),
    )

    number: Ends = dial(12, 150, "largest denominator", least=8, most=1000)
    size: Ends = dial(3, 20, "largest coefficient", least=2, most=60)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("unit", "unordered", "count", "largest", "solutions"))
        if ask in ("unit", "unordered"):
            number = base.whole(rng, 4, base.slow_start(self.number, difficulty))
            pairs = divisors(number * number)
            count = len(pairs) if ask == "unit" else (len(pairs) + 1) // 2
            last = (
                f" Each of the ${len(pairs)}$ positive divisors of ${number}^2$ can be the first "
                "factor."
            )
            if ask == "unordered":
                last += " Without order, the square itself counts once: "
                last += f"$({len(pairs)} + 1) \\div 2 = {count}$."
            return Drawn(
                ask=ask,
                values={"number": number},
                gold=gold.integer(count),
                steps=f"Multiplying out gives ${number}(x + y) = xy$, that is, $(x - {number})"
                f"(y - {number}) = {number}^2 = {number * number}$, with positive factors." + last,
            )
        size = base.steady(self.size, difficulty)
        a, b = base.whole(rng, 2, size), base.whole(rng, 2, size)
        if ask == "count":
            total = (a + 2) * (b + 3) + base.whole(rng, 1, 4 * size * size)
            while not [d for d in divisors(total) if d > b and total // d > a]:
                total += 1
            found = [d for d in divisors(total) if d > b and total // d > a]
            products = ", ".join(f"${d} \\cdot {total // d}$" for d in found)
            return Drawn(
                ask=ask,
                values={"a": a, "b": b, "c": total - a * b},
                gold=gold.integer(len(found)),
                steps=f"Add ${a * b}$ on both sides: $(x + {b})(y + {a}) = {total}$. The first "
                f"factor is above ${b}$ and the second above ${a}$, which leaves {products}.",
            )
        if ask == "largest":
            total = a * b + base.whole(rng, 1, 2 * size * size)
            return Drawn(
                ask=ask,
                values={"a": a, "b": b, "c": total - a * b},
                gold=gold.integer(total + b),
                steps=f"Add ${a * b}$ on both sides: $(x - {b})(y - {a}) = {total}$. With both "
                f"factors positive the first is at most ${total}$. With both negative $x$ would be "
                f"below ${b}$. So $x - {b} = {total}$ and $y - {a} = 1$ give the largest $x$.",
            )
        rest = base.whole(rng, 2 * a, 6 * size * a)
        while not [d for d in divisors(rest) if d > a]:
            rest += 1
        sign = -1 if rng.random() < 0.5 and b * a > rest else 1
        c = b * a + sign * rest
        found = [d - a for d in divisors(rest) if d > a]
        listing = ", ".join(str(d) for d in divisors(rest))
        return Drawn(
            ask=ask,
            values={"a": a, "b": b, "c": c},
            gold=gold.finite_set(found),
            steps=f"${b}x + {c} = {b}(x + {a}) {'+' if sign > 0 else '-'} {rest}$, so $x + {a}$ "
            f"must divide ${rest}$. Of its divisors ${listing}$ those above ${a}$ count.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Every x is tried.
        if ask in ("unit", "unordered"):
            number = values["number"]
            # The smaller one lies above the number and is at most twice the number.
            found = [x for x in range(number + 1, 2 * number + 1) if number * x % (x - number) == 0]
            equal = int(2 * number in found)
            return gold.integer(len(found) if ask == "unordered" else 2 * len(found) - equal)
        a, b, c = values["a"], values["b"], values["c"]
        if ask == "count":  # y = (c - a x) / (x + b)
            return gold.integer(
                sum((c - a * x) % (x + b) == 0 for x in range(1, (c - 1) // a + 1) if c - a * x > 0)
            )
        if ask == "largest":  # y = (c + a x) / (x - b), and beyond c + a b + b it is below a + 1
            for x in range(c + a * b + b + 5, 0, -1):
                if x != b and (c + a * x) % (x - b) == 0 and (c + a * x) // (x - b) > 0:
                    return gold.integer(x)
            return None
        top = abs(c - a * b)  # the rest must be at least x + a in size
        return gold.finite_set(x for x in range(1, top + 1) if (b * x + c) % (x + a) == 0)
