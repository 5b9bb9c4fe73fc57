"""Remainders and congruences with a number that another question gives."""

from __future__ import annotations

import attrs

from limite.problems.procedural.algebra.ages import Ages
from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.number_theory.divisor_functions import DivisorFunctions
from limite.problems.procedural.number_theory.euler_phi import EulerPhi
from limite.problems.procedural.number_theory.factorial_valuation import FactorialValuation
from limite.problems.procedural.number_theory.lcm_of_several import LcmOfSeveral
from limite.problems.procedural.number_theory.linear_congruence import LinearCongruence
from limite.problems.procedural.number_theory.modular_power import ModularPower
from limite.problems.procedural.sequences.arithmetic_sequence import ArithmeticSequence


@attrs.frozen(kw_only=True)
class ComposedRemainders(Composed):
    """A question about remainders in which the answers to other questions stand."""

    name = "composed-remainders"
    tag = "composed/number-theory"
    givers = (
        LcmOfSeveral(),
        Ages(),
        ArithmeticSequence(),
    )
    middles = (
        Link(EulerPhi(), {"count": ("number",), "sum": ("number",)}),
        Link(DivisorFunctions(), {"count": ("number",), "sum": ("number",), "odd": ("number",)}),
    )
    lasts = (
        Link(
            ModularPower(),
            {
                "remainder": (
                    "number",
                    "exponent",
                    "modulus",
                ),
                "residue": (
                    "number",
                    "exponent",
                ),
            },
        ),
        Link(LinearCongruence(), {"all": ("right",), "sum": ("right",)}),
        Link(FactorialValuation(), {"zeros": ("number",), "prime": ("number",)}),
    )
