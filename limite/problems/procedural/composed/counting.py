"""Counting where one of the numbers is the answer to another question."""

from __future__ import annotations

import attrs

from limite.problems.procedural.algebra.ages import Ages
from limite.problems.procedural.algebra.prices import Prices
from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.combinatorics.domino_tilings import DominoTilings
from limite.problems.procedural.combinatorics.fixed_points import FixedPoints
from limite.problems.procedural.combinatorics.partitions import Partitions
from limite.problems.procedural.combinatorics.stair_climbing import StairClimbing
from limite.problems.procedural.combinatorics.stars_and_bars import StarsAndBars
from limite.problems.procedural.number_theory.euler_phi import EulerPhi


@attrs.frozen(kw_only=True)
class ComposedCounting(Composed):
    """A question that counts, with numbers that other questions give."""

    name = "composed-counting"
    tag = "composed/combinatorics"
    givers = (
        Ages(),
        Prices(),
        EulerPhi(),
    )
    middles = (Link(StarsAndBars(), {"least": ("total",), "bounded": ("total",)}),)
    lasts = (
        Link(StarsAndBars(), {"least": ("total",), "bounded": ("total",)}),
        Link(
            Partitions(),
            {
                "distinct": ("number",),
                "odd": ("number",),
                "exactly": (
                    "number",
                    "bound",
                ),
                "at_most": (
                    "number",
                    "bound",
                ),
            },
        ),
        Link(
            StairClimbing(),
            {
                "all": ("stairs",),
                "strides": (
                    "stairs",
                    "strides",
                ),
            },
        ),
        Link(
            FixedPoints(),
            {
                "none": ("count",),
                "exactly": (
                    "count",
                    "fixed",
                ),
            },
        ),
        Link(DominoTilings(), {"two": ("length",), "three": ("length",), "squares": ("length",)}),
    )
