"""Probabilities with a number that another question gives."""

from __future__ import annotations

import attrs

from limite.problems.procedural.algebra.ages import Ages
from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.combinatorics.stars_and_bars import StarsAndBars
from limite.problems.procedural.number_theory.divisor_functions import DivisorFunctions
from limite.problems.procedural.probability.dice_sums import DiceSums
from limite.problems.procedural.probability.shared_birthdays import SharedBirthdays
from limite.problems.procedural.sequences.arithmetic_sequence import ArithmeticSequence


@attrs.frozen(kw_only=True)
class ComposedProbability(Composed):
    """A question about chances in which the answers to other questions stand."""

    name = "composed-probability"
    tag = "composed/probability"
    givers = (
        Ages(),
        DivisorFunctions(),
        ArithmeticSequence(),
    )
    middles = (Link(StarsAndBars(), {"least": ("total",), "bounded": ("total",)}),)
    lasts = (
        Link(
            SharedBirthdays(),
            {
                "different": ("values",),
                "shared": ("values",),
                "one_pair": ("values",),
                "mine": ("values",),
            },
        ),
        Link(DiceSums(), {"exactly": ("sum",), "at_least": ("sum",)}),
    )
