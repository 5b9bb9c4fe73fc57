"""Lengths, areas, volumes, masses, times and rates in other units."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

# From the largest unit down; each number says how many of the next make one.
_LENGTH = (("kilometre", 1000), ("metre", 10), ("decimetre", 10), ("centimetre", 10))
_SCALES: tuple[tuple[tuple[tuple[str, int], ...], str], ...] = (
    (_LENGTH, "millimetre"),
    ((("week", 7), ("day", 24), ("hour", 60), ("minute", 60)), "second"),
    ((("tonne", 1000), ("kilogram", 1000), ("gram", 1000)), "milligram"),
    ((("hectolitre", 100), ("litre", 10), ("decilitre", 10), ("centilitre", 10)), "millilitre"),
)
# For solve: every unit by itself, in metres, seconds, grams and litres.
_SIZES = {
    "kilometre": (1000, 1),
    "metre": (1, 1),
    "decimetre": (1, 10),
    "centimetre": (1, 100),
    "millimetre": (1, 1000),
    "week": (604_800, 1),
    "day": (86_400, 1),
    "hour": (3600, 1),
    "minute": (60, 1),
    "second": (1, 1),
    "tonne": (1_000_000, 1),
    "kilogram": (1000, 1),
    "gram": (1, 1),
    "milligram": (1, 1000),
    "hectolitre": (100, 1),
    "litre": (1, 1),
    "decilitre": (1, 10),
    "centilitre": (1, 100),
    "millilitre": (1, 1000),
}
_POWERS = {"square": 2, "cubic": 3}


@attrs.frozen
class _Change:
    """One unit exchanged for another: ``factor`` times as many, in these steps."""

    old: str
    new: str
    factor: Fraction
    steps: int
    fact: str


@attrs.frozen(kw_only=True)
class UnitConversion(Family):
    """A length, area, volume, mass, time, speed, density or flow in another unit."""

    name = "unit-conversion"
    tag = "arithmetic/units"
    wordings = Wordings(
        "Convert $<amount:ratio>$ <old:text> to <new:text>.",
        "How many <new:text> are $<amount:ratio>$ <old:text>?",
        "Express $<amount:ratio>$ <old:text> in <new:text>.",
    )

    distance: Ends = dial(1, 3, "how far apart the units of one scale may be", most=4)
    compound: Ends = dial(0, 0.8, "share of rates, which change two units", least=0, most=1)
    amount: Ends = dial(60, 500, "largest number of units", least=10)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        distance = base.steady(self.distance, difficulty)
        amount = base.whole(rng, 2, base.slow_start(self.amount, difficulty))
        if rng.random() < base.steady(self.compound, difficulty):
            scales = base.distinct(rng, 2, 0, len(_SCALES) - 1)
            upper = _change(rng, scales[0], distance, powers=True)
            lower = _change(rng, scales[1], distance, powers=True)
            old = f"{_plural(upper.old)} per {lower.old}"
            new = f"{_plural(upper.new)} per {lower.new}"
            result = amount * upper.factor / lower.factor
            steps = (
                f"{upper.fact} {lower.fact} So the number is multiplied by "
                f"${ratio_text(upper.factor)}$ for the {upper.new} and by "
                f"${ratio_text(1 / lower.factor)}$ for the {lower.new}: "
                f"${amount} \\cdot {ratio_text(upper.factor)} \\cdot "
                f"{ratio_text(1 / lower.factor)} = {ratio_text(result)}$."
            )
        else:
            change = _change(rng, int(rng.random() * len(_SCALES)), distance, powers=True)
            old, new = _plural(change.old), _plural(change.new)
            result = amount * change.factor
            steps = (
                f"{change.fact} So ${amount} \\cdot {ratio_text(change.factor)} = "
                f"{ratio_text(result)}$."
            )
        return Drawn(
            values={"amount": amount, "old": old, "new": new},
            gold=gold.rational(result),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        old, new = _size(values["old"]), _size(values["new"])
        return gold.rational(values["amount"] * old / new)


def _plural(unit: str) -> str:
    return f"{unit}s"


def _change(rng: random.Random, scale: int, distance: float, *, powers: bool) -> _Change:
    """Two units of one scale that differ, perhaps squared or cubed."""
    pairs, last = _SCALES[scale]
    names = [*(name for name, _ in pairs), last]
    apart = min(base.whole(rng, 1, distance), len(names) - 1)
    high = int(rng.random() * (len(names) - apart))
    low = high + apart
    many = 1
    for _, count in pairs[high:low]:
        many *= count
    power = base.whole(rng, 1, 3) if powers and scale == 0 else 1
    prefix = {1: "", 2: "square ", 3: "cubic "}[power]
    larger, smaller = prefix + names[high], prefix + names[low]
    raised = f"${many}^{power} = {many**power}$" if power > 1 else f"${many}$"
    fact = f"One {larger} is {raised} {_plural(smaller)}."
    if rng.random() < 0.5:
        return _Change(larger, smaller, Fraction(many**power), apart, fact)
    return _Change(smaller, larger, Fraction(1, many**power), apart, fact)


def _size(unit: str) -> Fraction:
    """A unit, or one per another, in metres, seconds, grams and litres."""
    top, _, bottom = unit.partition(" per ")
    size = Fraction(1)
    for words, up in ((top, True), (bottom, False)):
        if words:
            *prefix, name = words.split(" ")
            part = Fraction(*_SIZES[name.removesuffix("s")])
            part **= _POWERS[prefix[0]] if prefix else 1
            size = size * part if up else size / part
    return size
