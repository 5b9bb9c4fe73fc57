"""Symmetric expressions in the roots of a polynomial."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import bracketed, later, nonzero, ratio
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number
from limite.problems.procedural.wording import Wordings, ratio_text

_NAMES = "rst"


@attrs.frozen(kw_only=True)
class RootSums(Family):
    """A symmetric expression in the roots of a quadratic or cubic, without solving it."""

    name = "root-sums"
    tag = "algebra/roots-and-coefficients"
    wordings = Wordings(
        powers=(
            "Let $<names:text>$ be the complex roots of $<terms:polynomial>$, counted with "
            "multiplicity. Find the value of $<asked:text>$.",
            "The equation $<terms:polynomial> = 0$ has the roots $<names:text>$ in the complex "
            "numbers (listed with multiplicity). What is $<asked:text>$?",
        ),
        value=(
            "Let $<names:text>$ be the complex roots of $<terms:polynomial>$, counted with "
            "multiplicity. Find $<asked:text>$ exactly.",
            "If $<names:text>$ are all the roots of $<terms:polynomial> = 0$ in the complex "
            "numbers, with multiplicity, what is $<asked:text>$? Give the exact value.",
        ),
    )

    degree: Ends = dial(2, 3, "degree of the polynomial", least=2, most=3)
    power: Ends = dial(2, 5, "highest power of the roots", least=2, most=12)
    coefficient: Ends = dial(6, 9, "largest coefficient", least=2, most=100)
    lead: Ends = dial(1, 3, "largest leading coefficient", most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        size = base.steady(self.coefficient, difficulty)
        kind = base.chosen(rng, ("powers", "reciprocals", "shifted"))
        lead = 1
        if kind != "powers":
            lead = base.whole(rng, 1, base.steady(self.lead, difficulty))
        terms = (*(nonzero(rng, size) for _ in range(degree)), lead)
        # The elementary symmetric functions of the roots: their sum, ..., their product.
        parts = [
            ratio(-terms[degree - k] if k % 2 else terms[degree - k], lead)
            for k in range(1, degree + 1)
        ]
        names = _NAMES[:degree]
        intro = f"By Vieta, {_elementary(names, parts)}. "
        if kind == "powers":
            power = base.whole(rng, 2, base.steady(self.power, difficulty))
            answer, steps = _power_sum(names, parts, power)
            asked = " + ".join(f"{name}^{{{power}}}" for name in names)
            found = gold.integer(int(answer))
        elif kind == "reciprocals":
            asked = " + ".join(f"\\frac{{1}}{{{name}}}" for name in names)
            answer = polynomials.quotient(parts[-2], parts[-1])
            steps = (
                f"Over the common denominator ${names}$ this is ${_second(names)}$ divided by "
                f"${names}$, that is ${bracketed(parts[-2])}\\div {bracketed(parts[-1])}$."
            )
            found = gold.rational(answer)
        else:
            shift = nonzero(rng, 4)
            if polynomials.value(terms, -shift) == 0:
                shift = next(each for each in range(2, 7) if polynomials.value(terms, -each))
            asked = "".join(f"({name}{later(shift)})" for name in names)
            answer, steps = _shifted(names, parts, shift)
            found = gold.rational(answer)
        return Drawn(
            ask="powers" if kind == "powers" else "value",
            values={"names": ", ".join(names), "terms": terms, "asked": asked},
            gold=found,
            steps=intro + steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the companion matrix C, whose eigenvalues are the roots: traces and determinants.
        terms, asked = values["terms"], values["asked"]
        kind = ask if ask == "powers" else "shifted" if "(" in asked else "reciprocals"
        if kind == "reciprocals":
            terms = terms[::-1]  # the roots of this polynomial are the reciprocals
        size = len(terms) - 1
        last: list[Number] = [polynomials.quotient(-each, terms[-1]) for each in terms[:-1]]
        companion: list[list[Number]] = [
            [*(int(column == row - 1) for column in range(size - 1)), last[row]]
            for row in range(size)
        ]
        if kind == "shifted":
            shift = int(asked[2 : asked.index(")")].replace(" ", ""))
            for row in range(size):
                companion[row][row] += shift
            return gold.rational(exact.determinant(companion))
        power = int(asked[asked.index("{") + 1 : asked.index("}")]) if kind == "powers" else 1
        raised = companion
        for _ in range(power - 1):
            raised = exact.multiplied(raised, companion)
        trace = sum(raised[row][row] for row in range(size))
        return gold.rational(trace) if kind == "reciprocals" else gold.integer(int(trace))


def _second(names: str) -> str:
    """The symmetric function one degree below the product."""
    if len(names) == 2:
        return " + ".join(names)
    return " + ".join(f"{names[a]}{names[b]}" for a, b in ((0, 1), (1, 2), (2, 0)))


def _elementary(names: str, parts: list[Number]) -> str:
    shown = [f"${' + '.join(names)} = {ratio_text(parts[0])}$"]
    if len(names) == 3:
        shown.append(f"${_second(names)} = {ratio_text(parts[1])}$")
    shown.append(f"${names} = {ratio_text(parts[-1])}$")
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def _power_sum(names: str, parts: list[Number], power: int) -> tuple[Number, str]:
    """By the recurrence that the power sums obey."""
    first, second = parts[0], parts[1]
    third = parts[2] if len(parts) == 3 else 0
    sums: list[Number] = [len(parts), first, first * first - 2 * second]
    text = (
        f"Write $S_k$ for the sum of the $k$-th powers of the roots. Then $S_2 = "
        f"{bracketed(first)}^2 - 2 \\cdot {bracketed(second)} = {sums[2]}$."
    )
    for k in range(3, power + 1):
        value = first * sums[k - 1] - second * sums[k - 2] + third * sums[k - 3]
        products = f"{bracketed(first)} \\cdot {bracketed(sums[k - 1])} - " + (
            f"{bracketed(second)} \\cdot {bracketed(sums[k - 2])}"
        )
        if third:
            products += f" + {bracketed(third)} \\cdot {bracketed(sums[k - 3])}"
        text += f" As each root satisfies the equation, $S_{{{k}}} = {products} = {value}$."
        sums.append(value)
    return sums[power], text.replace(" As each root satisfies the equation, ", " Next, ").replace(
        " Next, ", " As each root satisfies the equation, ", 1
    )


def _shifted(names: str, parts: list[Number], shift: int) -> tuple[Number, str]:
    """By multiplying the factors out."""
    coefficients = [shift ** (len(parts) - 1 - k) for k in range(len(parts))]
    terms = [
        f"{bracketed(times)} \\cdot {bracketed(part)}" if times != 1 else bracketed(part)
        for times, part in zip(coefficients, parts, strict=True)
    ]
    total = sum(
        (times * part for times, part in zip(coefficients, parts, strict=True)),
        shift ** len(parts),
    )
    return polynomials.plain_number(total), (
        f"Multiplying out gives ${bracketed(shift)}^{len(parts)} + {' + '.join(terms)} = "
        f"{ratio_text(total)}$."
    )
