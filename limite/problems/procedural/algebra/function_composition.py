"""Compositions of functions."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import bracketed, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FunctionComposition(Family):
    """A function of a function: its value at a number, or its coefficients."""

    name = "function-composition"
    tag = "algebra/functions"
    wordings = Wordings(
        value=(
            "Let $f(x) = <f:polynomial>$ and $g(x) = <g:polynomial>$. Find $<chain:text>(<at>)"
            "<close:text>$.",
            "If $f(x) = <f:polynomial>$ and $g(x) = <g:polynomial>$, what is $<chain:text>(<at>)"
            "<close:text>$?",
        ),
        coefficients=(
            "Let $f(x) = <f:polynomial>$ and $g(x) = <g:polynomial>$. Write $<chain:text>(x)"
            "<close:text>$ as a polynomial in $x$ and give the tuple of its coefficients, from the "
            "highest power down to the constant term, zeros included.",
            "For $f(x) = <f:polynomial>$ and $g(x) = <g:polynomial>$, expand $<chain:text>(x)"
            "<close:text>$. List all its coefficients in order as a tuple, beginning with the "
            "highest power; write a zero for every missing power.",
        ),
    )

    links: Ends = dial(2, 4, "how many functions one in another", least=2, most=5)
    degree: Ends = dial(1, 2, "degree of the functions", most=3)
    coefficient: Ends = dial(4, 8, "largest coefficient", least=2, most=50)
    expanded: Ends = dial(0, 0.6, "share that asks for coefficients", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        largest = base.steady(self.coefficient, difficulty)
        degree = base.steady(self.degree, difficulty)
        links = base.whole_near(rng, base.steady(self.links, difficulty))
        expanded = rng.random() < base.steady(self.expanded, difficulty)
        if expanded:
            links = min(links, 3)
        f, g = (_function(rng, largest, base.whole_near(rng, degree)) for _ in range(2))
        if links > 2 and len(f) + len(g) > 5:
            f = _function(rng, largest, 1)  # the numbers stay within reason
        if rng.random() < 0.5:
            f, g = g, f
        order = (["f", "g"] if rng.random() < 0.5 else ["g", "f"]) * 3
        order = order[:links]
        named = {"f": f, "g": g}
        chain, close = "(".join(order), ")" * (links - 1)
        values: dict[str, Any] = {"f": f, "g": g, "chain": chain, "close": close}
        if expanded:
            found: Polynomial = (0, 1)
            steps = []
            inside = "x"
            for name in reversed(order):
                found = polynomials.composed(named[name], found)
                inside = f"{name}({inside})"
                steps.append(f"${inside} = {latex(found)}$")
            return Drawn(
                ask="coefficients",
                values=values,
                gold=gold.ordered(found[::-1]),
                steps=f"From the inside out: {', then '.join(steps)}.",
            )
        at = value = nonzero(rng, 5)
        steps = []
        for name in reversed(order):
            after = int(polynomials.value(named[name], value))
            steps.append(f"${name}({value}) = {_inserted(named[name], value)} = {after}$")
            value = after
        return Drawn(
            ask="value",
            values={**values, "at": at},
            gold=gold.integer(value),
            steps=f"From the inside out: {', then '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # A value from the composed polynomial, the polynomial from its values.
        order = values["chain"].split("(")
        if len(values["close"]) != len(order) - 1:
            return None
        functions = [values[name] for name in order]
        if ask == "value":
            whole: Polynomial = functions[0]
            for inner in functions[1:]:
                whole = polynomials.composed(whole, inner)
            return gold.integer(int(polynomials.value(whole, values["at"])))
        degree = 1
        for each in functions:
            degree *= len(each) - 1
        points = []
        for at in range(-(degree // 2), degree - degree // 2 + 1):
            value = polynomials.value((0, 1), at)
            for each in reversed(functions):
                value = polynomials.value(each, value)
            points.append((at, value))
        return gold.ordered(polynomials.through(points)[::-1])


def _function(rng: random.Random, largest: float, degree: int) -> Polynomial:
    lead = nonzero(rng, largest / 2)
    if degree == 1 and abs(lead) == 1:
        lead *= 2
    middle = [base.whole(rng, 0, largest) - int(largest) // 2 for _ in range(degree - 1)]
    return polynomials.polynomial([nonzero(rng, largest), *middle, lead])


def _inserted(terms: Polynomial, at: int) -> str:
    """The polynomial with a number in place of x."""
    text = ""
    for power in range(len(terms) - 1, -1, -1):
        size = abs(terms[power])
        if not size:
            continue
        negative = terms[power] < 0
        text += (" - " if negative else " + ") if text else "-" * negative
        if power:
            shown = bracketed(at) if power == 1 else f"{bracketed(at)}^{power}"
            text += shown if size == 1 else f"{size} \\cdot {shown}"
        else:
            text += str(size)
    return text
