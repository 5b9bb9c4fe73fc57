"""Variance and standard deviation of data."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.probability.roots import signed_root
from limite.problems.procedural.wording import Wordings, ratio_text

_WHOLE = (
    "taken as a whole population (the sum of the squared deviations is divided by their number)"
)
_SAMPLE = (
    "taken as a sample (the sum of the squared deviations is divided by one less than their number)"
)


@attrs.frozen(kw_only=True)
class SpreadOfData(Family):
    """The variance and the standard deviation of data, of a population or of a sample."""

    name = "spread-of-data"
    tag = "probability/data"
    wordings = Wordings(
        variance=(
            f"Find the variance of the numbers <data:integers>, {_WHOLE}.",
            f"What is the variance of <data:integers>? The numbers are {_WHOLE}.",
        ),
        sample_variance=(
            f"Find the variance of the numbers <data:integers>, {_SAMPLE}.",
            f"What is the variance of <data:integers>? The numbers are {_SAMPLE}.",
        ),
        deviation=(f"Find the exact standard deviation of the numbers <data:integers>, {_WHOLE}.",),
        sample_deviation=(
            f"Find the exact standard deviation of the numbers <data:integers>, {_SAMPLE}.",
        ),
        rounded=(
            f"Find the standard deviation of the numbers <data:integers>, {_WHOLE}, rounded to two "
            "decimal places.",
        ),
        absolute=(
            "Find the mean absolute deviation of the numbers <data:integers> from their mean, that "
            "is the mean of their distances from it.",
        ),
    )

    count: Ends = dial(3, 7, "how many numbers", least=3, most=20)
    most: Ends = dial(9, 40, "largest number", least=9, most=500)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        most = base.steady(self.most, difficulty)
        ask = base.rising(
            rng,
            ("absolute", "variance", "sample_variance", "rounded", "deviation", "sample_deviation"),
            difficulty,
        )
        data = [base.whole(rng, 1, most) for _ in range(count)]
        if rng.random() < 0.8 - 0.6 * difficulty:  # a whole mean is easier
            data[0] += -sum(data) % count
        if len(set(data)) == 1:
            data[-1] += count
        mean = Fraction(sum(data), count)
        around = [each - mean for each in data]
        values = {"data": data}
        start = f"The mean is ${sum(data)} : {count} = {ratio_text(mean)}$. "
        if ask == "absolute":
            total = sum(map(abs, around), Fraction(0))
            shown = " + ".join(ratio_text(abs(each)) for each in around)
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(total / count),
                steps=f"{start}The distances from it add up to ${shown} = {ratio_text(total)}$, "
                "and "
                f"their mean is that divided by ${count}$.",
            )
        squares = sum((each * each for each in around), Fraction(0))
        below = count - ask.startswith("sample")
        variance = squares / below
        steps = (
            f"{start}The squared deviations add up to "
            f"${' + '.join(ratio_text(each * each) for each in around)} = {ratio_text(squares)}$. "
        )
        if ask.endswith("variance"):
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(variance),
                steps=f"{steps}Divide this by ${below}$.",
            )
        steps += (
            f"Divided by ${below}$ this is ${ratio_text(variance)}$, and the standard deviation is "
            f"the square root of it."
        )
        found = _rounded(variance) if ask == "rounded" else signed_root(variance)
        return Drawn(ask=ask, values=values, gold=found, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        data = values["data"]
        count = len(data)
        if ask == "absolute":
            # Twice what lies above the mean, as much as what lies below.
            total = sum(data)
            above = sum(count * each - total for each in data if count * each > total)
            return gold.rational(Fraction(2 * above, count * count))
        # By the differences of all pairs, without the mean.
        pairs = sum((a - b) ** 2 for place, a in enumerate(data) for b in data[:place])
        below = count - ask.startswith("sample")
        variance = Fraction(pairs, count * below)
        if ask.endswith("variance"):
            return gold.rational(variance)
        if ask == "rounded":
            # The hundredths up to which the square is not too large, tried one by one.
            hundredths = math.isqrt(10_000 * variance.numerator // variance.denominator) + 2
            while (2 * hundredths - 1) ** 2 * variance.denominator > 40_000 * variance.numerator:
                hundredths -= 1
            return _two_places(hundredths)
        return signed_root(variance)


def _rounded(square: Fraction) -> Gold:
    """The square root to two places: how many halves of a hundredth fit into it, rounded."""
    halves = math.isqrt(40_000 * square.numerator // square.denominator)
    return _two_places((halves + 1) // 2)


def _two_places(hundredths: int) -> Gold:
    text = f"{hundredths // 100}.{hundredths % 100:02d}"
    return Gold(gold.decimal(text.rstrip("0").rstrip("."), decimals=2).answer, text)
