"""Word problems with a number that another one gives."""

from __future__ import annotations

import attrs

from limite.problems.procedural.algebra.ages import Ages
from limite.problems.procedural.algebra.prices import Prices
from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.numbers.consecutive_numbers import ConsecutiveNumbers
from limite.problems.procedural.numbers.ratio_sharing import RatioSharing
from limite.problems.procedural.numbers.successive_percentages import SuccessivePercentages


@attrs.frozen(kw_only=True)
class ComposedStories(Composed):
    """A word problem in which the answers to other word problems stand."""

    name = "composed-stories"
    tag = "composed/arithmetic"
    givers = (
        Ages(),
        Prices(),
        ConsecutiveNumbers(),
    )
    middles = (
        Link(
            Ages(),
            {
                "later": (
                    "difference",
                    "later",
                ),
                "now": (
                    "total",
                    "later",
                ),
                "both": (
                    "before",
                    "later",
                ),
            },
        ),
    )
    lasts = (
        Link(
            Ages(),
            {
                "later": (
                    "difference",
                    "later",
                ),
                "now": (
                    "total",
                    "later",
                ),
                "both": (
                    "before",
                    "later",
                ),
            },
        ),
        Link(
            Prices(),
            {
                "tickets": (
                    "total",
                    "count",
                    "full",
                )
            },
        ),
        Link(SuccessivePercentages(), {"after": ("start",)}),
        Link(RatioSharing(), {"largest": ("total",), "difference": ("total",)}),
    )
