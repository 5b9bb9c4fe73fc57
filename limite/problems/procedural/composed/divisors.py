"""Divisors and factors of a number that another question gives."""

from __future__ import annotations

import attrs

from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.combinatorics.committees import Committees
from limite.problems.procedural.combinatorics.lattice_paths import LatticePaths
from limite.problems.procedural.combinatorics.stair_climbing import StairClimbing
from limite.problems.procedural.number_theory.divisor_functions import DivisorFunctions
from limite.problems.procedural.number_theory.euler_phi import EulerPhi
from limite.problems.procedural.number_theory.prime_factors import PrimeFactors
from limite.problems.procedural.number_theory.primes_in_interval import PrimesInInterval
from limite.problems.procedural.number_theory.square_multiplier import SquareMultiplier
from limite.problems.procedural.number_theory.two_squares import TwoSquares


@attrs.frozen(kw_only=True)
class ComposedDivisors(Composed):
    """A question about divisors of a number that other questions give."""

    name = "composed-divisors"
    tag = "composed/number-theory"
    givers = (
        LatticePaths(),
        Committees(),
        StairClimbing(),
    )
    middles = (
        Link(EulerPhi(), {"count": ("number",), "sum": ("number",)}),
        Link(
            PrimesInInterval(),
            {
                "count": (
                    "low",
                    "high",
                ),
                "sum": (
                    "low",
                    "high",
                ),
                "next": ("low",),
            },
        ),
    )
    lasts = (
        Link(EulerPhi(), {"count": ("number",), "sum": ("number",)}),
        Link(DivisorFunctions(), {"count": ("number",), "sum": ("number",), "odd": ("number",)}),
        Link(PrimeFactors(), {"largest": ("number",), "count": ("number",)}),
        Link(
            SquareMultiplier(), {"square": ("number",), "cube": ("number",), "divide": ("number",)}
        ),
        Link(TwoSquares(), {"lattice": ("number",), "ways": ("number",)}),
    )
