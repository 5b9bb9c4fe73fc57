"""Sequences and sums with a number that another question gives."""

from __future__ import annotations

import attrs

from limite.problems.procedural.algebra.ages import Ages
from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.combinatorics.digit_counting import DigitCounting
from limite.problems.procedural.number_theory.divisor_functions import DivisorFunctions
from limite.problems.procedural.sequences.arithmetic_sequence import ArithmeticSequence
from limite.problems.procedural.sequences.double_sum import DoubleSum
from limite.problems.procedural.sequences.figurate_numbers import FigurateNumbers
from limite.problems.procedural.sequences.linear_recurrence import LinearRecurrence


@attrs.frozen(kw_only=True)
class ComposedSequences(Composed):
    """A question about sequences in which the answers to other questions stand."""

    name = "composed-sequences"
    tag = "composed/sequences"
    givers = (
        Ages(),
        DivisorFunctions(),
        DigitCounting(),
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
            DoubleSum(),
            {
                "square": (
                    "high",
                    "a",
                ),
                "products": (
                    "high",
                    "b",
                ),
                "triangle": (
                    "high",
                    "b",
                ),
                "pairs": ("high",),
                "table": ("right",),
                "larger": ("high",),
            },
        ),
        Link(
            ArithmeticSequence(),
            {
                "term": (
                    "count",
                    "first",
                    "step",
                ),
                "sum": (
                    "count",
                    "first",
                    "step",
                ),
                "seats": (
                    "count",
                    "step",
                ),
                "weeks": ("total",),
                "length": ("last",),
            },
        ),
        Link(
            LinearRecurrence(),
            {
                "first": (
                    "start",
                    "place",
                ),
                "second": (
                    "start",
                    "next",
                    "place",
                ),
                "residue": (
                    "start",
                    "place",
                ),
            },
        ),
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
