"""Two groups put together: their mean and their variance."""

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

_TWO = (
    "One group of $<first>$ numbers has the mean $<mean_a>$ and the variance $<var_a>$, another of "
    "$<second>$ numbers has the mean $<mean_b>$ and the variance $<var_b>$."
)
_WHOLE = "(All variances are of whole populations: means of squared deviations.)"


@attrs.frozen(kw_only=True)
class CombinedGroups(Family):
    """The mean and the variance of two groups put together, or of what is left of one."""

    name = "combined-groups"
    tag = "probability/data"
    wordings = Wordings(
        words={"thing": ("test", "race", "contest", "quiz")},
        mean=(
            "In a <thing>, $<first>$ pupils of one class have the mean result $<mean_a>$, and "
            "$<second>$ pupils of another the mean result $<mean_b>$. What is the mean result of "
            "all of them?",
            "The mean of $<first>$ numbers is $<mean_a>$, the mean of $<second>$ others is "
            "$<mean_b>$. What is the mean of all these numbers?",
        ),
        variance=(
            f"{_TWO} What is the variance of all the numbers together? {_WHOLE}",
            f"{_TWO} The groups are put together. Find the variance. {_WHOLE}",
        ),
        both=(
            f"{_TWO} Give the mean and the variance of all the numbers together as a tuple in "
            "this order. "
            f"{_WHOLE}",
        ),
        changed=(
            "$<first>$ numbers have the mean $<mean_a>$ and the variance $<var_a>$. Each of them "
            "is "
            "multiplied by $<factor>$, and then $<more>$ is added to each. Give the mean and the "
            "variance of the new numbers as a tuple in this order.",
        ),
        squares=(
            "$<first>$ numbers have the mean $<mean_a>$ and the sum of their squares is "
            "$<squares>$. What is their variance, as a whole population (the mean of the squared "
            "deviations)?",
        ),
        share=(
            "The mean result of all who took a <thing> is $<all:ratio>$. The mean of those who had "
            "trained is $<mean_a>$, that of the others $<mean_b>$. Which fraction of all had "
            "trained?",
        ),
    )

    most: Ends = dial(12, 40, "largest size of a group", least=8, most=500)
    spread: Ends = dial(0, 0.8, "share of harder questions, about variances", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.most, difficulty)
        first, second = base.whole(rng, 4, most), base.whole(rng, 4, most)
        mean_a, mean_b = base.distinct(rng, 2, 3, 30 + int(30 * difficulty))
        var_a, var_b = base.whole(rng, 2, 25), base.whole(rng, 2, 25)
        harder = rng.random() < base.steady(self.spread, difficulty)
        asks = ("variance", "both", "changed", "squares") if harder else ("mean", "mean", "share")
        ask = base.chosen(rng, asks)
        values: dict[str, Any] = {
            "first": first,
            "second": second,
            "mean_a": mean_a,
            "mean_b": mean_b,
            "var_a": var_a,
            "var_b": var_b,
        }
        total, sum_all = first + second, first * mean_a + second * mean_b
        mean = Fraction(sum_all, total)
        mean_steps = (
            f"The sum of all is ${first} \\cdot {mean_a} + {second} \\cdot {mean_b} = {sum_all}$, "
            f"and there are ${total}$, so the mean is "
            f"${sum_all} : {total} = {ratio_text(mean)}$."
        )
        if ask == "mean":
            return Drawn(ask=ask, values=values, gold=gold.rational(mean), steps=mean_steps)
        if ask == "share":
            values["all"] = mean
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(Fraction(first, total)),
                steps=f"Let $s$ be the fraction. Then ${mean_a} s + {mean_b} (1 - s) = "
                f"{ratio_text(mean)}$, so ${_times(mean_a - mean_b)} = "
                f"{ratio_text(mean - mean_b)}$.",
            )
        if ask == "changed":
            factor, more = base.whole(rng, 2, 6), base.whole(rng, 1, 20)
            if rng.random() < 0.4:
                factor = -factor
            values |= {"factor": factor, "more": more}
            new = factor * mean_a + more
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.ordered([new, factor * factor * var_a]),
                steps=f"The mean changes as each number does: ${factor} \\cdot {mean_a} + {more} = "
                f"{new}$. All deviations from it are multiplied by ${factor}$, so their squares "
                f"are by ${factor * factor}$: ${factor * factor} \\cdot {var_a} = "
                f"{factor * factor * var_a}$.",
            )
        if ask == "squares":
            squares = first * (mean_a * mean_a + var_a) + base.whole(rng, 0, first - 1)
            values["squares"] = squares
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(Fraction(squares, first) - mean_a * mean_a),
                steps=f"The variance is the mean of the squares less the square of the mean: "
                f"$\\frac{{{squares}}}{{{first}}} - {mean_a}^2$.",
            )
        within = Fraction(first * var_a + second * var_b, total)
        between = Fraction(first * second * (mean_a - mean_b) ** 2, total * total)
        steps = (
            f"{mean_steps} Inside the groups, the mean squared deviation from their own means is "
            f"$\\frac{{{first} \\cdot {var_a} + {second} \\cdot {var_b}}}{{{total}}} = "
            f"{ratio_text(within)}$. The means of the groups deviate from the common mean, which "
            f"adds $\\frac{{{first} \\cdot {second}}}{{{total}^2}} \\cdot "
            f"{abs(mean_a - mean_b)}^2 = {ratio_text(between)}$. Together this is "
            f"${ratio_text(within + between)}$."
        )
        variance = within + between
        found = gold.rational(variance) if ask == "variance" else gold.ordered([mean, variance])
        return Drawn(ask=ask, values=values, gold=found, steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        mean_a, mean_b = values["mean_a"], values.get("mean_b", 0)
        if ask == "share":  # by the distances from the common mean, which balance
            low, high = abs(values["all"] - mean_b), abs(mean_a - values["all"])
            return gold.rational(low / (low + high)) if low + high else None
        first = values["first"]
        if ask == "mean":
            step = Fraction(values["second"], first + values["second"])
            return gold.rational(mean_a + step * (mean_b - mean_a))
        if ask == "squares":
            # The deviations squared and added: squares - 2 mean sum + n mean^2.
            total = values["squares"] - 2 * mean_a * first * mean_a + first * mean_a**2
            return gold.rational(Fraction(total, first))
        # By sums and sums of squares of all numbers.
        sums, squares = first * mean_a, first * (values["var_a"] + mean_a**2)
        if ask == "changed":
            factor, more = values["factor"], values["more"]
            squares = factor**2 * squares + 2 * factor * more * sums + first * more**2
            sums, count = factor * sums + first * more, first
        else:
            second = values["second"]
            sums += second * mean_b
            squares += second * (values["var_b"] + mean_b**2)
            count = first + second
        variance = Fraction(count * squares - sums * sums, count * count)
        if ask == "variance":
            return gold.rational(variance)
        return gold.ordered([Fraction(sums, count), variance])


def _times(number: int) -> str:
    return {1: "s", -1: "-s"}.get(number, f"{number} s")
