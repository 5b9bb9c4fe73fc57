"""Square roots: sums, quotients and roots of roots in simplest form."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, surds
from limite.problems.procedural.algebra.writing import nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_ROOTS = (2, 3, 5, 6, 7, 10, 11, 13)


@attrs.frozen(kw_only=True)
class SurdSimplification(Family):
    """The rational numbers in the simplest form of an expression with square roots."""

    name = "surd-simplification"
    tag = "algebra/radicals"
    wordings = Wordings(
        sum=(
            "Write $<sum:text>$ in the form $k\\sqrt{<root>}$ with an integer $k$. What is $k$?",
            "Find the integer $k$ with $<sum:text> = k\\sqrt{<root>}$.",
        ),
        quotient=(
            "Rationalise the denominator: $<quotient:text> = a + b\\sqrt{<root>}$ with rational "
            "$a$ and $b$. Give the pair $(a, b)$.",
            "Find the pair $(a, b)$ of rational numbers with $<quotient:text> = a + "
            "b\\sqrt{<root>}$.",
        ),
        nested=(
            "Find the pair $(a, b)$ of integers with $<nested:text> = a + b\\sqrt{<root>}$.",
            "The number $<nested:text>$ has the form $a + b\\sqrt{<root>}$ with integers $a$ and "
            "$b$. Give the pair $(a, b)$.",
        ),
    )

    terms: Ends = dial(2, 4, "how many roots in a sum", least=2, most=6)
    factor: Ends = dial(4, 9, "largest factor before a root", least=3, most=30)
    harder: Ends = dial(0, 0.8, "share of quotients and roots of roots", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        root = base.chosen(rng, _ROOTS)
        largest = base.steady(self.factor, difficulty)
        if rng.random() >= base.steady(self.harder, difficulty):
            count = base.whole_near(rng, base.steady(self.terms, difficulty))
            return _sum(rng, root, count, largest)
        return (_quotient if rng.random() < 0.6 else _nested)(rng, root, largest)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        root = values["root"]
        if ask == "sum":
            # Each root over the common one is the root of a square.
            total = 0
            for sign, times, inside in _TERM.findall(values["sum"]):
                square, rest = divmod(int(inside), root)
                times = int(times or 1) * math.isqrt(square)
                if rest or math.isqrt(square) ** 2 != square:
                    return None
                total += -times if sign.strip() == "-" else times
            return gold.integer(total)
        if ask == "nested":
            inner = _INNER.search(values["nested"])
            if inner is None:
                return None
            whole, part = int(inner[1]), int(inner[3]) * (-1 if inner[2] == "-" else 1)
            for b in range(-40, 41):
                for a in _square_roots(whole - b * b * root):
                    # a + b sqrt(root) is not negative: decided by squares.
                    positive = a >= 0 and (b >= 0 or a * a >= b * b * root)
                    positive = positive or (a < 0 < b and b * b * root >= a * a)
                    if 2 * a * b == part and positive:
                        return gold.ordered([a, b], ["a", "b"])
            return None
        # (c + d sqrt n)(a + b sqrt n) = p + q sqrt n, a linear system in a and b.
        above, _, below = values["quotient"][6:-1].partition("}{")
        p, q = _read(above, root)
        c, d = _read(below, root)
        size = c * c - d * d * root
        return gold.ordered(
            [Fraction(p * c - q * d * root, size), Fraction(q * c - p * d, size)], ["a", "b"]
        )


_TERM = re.compile(r"(-| - |)(?: \+ )?([0-9]*)\\sqrt\{([0-9]+)\}")
_INNER = re.compile(r"\\sqrt\{([0-9]+) ([-+]) ([0-9]*)\\sqrt")


def _square_roots(number: int) -> list[int]:
    if number < 0 or math.isqrt(number) ** 2 != number:
        return []
    return [math.isqrt(number), -math.isqrt(number)]


def _read(text: str, root: int) -> tuple[int, int]:
    """Whole part and factor of the root in ``3 - 2\\sqrt{5}``."""
    tail = f"\\sqrt{{{root}}}"
    if not text.endswith(tail):
        return int(text), 0
    text = text.removesuffix(tail).replace(" ", "")
    place = max(text.rfind("+"), text.rfind("-"))
    whole, part = (text[:place], text[place:]) if place >= 0 else ("", text)
    return int(whole or 0), int(part + "1" if part in ("", "+", "-") else part)


def _sum(rng: random.Random, root: int, count: int, largest: float) -> Drawn:
    text, total, steps = "", 0, []
    for place in range(count):
        inner = base.whole(rng, 2, largest)
        outer = base.whole(rng, 1, 1 + largest / 4)
        minus = place > 0 and rng.random() < 0.5
        if place and total == (inner * outer if minus else -inner * outer):
            minus = not minus  # the sum is never zero
        total += -inner * outer if minus else inner * outer
        text += (" - " if minus else " + ") if place else ""
        shown = "" if outer == 1 else str(outer)
        text += f"{shown}\\sqrt{{{inner * inner * root}}}"
        steps.append(f"$\\sqrt{{{inner * inner * root}}} = {inner}\\sqrt{{{root}}}$")
    return Drawn(
        ask="sum",
        values={"sum": text, "root": root},
        gold=gold.integer(total),
        steps=f"Taking squares out of the roots, {', '.join(dict.fromkeys(steps))}. So the sum is "
        f"${surds.latex(0, total, root)}$.",
    )


def _quotient(rng: random.Random, root: int, largest: float) -> Drawn:
    c, d = base.whole(rng, 1, largest), nonzero(rng, 3)
    p, q = base.whole(rng, 1, largest), base.whole(rng, 0, 2)
    below, conjugate = surds.latex(c, d, root), surds.latex(c, -d, root)
    above = surds.latex(p, q, root) if q else str(p)
    size = c * c - d * d * root
    top = (p * c - q * d * root, q * c - p * d)
    if top[1] == 0:
        p += 1
        above = surds.latex(p, q, root) if q else str(p)
        top = (p * c - q * d * root, q * c - p * d)
    return Drawn(
        ask="quotient",
        values={"quotient": f"\\frac{{{above}}}{{{below}}}", "root": root},
        gold=gold.ordered([Fraction(each, size) for each in top], ["a", "b"]),
        steps=f"Multiply above and below by ${conjugate}$. Below, $({below})({conjugate}) = "
        f"{c * c} - {d * d * root} = {size}$; above, "
        f"${f'({above})' if q else above}({conjugate}) = {_plain(top, root)}$.",
    )


def _nested(rng: random.Random, root: int, largest: float) -> Drawn:
    a, b = base.whole(rng, 1, largest), base.whole(rng, 1, largest / 2)
    if rng.random() < 0.5:  # a - b sqrt(n), or the other way round where that is positive
        a, b = (a, -b) if a * a > b * b * root else (-a, b)
    whole, part = a * a + b * b * root, 2 * a * b
    inside = surds.latex(whole, part, root)
    return Drawn(
        ask="nested",
        values={"nested": f"\\sqrt{{{inside}}}", "root": root},
        gold=gold.ordered([a, b], ["a", "b"]),
        steps=f"Squaring, $a^2 + {root}b^2 = {whole}$ and $2ab = {part}$. The integers "
        f"$a = {a}$ and $b = {b}$ satisfy both, since ${a * a} + {root} \\cdot {b * b} = {whole}$, "
        f"and ${surds.latex(a, b, root)}$ is positive.",
    )


def _plain(parts: tuple[int, int], root: int) -> str:
    return surds.latex(*parts, root)
