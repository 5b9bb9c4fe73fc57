"""Decomposition of quotients of polynomials into partial fractions."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import (
    bracketed,
    factor,
    fraction,
    linear,
    listed,
    nonzero,
)
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number, Polynomial, latex
from limite.problems.procedural.wording import Wordings

_NAMES = "ABCD"


@attrs.frozen(kw_only=True)
class PartialFractions(Family):
    """The constants of a decomposition into partial fractions."""

    name = "partial-fractions"
    tag = "algebra/rational-functions"
    wordings = Wordings(
        "The numbers $<names:text>$ satisfy $\\frac{<above:polynomial>}{<below:text>} = "
        "<parts:text>$ for all $x$ where both sides are defined. Find $(<names:text>)$.",
        "Write $\\frac{<above:polynomial>}{<below:text>}$ in the form $<parts:text>$ with "
        "constants $<names:text>$. Answer with the tuple $(<names:text>)$.",
        "Decompose into partial fractions: $\\frac{<above:polynomial>}{<below:text>} = "
        "<parts:text>$. Give the tuple $(<names:text>)$.",
    )

    parts: Ends = dial(2, 3.4, "how many partial fractions", least=2, most=4)
    constant: Ends = dial(4, 9, "largest constant", least=2, most=50)
    special: Ends = dial(0, 0.6, "share with a square or a quadratic below", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.parts, difficulty))
        largest = base.steady(self.constant, difficulty)
        if count > 2 and rng.random() < base.steady(self.special, difficulty):
            return _special(rng, largest)
        roots = sorted(base.distinct(rng, count, -5, 5), key=lambda root: (root != 0, root))
        constants = [nonzero(rng, largest) for _ in roots]
        above: Polynomial = ()
        products = []
        for root, constant in zip(roots, constants, strict=True):
            others = [other for other in roots if other != root]
            above = polynomials.plus(above, polynomials.with_roots(others, constant))
            products.append("".join(factor(other) for other in others))
        names = _NAMES[:count]
        steps = []
        for root, constant, name in zip(roots, constants, names, strict=True):
            times = 1
            for other in roots:
                times *= 1 if other == root else root - other
            steps.append(f"$x = {root}$ gives ${times * constant} = {linear([times], name)}$")
        shown = " + ".join(name + product for name, product in zip(names, products, strict=True))
        return Drawn(
            values={
                "above": above,
                "below": "".join(map(factor, roots)),
                "parts": " + ".join(
                    fraction(name, latex((-root, 1)))
                    for name, root in zip(names, roots, strict=True)
                ),
                "names": ", ".join(names),
            },
            gold=gold.ordered(constants, list(names)),
            steps=f"Multiplying by the denominator gives ${latex(above)} = {shown}$. Here "
            f"{listed(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Both sides at a few points, as a linear system in the constants.
        names = values["names"].split(", ")
        parts = [(match[1], _denominator(match[2])) for match in _PART.finditer(values["parts"])]
        below = _denominator(values["below"])
        rows: list[list[Number]] = []
        right: list[Number] = []
        at = 6
        while len(rows) < len(names):
            at += 1
            under = polynomials.value(below, at)
            row: dict[str, Number] = dict.fromkeys(names, 0)
            for numerator, terms in parts:
                share = polynomials.quotient(under, polynomials.value(terms, at))
                for name in names:
                    if name in numerator:
                        row[name] = share * (at if f"{name}x" in numerator else 1)
            rows.append(list(row.values()))
            right.append(polynomials.value(values["above"], at))
        found = exact.solved(rows, right)
        return None if found is None else gold.ordered(found, names)


_PART = re.compile(r"\\frac\{([^}]*)\}\{([^}]*)\}")
_FACTOR = re.compile(r"\(([^()]*)\)(?:\^([0-9]))?|(x)")


def _denominator(text: str) -> Polynomial:
    if "(" not in text:
        return polynomials.read(text)
    found: Polynomial = (1,)
    for match in _FACTOR.finditer(text):
        one = polynomials.read(match[1] or match[3])
        found = polynomials.times(found, polynomials.raised(one, int(match[2] or 1)))
    return found


def _special(rng: random.Random, largest: float) -> Drawn:
    """With a squared factor, or one that has no real zero."""
    root, other = base.distinct(rng, 2, 1, 5)
    root = -root if rng.random() < 0.5 else root
    a, b, c = (nonzero(rng, largest) for _ in range(3))
    line, second = (-root, 1), (-other, 1)
    if rng.random() < 0.5:
        below = f"{factor(root)}^2{factor(other)}"
        above = polynomials.plus(
            polynomials.times(line, second, (a,)),
            polynomials.scaled(second, b),
            polynomials.times(line, line, (c,)),
        )
        parts = (
            f"{fraction('A', latex(line))} + {fraction('B', f'{factor(root)}^2')} + "
            f"{fraction('C', latex(second))}"
        )
        shown = f"A{factor(root)}{factor(other)} + B{factor(other)} + C{factor(root)}^2"
        square = (other - root) ** 2
        steps = (
            f"$x = {root}$ gives ${b * (root - other)} = {linear([root - other], 'B')}$ and "
            f"$x = {other}$ gives ${c * square} = {linear([square], 'C')}$. Comparing the "
            f"coefficients of $x^2$ gives ${a + c} = A + C$"
        )
    else:
        quadratic: Polynomial = (other, 0, 1)
        below = f"{factor(root)}({latex(quadratic)})"
        above = polynomials.plus(polynomials.scaled(quadratic, a), polynomials.times((c, b), line))
        parts = f"{fraction('A', latex(line))} + {fraction('Bx + C', latex(quadratic))}"
        shown = f"A({latex(quadratic)}) + (Bx + C){factor(root)}"
        value = root * root + other
        steps = (
            f"$x = {root}$ gives ${a * value} = {linear([value], 'A')}$, so $A = {a}$. Comparing "
            f"the coefficients of $x^2$ gives ${a + b} = A + B$, and the constant terms give "
            f"${a * other - c * root} = {other} \\cdot {bracketed(a)}"
            f"{' - ' if root > 0 else ' + '}{'' if abs(root) == 1 else abs(root)}C$"
        )
    return Drawn(
        values={"above": above, "below": below, "parts": parts, "names": "A, B, C"},
        gold=gold.ordered([a, b, c], ["A", "B", "C"]),
        steps=f"Multiplying by the denominator gives ${latex(above)} = {shown}$. Here {steps}.",
    )
