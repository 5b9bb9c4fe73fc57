"""Algebra and calculus: equations, polynomials, complex numbers and antiderivatives."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.problems.gym import exact
from limite.problems.gym.adapter import Adapted
from limite.problems.gym.arithmetic import whole
from limite.problems.procedural import base, gold
from limite.problems.procedural.base import Ends, slow_start, steady
from limite.problems.procedural.family import dial
from limite.problems.procedural.gold import Gold


@attrs.frozen(kw_only=True)
class GymSimpleEquations(Adapted):
    """simple_equations: a linear equation in one letter."""

    name = "gym-simple-equations"
    dataset = "simple_equations"
    tag = "reasoning-gym/algebra"

    terms: Ends = dial(2, 6, "most terms", least=2, most=20)
    largest: Ends = dial(20, 200, "largest constant", least=5)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {
            "max_terms": base.whole_near(rng, steady(self.terms, difficulty)),
            "max_value": round(slow_start(self.largest, difficulty)),
        }

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        found = re.fullmatch(
            r"\D* ([a-zA-Z])(?: in the equation| that satisfies)?: (.*)=(.*)", question
        )
        if not found:
            return None
        left, right = (exact.polynomial(side, found[1]) for side in found.group(2, 3))
        terms = exact.plus(left, {each: -size for each, size in right.items()})
        if not set(terms) <= {0, 1} or 1 not in terms:
            return None
        root = -terms.get(0, Fraction(0)) / terms[1]
        return gold.integer(root.numerator) if root.denominator == 1 else None


def _expression(terms: exact.Polynomial, letter: str, **params: Any) -> Gold:
    text = exact.written(terms, letter)
    return gold.expression(text, text, [letter], **params)


@attrs.frozen(kw_only=True)
class GymSimpleIntegration(Adapted):
    """simple_integration: an antiderivative of a polynomial, up to its constant."""

    name = "gym-simple-integration"
    dataset = "simple_integration"
    tag = "reasoning-gym/calculus"

    terms: Ends = dial(2, 5, "most terms", least=2, most=8)
    degree: Ends = dial(3, 10, "highest degree", least=1, most=30)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {
            "max_terms": base.whole_near(rng, steady(self.terms, difficulty)),
            "max_degree": base.whole_near(rng, steady(self.degree, difficulty)),
            "symbols": ["x"],  # of X they ask for an integral over x, in which X is a constant
        }

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        plain = item["answer"].replace("**", "^").removesuffix(" + C")
        return gold.expression(plain, plain, ["x"], up_to="constant")

    def solve(self, question: str) -> Gold | None:
        found = re.search(r"∫ (.*) dx$", question, re.MULTILINE)
        if not found:
            return None
        terms = exact.integral(exact.polynomial(found[1], "x"))
        return _expression(terms, "x", up_to="constant")


@attrs.frozen(kw_only=True)
class GymIntermediateIntegration(Adapted):
    """intermediate_integration: antiderivatives by parts; confirmed by the data set's own scorer.

    The scorer differentiates the answer with sympy; nothing of limite solves these again.
    """

    name = "gym-intermediate-integration"
    dataset = "intermediate_integration"
    tag = "reasoning-gym/calculus"
    method = "checker"

    degree: Ends = dial(1, 3, "highest degree of a polynomial factor", most=6)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {
            "problem_types": ["polynomial_exp_trig", "exponential"],
            "problem_type_weights": [0.7, 0.3],
            "max_poly_degree": base.whole_near(rng, steady(self.degree, difficulty)),
        }

    def asked(self, item: Mapping[str, Any]) -> str:
        # An answer in the other notation, with E for a number, could not be read.
        return re.sub(
            r"(Use `exp\(x\)`) or `E\*\*\(x\)`(.*?) \(i\.e\..*?\)",
            r"\1\2",
            super().asked(item),
        )

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        plain = item["answer"].replace("**", "^").removesuffix(" + C")
        try:
            return gold.expression(plain, plain, ["x"], up_to="constant")
        except LimiteError:
            return None  # holds what answers of ours do not


@attrs.frozen(kw_only=True)
class GymComplexArithmetic(Adapted):
    """complex_arithmetic: two complex numbers added, taken away, multiplied or divided."""

    name = "gym-complex-arithmetic"
    dataset = "complex_arithmetic"
    tag = "reasoning-gym/algebra"

    largest: Ends = dial(5, 40, "largest part of a number", least=2)
    product: Ends = dial(0.2, 0.8, "share of products and quotients", least=0.0, most=1.0)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        most, share = round(slow_start(self.largest, difficulty)), steady(self.product, difficulty)
        return {
            "min_real": -most,
            "max_real": most,
            "min_imag": -most,
            "max_imag": most,
            "operations_weights": [(1 - share) / 2, (1 - share) / 2, share / 2, share / 2],
        }

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return gold.complex_number(*_complex(item["answer"]))

    def solve(self, question: str) -> Gold | None:
        found = re.fullmatch(r"[^:]*: \((.*?)\) ([-+×÷]) \((.*?)\)", question)
        if not found:
            return None
        (a, b), (c, d) = _complex(found[1]), _complex(found[3])
        if found[2] in "+-":
            sign = 1 if found[2] == "+" else -1
            return gold.complex_number(a + sign * c, b + sign * d)
        if found[2] == "×":
            return gold.complex_number(a * c - b * d, a * d + b * c)
        size = c * c + d * d
        return gold.complex_number((a * c + b * d) / size, (b * c - a * d) / size)


def _complex(text: str) -> tuple[Fraction, Fraction]:
    terms = exact.polynomial(re.sub(r"(?<=\d)i", "*i", text), "i")
    if not set(terms) <= {0, 1}:
        raise ValueError("no complex number")
    return terms.get(0, Fraction(0)), terms.get(1, Fraction(0))
