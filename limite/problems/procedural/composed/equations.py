"""Equations and functions with a number that another question gives."""

from __future__ import annotations

import attrs

from limite.problems.procedural.algebra.absolute_equation import AbsoluteEquation
from limite.problems.procedural.algebra.constrained_extremum import ConstrainedExtremum
from limite.problems.procedural.algebra.determinant import Determinant
from limite.problems.procedural.algebra.function_composition import FunctionComposition
from limite.problems.procedural.algebra.functional_equation import FunctionalEquation
from limite.problems.procedural.algebra.inverse_function import InverseFunction
from limite.problems.procedural.algebra.parabola_equation import ParabolaEquation
from limite.problems.procedural.algebra.polynomial_remainder import PolynomialRemainder
from limite.problems.procedural.algebra.root_sums import RootSums
from limite.problems.procedural.algebra.sum_and_product import SumAndProduct
from limite.problems.procedural.algebra.surd_simplification import SurdSimplification
from limite.problems.procedural.chain import Composed, Link


@attrs.frozen(kw_only=True)
class ComposedEquations(Composed):
    """A question of algebra in which the answers to other questions stand."""

    name = "composed-equations"
    tag = "composed/algebra"
    givers = (
        SumAndProduct(),
        Determinant(),
        RootSums(),
        PolynomialRemainder(),
        SurdSimplification(),
    )
    middles = (
        Link(
            SumAndProduct(),
            {
                "powers": (
                    "sum",
                    "product",
                ),
                "squares": ("sum",),
                "reciprocal": ("sum",),
            },
        ),
    )
    lasts = (
        Link(
            ConstrainedExtremum(),
            {"squares": ("total",), "product": ("total",), "fence": ("total",)},
        ),
        Link(FunctionalEquation(), {"value": ("at",), "mirror": ("at",)}),
        Link(FunctionComposition(), {"value": ("at",)}),
        Link(Determinant(), {"entry": ("value",)}),
        Link(InverseFunction(), {"value": ("at",)}),
        Link(
            ParabolaEquation(),
            {
                "zeros": ("s",),
                "vertex": (
                    "q",
                    "s",
                ),
                "points": ("u",),
            },
        ),
        Link(AbsoluteEquation(), {"two": ("right",)}),
    )
