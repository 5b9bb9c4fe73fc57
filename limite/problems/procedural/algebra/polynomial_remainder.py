"""Remainders of polynomials without division: values at the zeros of the divisor."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra.writing import bracketed, linear, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial, latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class PolynomialRemainder(Family):
    """The remainder of a polynomial of high degree, or the coefficient that leaves none."""

    name = "polynomial-remainder"
    tag = "algebra/polynomials"
    wordings = Wordings(
        linear=(
            "Find the remainder when $<terms:polynomial>$ is divided by $<divisor:polynomial>$.",
            "What remains when $<terms:polynomial>$ is divided by $<divisor:polynomial>$?",
        ),
        quadratic=(
            "Find the remainder polynomial when $<terms:polynomial>$ is divided by "
            "$<divisor:polynomial>$.",
            "The polynomial $<terms:polynomial>$ is divided by $<divisor:polynomial>$. Which "
            "polynomial of degree at most 1 remains?",
        ),
        factor=(
            "For which number $k$ is $<divisor:polynomial>$ a factor of $<parametric:text>$?",
            "Find the value of $k$ for which $<parametric:text>$ is divisible by "
            "$<divisor:polynomial>$.",
        ),
        divides=(
            "Is $<divisor:polynomial>$ a factor of $<terms:polynomial>$? Answer yes or no.",
            "Does $<divisor:polynomial>$ divide $<terms:polynomial>$ without a remainder? Answer "
            "yes or no.",
        ),
    )

    degree: Ends = dial(2, 12, "degree of the polynomial", least=2, most=40)
    coefficient: Ends = dial(4, 9, "largest coefficient", least=2, most=50)
    quadratic: Ends = dial(0, 0.5, "share of divisors of degree 2", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        degree = base.whole(rng, 2, base.slow_start(self.degree, difficulty))
        largest = base.steady(self.coefficient, difficulty)
        powers = {degree, 0, *(base.whole(rng, 1, degree - 1) for _ in range(2))}
        terms = polynomials.polynomial(
            nonzero(rng, largest) if power in powers else 0 for power in range(degree + 1)
        )
        root = nonzero(rng, 3 if degree < 6 else 2)
        if rng.random() < base.steady(self.quadratic, difficulty):
            return _quadratic(rng, terms, root)
        divisor: Polynomial = (-root, 1)
        remainder = int(polynomials.value(terms, root))
        chance = rng.random()
        if chance < 0.5:
            return Drawn(
                ask="linear",
                values={"terms": terms, "divisor": divisor},
                gold=gold.integer(remainder),
                steps=f"By the remainder theorem the remainder is the value at $x = {root}$: "
                f"{_substituted(terms, root)}.",
            )
        if chance < 0.75:
            # Half of them made divisible by a shift that is seldom seen, half surely not.
            shift = -remainder if chance < 0.625 else int(not remainder)
            terms, remainder = polynomials.plus(terms, (shift,)), remainder + shift
            return Drawn(
                ask="divides",
                values={"terms": terms, "divisor": divisor},
                gold=gold.boolean(remainder == 0),
                steps=f"The divisor is zero at $x = {root}$, where the polynomial has the value "
                f"{_substituted(terms, root)}. It divides the polynomial exactly when this value "
                "is zero.",
            )
        power = base.chosen(rng, sorted(powers - {0, degree}))
        without = tuple(0 if each == power else size for each, size in enumerate(terms))
        rest = int(polynomials.value(without, root))
        k = polynomials.quotient(-rest, root**power)
        return Drawn(
            ask="factor",
            values={"parametric": _with_k(without, power), "divisor": divisor},
            gold=gold.rational(k),
            steps=f"The value at $x = {root}$ must be zero. It is "
            f"${linear([root**power], 'k', rest)}$, so ${linear([root**power], 'k')} = {-rest}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By long division.
        divisor = values["divisor"]
        if ask == "factor":
            zero, one = (
                polynomials.divided(_at(values["parametric"], k), divisor)[1] for k in (0, 1)
            )
            at_zero, at_one = (int(rest[0]) if rest else 0 for rest in (zero, one))
            if at_zero == at_one:
                return None
            return gold.rational(polynomials.quotient(at_zero, at_zero - at_one))
        remainder = polynomials.divided(values["terms"], divisor)[1]
        if ask == "divides":
            return gold.boolean(not remainder)
        if ask == "linear":
            return gold.integer(int(remainder[0]) if remainder else 0)
        return gold.polynomial(remainder)


def _quadratic(rng: random.Random, terms: Polynomial, root: int) -> Drawn:
    other = -root if rng.random() < 0.5 else (1 if root != 1 else -1)
    divisor = polynomials.with_roots((root, other))
    at_root, at_other = (int(polynomials.value(terms, each)) for each in (root, other))
    slope = (at_root - at_other) // (root - other)
    found = "" if root - other == 1 else f", so $a = {slope}$"
    remainder = polynomials.through(((root, at_root), (other, at_other)))
    return Drawn(
        ask="quadratic",
        values={"terms": terms, "divisor": divisor},
        gold=gold.polynomial(remainder),
        steps=f"The divisor is zero at $x = {root}$ and $x = {other}$, so there the remainder "
        f"$ax + b$ has the values of the polynomial: ${linear([root, 1], 'ab')} = {at_root}$ and "
        f"${linear([other, 1], 'ab')} = {at_other}$. Subtracting gives "
        f"${linear([root - other], 'a')} = {at_root - at_other}${found} and "
        f"$b = {at_root - root * slope}$.",
    )


def _substituted(terms: Polynomial, at: int) -> str:
    """``$2 \\cdot 3^4 - 3 + 1 = 160$``."""
    text = ""
    for power in range(len(terms) - 1, -1, -1):
        size = abs(terms[power])
        if not size:
            continue
        sign = "-" if terms[power] < 0 else "+"
        text += f" {sign} " if text else "-" * (sign == "-")
        if power == 0:
            text += str(size)
            continue
        base_text = bracketed(at) if power == 1 else f"{bracketed(at)}^{{{power}}}"
        text += base_text if size == 1 else f"{size} \\cdot {base_text}"
    return f"${text} = {polynomials.value(terms, at)}$"


def _with_k(terms: Polynomial, power: int) -> str:
    """The polynomial with ``k x^power`` between its other terms."""
    above = latex((*(0,) * (power + 1), *terms[power + 1 :]))
    size = f"kx^{{{power}}}" if power > 9 else f"kx^{power}" if power > 1 else "kx"
    below = latex(terms[:power])
    joined = f" - {below[1:]}" if below.startswith("-") else f" + {below}"
    return f"{above} + {size}{joined}"


def _at(text: str, k: int) -> Polynomial:
    """The polynomial with a number in place of k."""
    before, _, after = text.partition(" + kx")
    power = 1
    if after.startswith("^"):
        exponent, _, after = after[1:].partition(" ")
        power = int(exponent.strip("{}"))
        after = f" {after}"
    return polynomials.plus(
        polynomials.read(before),
        polynomials.polynomial([0] * power + [k]),
        polynomials.read(
            after.removeprefix(" + ").replace(" - ", "-", 1) if after[:3] == " - " else after[3:]
        ),
    )
