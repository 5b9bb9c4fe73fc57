"""Square roots collected, multiplied out, taken from under a root and out of denominators."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_ROOTS = (2, 3, 5, 6, 7, 10, 11, 13, 14, 15)
_TERM = re.compile(r"([-+]?) ?([0-9]*)\\sqrt\{([0-9]+)\}")


@attrs.frozen(kw_only=True)
class RadicalForms(Family):
    """Sums, products, quotients and nested square roots brought to a simple form."""

    name = "radical-forms"
    tag = "arithmetic/roots"
    wordings = Wordings(
        collect=(
            "Write $<sum:text>$ in the form $k\\sqrt{m}$ with positive whole numbers $k$ and $m$, "
            "where no square above $1$ divides $m$. Give $(k, m)$.",
            "Simplify $<sum:text>$ to $k\\sqrt{m}$, with whole numbers $k, m > 0$ and $m$ as small "
            "as possible. Answer with $(k, m)$.",
        ),
        expand=(
            "Find integers $x$ and $y$ with $<product:text> = x + y\\sqrt{<root>}$. Give $(x, y)$.",
            "Multiply out $<product:text>$ to $x + y\\sqrt{<root>}$ with integers $x$ and $y$."
            " Answer with $(x, y)$.",
        ),
        nested=(
            "Write $\\sqrt{<whole> <sign:text> \\sqrt{<inner>}}$ as "
            "$\\sqrt{x} <sign:text> \\sqrt{y}$ with whole numbers $x > y > 0$. Give $(x, y)$.",
            "Find whole numbers $x > y > 0$ such that $\\sqrt{<whole> <sign:text> \\sqrt{<inner>}} "
            "= \\sqrt{x} <sign:text> \\sqrt{y}$. Answer with $(x, y)$.",
        ),
        rationalize=(
            "Find rational numbers $x$ and $y$ with $\\frac{<top>}{<factor>\\sqrt{<root>} "
            "<sign:text> <other>} = x\\sqrt{<root>} + y$. Give $(x, y)$.",
            "Free the denominator of $\\frac{<top>}{<factor>\\sqrt{<root>} <sign:text> "
            "<other>}$ from its root: which rational $x$ and $y$ make it equal to "
            "$x\\sqrt{<root>} + y$? Answer with $(x, y)$.",
        ),
    )

    size: Ends = dial(5, 12, "largest whole number beside a root", least=4, most=60)
    terms: Ends = dial(1, 4, "how many roots are added", most=8)
    turned: Ends = dial(0, 0.85, "share of products, quotients and nested roots", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        root = base.chosen(rng, _ROOTS)
        if rng.random() >= base.steady(self.turned, difficulty):
            count = base.whole_near(rng, base.steady(self.terms, difficulty))
            return _collect(rng, count, size, root)
        kind = base.chosen(rng, (_expand, _nested, _rationalize))
        return kind(rng, size, root)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "collect":
            return _from_square(values["sum"])
        if ask == "nested":
            inner = values["inner"]
            for low in range(1, (values["whole"] + 1) // 2):
                if 4 * low * (values["whole"] - low) == inner:
                    return gold.ordered([values["whole"] - low, low])
            return None
        root = values["root"]
        if ask == "rationalize":
            # Multiplied by the denominator again, two linear equations in x and y.
            a = values["factor"]
            b = values["other"] if values["sign"] == "+" else -values["other"]
            determinant = a * a * root - b * b
            x, y = values["top"] * a, -values["top"] * b
            return gold.ordered([Fraction(x, determinant), Fraction(y, determinant)])
        # As matrices: 1 is the identity, and the root is a matrix whose square is the number.
        found = [[1, 0], [0, 1]]
        for body, power in re.findall(r"\((.*?)\)(?:\^([0-9]+))?", values["product"]):
            whole, sign, root_part = body.split(" ")
            b = int(sign + (root_part.partition("\\")[0] or "1"))
            matrix = [[int(whole), b * root], [b, int(whole)]]
            for _ in range(int(power or 1)):
                found = [
                    [sum(row[k] * matrix[k][column] for k in (0, 1)) for column in (0, 1)]
                    for row in found
                ]
        return gold.ordered([found[0][0], found[1][0]])


def _times(factor: int, root: int) -> str:
    return f"{factor if factor > 1 else ''}\\sqrt{{{root}}}"


def _collect(rng: random.Random, count: int, size: float, root: int) -> Drawn:
    text, steps, total = "", [], 0
    for place in range(count):
        outer = base.whole(rng, 1, size / 2)
        inner = base.whole(rng, 2 if place == 0 or rng.random() < 0.9 else 1, size)
        product = outer * inner
        minus = total > product and rng.random() < 0.5
        sign = (" - " if minus else " + ") if place else ""
        text += f"{sign}{_times(outer, inner * inner * root)}"
        total += -product if minus else product
        if inner > 1:
            front = f"{outer} \\cdot " if outer > 1 else ""
            steps.append(
                f"${_times(outer, inner * inner * root)} = {front}"
                f"\\sqrt{{{inner}^2 \\cdot {root}}} = {_times(product, root)}$"
            )
    added = f" All terms together have ${total}$ as their factor of $\\sqrt{{{root}}}$."
    return Drawn(
        ask="collect",
        values={"sum": text},
        gold=gold.ordered([total, root]),
        steps=f"{', '.join(steps)}.{added if count > 1 else ''}",
    )


def _from_square(text: str) -> Gold | None:
    """From the square of the sum, in which all roots come out, and its largest square divisor."""
    terms = [
        (int(f"{sign}{factor or 1}"), int(inside)) for sign, factor, inside in _TERM.findall(text)
    ]
    square, size = 0, 0
    for one, inside in terms:
        size += one * math.isqrt(inside * 10**30)
        for other, beside in terms:
            square += one * other * math.isqrt(inside * beside)
    if size <= 0 or square <= 0:
        return None
    outer = math.isqrt(square)
    while square % (outer * outer):
        outer -= 1
    return gold.ordered([outer, square // (outer * outer)])


def _expand(rng: random.Random, size: float, root: int) -> Drawn:
    one, more = base.whole(rng, 1, size), base.whole(rng, 1, size / 2)
    first = -more if rng.random() < 0.5 else more
    left = f"({one} {'-' if first < 0 else '+'} {_times(more, root)})"
    if rng.random() < 0.4:
        power = base.whole(rng, 2, 3 + (size > 8))
        x, y, steps = one, first, []
        for step in range(2, power + 1):
            x, y = one * x + first * y * root, one * y + first * x
            steps.append(f"the power ${step}$ is ${_sum(x, y, root)}$")
        text, shown = f"{left}^{power}", f"Multiplying step by step, {', '.join(steps)}."
    else:
        two, again = base.whole(rng, 1, size), base.whole(rng, 1, size / 2)
        second = -again if rng.random() < 0.5 else again
        text = f"{left}({two} {'-' if second < 0 else '+'} {_times(again, root)})"
        x, y = one * two + first * second * root, one * second + two * first
        shown = (
            f"The parts without a root are ${one} \\cdot {two} = {one * two}$ and "
            f"${_bracket(first)} \\cdot {_bracket(second)} \\cdot {root} = "
            f"{first * second * root}$. Those with one are ${one} \\cdot {_bracket(second)} = "
            f"{one * second}$ and ${two} \\cdot {_bracket(first)} = {two * first}$ times "
            f"$\\sqrt{{{root}}}$."
        )
    return Drawn(
        ask="expand",
        values={"product": text, "root": root},
        gold=gold.ordered([x, y]),
        steps=shown,
    )


def _sum(x: int, y: int, root: int) -> str:
    if not y:
        return str(x)
    later = f"{'-' if y < 0 else '+'} {_times(abs(y), root)}"
    return f"{x} {later}" if x else later.replace("+ ", "").replace("- ", "-")


def _bracket(number: int) -> str:
    return f"({number})" if number < 0 else str(number)


def _nested(rng: random.Random, size: float, root: int) -> Drawn:
    low, high = sorted(base.distinct(rng, 2, 1, int(3 * size)))
    while math.isqrt(low * high) ** 2 == low * high:  # then no roots would be left
        high += 1
    sign = base.chosen(rng, "+-")
    return Drawn(
        ask="nested",
        values={"whole": low + high, "inner": 4 * low * high, "sign": sign},
        gold=gold.ordered([high, low]),
        steps=f"Squaring gives $x + y {sign} 2\\sqrt{{xy}}$, so $x + y = {low + high}$ and $4xy = "
        f"{4 * low * high}$. Then $(x - y)^2 = {low + high}^2 - {4 * low * high} = "
        f"{(high - low) ** 2}$ and $x - y = {high - low}$.",
    )


def _rationalize(rng: random.Random, size: float, root: int) -> Drawn:
    factor, other = base.whole(rng, 2, max(2, size / 2)), base.whole(rng, 1, size)
    top, sign = base.whole(rng, 1, 2 * size), base.chosen(rng, "+-")
    norm = factor * factor * root - other * other
    turned = "-" if sign == "+" else "+"
    b = -other if sign == "+" else other
    return Drawn(
        ask="rationalize",
        values={
            "top": top,
            "factor": factor,
            "root": root,
            "sign": sign,
            "other": other,
        },
        gold=gold.ordered([Fraction(top * factor, norm), Fraction(top * b, norm)]),
        steps=f"Multiply above and below by ${_times(factor, root)} {turned} {other}$. The "
        f"denominator becomes ${factor * factor * root} - {other * other} = {norm}$ and the "
        f"numerator ${_times(top * factor, root)} {turned} {top * other}$.",
    )
