"""Sums of binomial coefficients."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class BinomialSums(Family):
    """The value of a sum of binomial coefficients, found by counting in two ways."""

    name = "binomial-sums"
    tag = "combinatorics/binomials"
    wordings = Wordings(
        column=(
            "Evaluate $\\sum_{k=<low>}^{<top>} \\binom{k}{<low>}$.",
            "Find the sum of the binomial coefficients $\\binom{k}{<low>}$ for $k = <low>, "
            "\\dots, <top>$.",
        ),
        product=(
            "Evaluate $\\sum_{k=0}^{<low>} \\binom{<first>}{k} \\binom{<second>}{<low> - k}$.",
        ),
        weighted=(
            "Evaluate $\\sum_{k=0}^{<top>} k \\binom{<top>}{k}$.",
            "The sizes of all subsets of a set of $<top>$ elements are added up. What is the sum?",
        ),
        powers=("Evaluate $\\sum_{k=0}^{<top>} \\binom{<top>}{k} <factor>^k$.",),
        alternating=("Evaluate $\\sum_{k=0}^{<low>} (-1)^k \\binom{<top>}{k}$.",),
        even=(
            "Evaluate $\\sum_{k} \\binom{<top>}{2k}$, over all integers $k$ with $0 \\le 2k \\le "
            "<top>$.",
            "How many subsets of a set of $<top>$ elements have an even number of elements, the "
            "empty one included?",
        ),
        squares=("Evaluate $\\sum_{k=0}^{<top>} \\binom{<top>}{k}^2$.",),
    )

    top: Ends = dial(6, 22, "largest upper number of the coefficients", least=4, most=40)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.top, difficulty)
        top = base.whole(rng, max(4, int(most) - 9), most)
        low = base.whole(rng, 2, top - 2)
        ask = base.rising(
            rng,
            ("powers", "even", "column", "weighted", "product", "alternating", "squares"),
            difficulty,
        )
        values: dict[str, Any] = {"top": top, "low": low}
        if ask == "column":
            found = math.comb(top + 1, low + 1)
            steps = (
                f"Choose ${low + 1}$ of the numbers $0, 1, \\dots, {top}$, and sort the choices by "
                f"the largest one: if it is $k$, the others are any ${low}$ of the $k$ numbers "
                f"below it. So the sum is $\\binom{{{top + 1}}}{{{low + 1}}}$."
            )
        elif ask == "product":
            first, second = base.whole(rng, 3, most), base.whole(rng, 3, most)
            low = base.whole(rng, 2, min(first + second - 2, 2 + most / 2))
            values = {"first": first, "second": second, "low": low}
            found = math.comb(first + second, low)
            steps = (
                f"Choose ${low}$ people from ${first}$ women and ${second}$ men, and sort the "
                f"choices by the number $k$ of women. So the sum is "
                f"$\\binom{{{first + second}}}{{{low}}}$."
            )
        elif ask == "weighted":
            found = top * 2 ** (top - 1)
            steps = (
                f"Count choices of a subset and of one of its elements: by the size $k$ of the "
                f"subset this is the sum. By the element, there are ${top}$ elements and for each "
                f"$2^{{{top - 1}}}$ ways to choose the rest: ${top} \\cdot 2^{{{top - 1}}}$."
            )
        elif ask == "powers":
            factor = values["factor"] = base.whole(rng, 2, 4)
            found = (factor + 1) ** top
            steps = (
                f"By the binomial theorem this is $(1 + {factor})^{{{top}}} = "
                f"{factor + 1}^{{{top}}}$."
            )
        elif ask == "alternating":
            found = (-1) ** low * math.comb(top - 1, low)
            sign = "-" if low % 2 else ""
            steps = (
                f"With $\\binom{{{top}}}{{k}} = \\binom{{{top - 1}}}{{k}} + "
                f"\\binom{{{top - 1}}}{{k - 1}}$, neighbouring terms cancel, and of the last one "
                f"${sign}\\binom{{{top - 1}}}{{{low}}}$ remains."
            )
        elif ask == "even":
            found = 2 ** (top - 1)
            steps = (
                f"Put one fixed element into a subset, or take it out if it is there: this pairs "
                f"the subsets of even size with those of odd size, so half of $2^{{{top}}}$ have "
                f"even size."
            )
        else:
            found = math.comb(2 * top, top)
            steps = (
                f"As $\\binom{{{top}}}{{k}} = \\binom{{{top}}}{{{top} - k}}$, the sum counts the "
                f"choices of ${top}$ people from ${top}$ women and ${top}$ men by the number of "
                f"women: $\\binom{{{2 * top}}}{{{top}}}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.integer(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Term by term, with the coefficients from Pascal's triangle.
        low, top = values.get("low", 0), values.get("top", 0)
        if ask == "product":
            first, second = _row(values["first"]), _row(values["second"])
            return gold.integer(
                sum(a * second[low - k] for k, a in enumerate(first) if 0 <= low - k < len(second))
            )
        if ask == "column":
            total = 0
            row = [1]
            for _ in range(top + 1):
                total += row[low] if low < len(row) else 0
                row = _after(row)
            return gold.integer(total)
        row = _row(top)
        if ask == "weighted":
            return gold.integer(sum(k * each for k, each in enumerate(row)))
        if ask == "powers":
            return gold.integer(sum(each * values["factor"] ** k for k, each in enumerate(row)))
        if ask == "alternating":
            return gold.integer(sum(row[: low + 1 : 2]) - sum(row[1 : low + 1 : 2]))
        if ask == "even":
            return gold.integer(sum(row[::2]))
        return gold.integer(sum(each * each for each in row))


def _row(top: int) -> list[int]:
    row = [1]
    for _ in range(top):
        row = _after(row)
    return row


def _after(row: list[int]) -> list[int]:
    return [a + b for a, b in zip([0, *row], [*row, 0], strict=True)]
