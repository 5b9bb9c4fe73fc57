"""A number thought of, found from what becomes of it."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_STEP = re.compile(
    r"(add|subtract) \$(\d+)\$|(multiply|divide) by \$(\d+)\$|(subtract it from) \$(\d+)\$"
)


@attrs.frozen(kw_only=True)
class NumberRiddles(Family):
    """A number found from what several operations make of it."""

    name = "number-riddles"
    tag = "arithmetic/word-problems"
    wordings = Wordings(
        words={"who": ("Ana", "Luc", "Mira", "Tom", "Ines", "Jan", "Sara", "Omar")},
        back=(
            "I think of a number and do the following with it, each time with the last result: "
            "<steps:text>. In the end I have $<result:ratio>$. What number did I think of?",
            "<who> chooses a number. Then come these steps, each with the result of the one "
            "before: <steps:text>. That gives $<result:ratio>$. Which number was it at first?",
        ),
        same=(
            "I think of a number and do the following with it, each time with the last result: "
            "<steps:text>. In the end I have $<times>$ times the number that I thought of. What "
            "number is it?",
            "With which number do these steps, each done with the result of the one before, give "
            "$<times>$ times the number one began with: <steps:text>?",
        ),
    )

    steps: Ends = dial(2, 7, "how many operations", least=2, most=15)
    turned: Ends = dial(0, 0.7, "share in which the result depends on the number", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.steps, difficulty))
        number = Fraction(base.whole(rng, 2, 30))
        said, factor, shift, value = [], Fraction(1), Fraction(0), number
        values_so_far = [value]
        undo: list[str] = []
        last = -1
        for _ in range(count):
            kind = base.chosen(rng, [each for each in range(5) if each // 2 != last // 2])
            last, size = kind, base.whole(rng, 2, 9 if kind in (2, 3) else 30)
            if kind == 3 and (factor / size).denominator > 12:
                kind = 2
            if kind < 2:
                sign = 1 if kind == 0 else -1
                said.append(f"{'add' if kind == 0 else 'subtract'} ${size}$")
                shift, value = shift + sign * size, value + sign * size
                undo.append(f"{'subtract' if kind == 0 else 'add'} ${size}$")
            elif kind == 4:
                said.append(f"subtract it from ${size}$")
                factor, shift, value = -factor, size - shift, size - value
                undo.append(f"subtract from ${size}$")
            else:
                by = Fraction(size) if kind == 2 else Fraction(1, size)
                said.append(f"{'multiply' if kind == 2 else 'divide'} by ${size}$")
                factor, shift, value = factor * by, shift * by, value * by
                undo.append(f"{'divide' if kind == 2 else 'multiply'} by ${size}$")
            values_so_far.append(value)
        values: dict[str, Any] = {"steps": ", ".join(said), "result": value}
        if shift and rng.random() < base.steady(self.turned, difficulty):
            times = base.whole(rng, 2, 6)
            if factor == times:
                times += 1
            values["times"] = times
            left = times - factor
            return Drawn(
                ask="same",
                values=values,
                gold=gold.rational(shift / left),
                steps=f"From a number $x$ the steps make ${_linear(factor, shift)}$. This is "
                f"${times}x$, so ${ratio_text(left)} \\cdot x = {ratio_text(shift)}$.",
            )
        rows = ", ".join(
            f"{words} to get ${ratio_text(before)}$"
            for words, before in zip(reversed(undo), reversed(values_so_far[:-1]), strict=True)
        )
        return Drawn(
            ask="back",
            values=values,
            gold=gold.rational(number),
            steps=f"Go back from ${ratio_text(value)}$ step by step: {rows}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The result changes evenly with the number: two trials give the rest.
        times = values["times"] if ask == "same" else 0
        wanted = Fraction(0) if ask == "same" else Fraction(values["result"])
        at_zero = _carried_out(values["steps"], Fraction(0)) - wanted
        at_one = _carried_out(values["steps"], Fraction(1)) - times - wanted
        if at_one == at_zero:
            return None
        return gold.rational(at_zero / (at_zero - at_one))


def _linear(factor: Fraction, shift: Fraction) -> str:
    front = {1: "", -1: "-"}.get(int(factor) if factor.denominator == 1 else 0)
    first = f"{ratio_text(factor) if front is None else front}x"
    return f"{first} {'-' if shift < 0 else '+'} {ratio_text(abs(shift))}"


def _carried_out(steps: str, number: Fraction) -> Fraction:
    for text in steps.split(", "):
        match = _STEP.fullmatch(text)
        if match is None:
            raise ValueError(f"no step: {text!r}")
        added, first, scaled, second, _, third = match.groups()
        if added:
            number += int(first) if added == "add" else -int(first)
        elif scaled:
            number = number * int(second) if scaled == "multiply" else number / int(second)
        else:
            number = int(third) - number
    return number
