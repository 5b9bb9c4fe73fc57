"""Derivatives and integrals with a number that another question gives."""

from __future__ import annotations

import attrs

from limite.problems.procedural.algebra.determinant import Determinant
from limite.problems.procedural.algebra.sum_and_product import SumAndProduct
from limite.problems.procedural.calculus.definite_integral import DefiniteIntegral
from limite.problems.procedural.calculus.derivative_at_point import DerivativeAtPoint
from limite.problems.procedural.calculus.tangent_line import TangentLine
from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.number_theory.lcm_of_several import LcmOfSeveral
from limite.problems.procedural.sequences.figurate_numbers import FigurateNumbers


@attrs.frozen(kw_only=True)
class ComposedCalculus(Composed):
    """A question of calculus in which the answers to other questions stand."""

    name = "composed-calculus"
    tag = "composed/calculus"
    givers = (
        LcmOfSeveral(),
        Determinant(),
        SumAndProduct(),
    )
    middles = (
        Link(
            FigurateNumbers(),
            {
                "triangular": ("place",),
                "polygonal": ("place",),
                "index": ("value",),
                "below": ("value",),
                "pyramid": ("place",),
                "tetrahedron": ("place",),
            },
        ),
    )
    lasts = (
        Link(
            DefiniteIntegral(),
            {"integral": ("high",), "mean": ("high",), "change": ("high",), "size": ("high",)},
        ),
        Link(
            DerivativeAtPoint(),
            {
                "polynomial": ("t",),
                "quotient": ("t",),
                "product": (
                    "f",
                    "dg",
                ),
                "ratio": (
                    "f",
                    "dg",
                ),
            },
        ),
        Link(TangentLine(), {"tangent": ("t",), "normal": ("t",)}),
    )
