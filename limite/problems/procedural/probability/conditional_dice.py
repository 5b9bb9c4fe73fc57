"""Two dice of which something is known."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_DICE = "Two fair dice, each with faces numbered from $1$ to $<faces>$, are rolled."
_TOLD: Mapping[str, tuple[Callable[..., bool], Callable[..., bool]]] = {
    # What is known of the numbers, and what is asked.
    "equal": (lambda a, b, one, two: a + b >= one, lambda a, b, one, two: a == b),
    "shown": (lambda a, b, one, two: a + b == one, lambda a, b, one, two: two in (a, b)),
    "sum": (lambda a, b, one, two: two in (a, b), lambda a, b, one, two: a + b == one),
    "total": (lambda a, b, one, two: max(a, b) == two, lambda a, b, one, two: a + b >= one),
    "unequal": (lambda a, b, one, two: a != b, lambda a, b, one, two: a + b >= one),
    "first": (lambda a, b, one, two: a + b >= one, lambda a, b, one, two: a >= two),
}


@attrs.frozen(kw_only=True)
class ConditionalDice(Family):
    """The probability of a roll of two dice when something is known of it."""

    name = "conditional-dice"
    tag = "probability/conditional"
    wordings = Wordings(
        equal=(
            f"{_DICE} Given that the sum is at least $<one>$, what is the probability that both "
            "show the same number?",
        ),
        shown=(
            f"{_DICE} Given that the sum is $<one>$, what is the probability that at least one of "
            "them shows $<two>$?",
        ),
        sum=(
            f"{_DICE} Given that at least one of them shows $<two>$, what is the probability that "
            "the sum is $<one>$?",
        ),
        total=(
            f"{_DICE} Given that the larger of the two numbers is $<two>$ (they may be equal), "
            "what is the probability that the sum is at least $<one>$?",
        ),
        unequal=(
            f"{_DICE} Given that they show different numbers, what is the probability that the sum "
            "is at least $<one>$?",
        ),
        first=(
            f"{_DICE} Given that the sum is at least $<one>$, what is the probability that the "
            "first die shows at least $<two>$?",
            f"{_DICE} The sum turns out to be $<one>$ or more. How probable is it then that the "
            "first die shows $<two>$ or more?",
        ),
    )

    faces: Ends = dial(6, 12, "most faces", least=4, most=20)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.faces, difficulty)
        faces = base.whole(rng, max(4, int(most) - 4), most)
        ask = base.rising(rng, ("shown", "sum", "total", "equal", "first", "unequal"), difficulty)
        two = base.whole(rng, 2, faces - 1)
        high = base.whole(rng, faces + 1, 2 * faces - 2)  # a sum that leaves several possibilities
        upper = 2 * faces - high + 1  # pairs with this sum or more: 1 + 2 + ... + upper
        more = upper * (upper + 1) // 2
        square, tail = faces * faces, f"the sums ${high}$ to ${2 * faces}$ come about in"
        triangle = f"{tail} ${' + '.join(map(str, range(upper, 0, -1)))} = {more}$ ways"
        if ask == "equal":
            good, all_of = faces - (high + 1) // 2 + 1, more
            steps = (
                f"Of the ${square}$ equally likely pairs, {triangle}. Equal numbers have that sum "
                f"if they are at least ${(high + 1) // 2}$: that is ${good}$ pairs."
            )
        elif ask == "shown":
            high = base.whole(rng, two + 1, two + faces)
            low = max(1, high - faces)
            all_of = high - low - low + 1
            good = 1 if high == 2 * two else 2
            steps = (
                f"The sum ${high}$ comes about with ${low}, \\dots, {high - low}$ on the first "
                f"die, in ${all_of}$ ways. {'One' if good == 1 else 'Two'} of them "
                f"{'has' if good == 1 else 'have'} the number ${two}$: it goes with ${high - two}$."
            )
        elif ask == "sum":
            high = base.whole(rng, two + 1, two + faces)
            all_of, good = 2 * faces - 1, 1 if high == 2 * two else 2
            steps = (
                f"The number ${two}$ is on the first die in ${faces}$ pairs, on the second in "
                f"${faces}$, on both in one: ${2 * faces} - 1 = {all_of}$ pairs. The sum "
                f"${high}$ needs ${high - two}$ beside it, in "
                f"{'one pair' if good == 1 else 'two orders'}."
            )
        elif ask == "total":
            two = max(two, 3)
            high = base.whole(rng, two + 2, 2 * two)
            all_of, good = 2 * two - 1, 2 * (2 * two - high) + 1
            steps = (
                f"The larger number is ${two}$ in ${two}^2 - {two - 1}^2 = {all_of}$ pairs. The "
                f"other must be at least ${high - two}$: $({two}, {two})$ counts once"
                + (
                    f", and each number from ${high - two}$ to ${two - 1}$ beside ${two}$ in two "
                    f"orders, which makes $1 + 2 \\cdot {2 * two - high} = {good}$."
                    if high < 2 * two
                    else ", and no smaller number is enough."
                )
            )
        elif ask == "unequal":
            equal = faces - (high + 1) // 2 + 1
            all_of, good = square - faces, more - equal
            steps = (
                f"There are ${square} - {faces} = {all_of}$ pairs of different numbers. Of all "
                f"pairs, {triangle}, and ${equal}$ of these pairs are equal numbers: "
                f"${more} - {equal} = {good}$ remain."
            )
        else:
            two = base.whole(rng, max(2, high - faces + 1), faces)
            rows = [faces - max(1, high - each) + 1 for each in range(two, faces + 1)]
            good, all_of = sum(rows), more
            shown = f" = {good}" if len(rows) > 1 else ""
            steps = (
                f"Of the ${square}$ equally likely pairs, {triangle}. With at least ${two}$ on the "
                f"first die there are ${' + '.join(map(str, rows))}{shown}$ of these."
            )
        return Drawn(
            ask=ask,
            values={"faces": faces, "one": high, "two": two},
            gold=gold.rational(Fraction(good, all_of)),
            steps=f"{steps} So the probability is ${good}$ in ${all_of}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        numbers = range(1, values["faces"] + 1)
        one, two = values.get("one", 0), values.get("two", 0)
        known, wanted = _TOLD[ask]
        pairs = [pair for pair in itertools.product(numbers, repeat=2) if known(*pair, one, two)]
        if not pairs:
            return None
        return gold.rational(Fraction(sum(wanted(*pair, one, two) for pair in pairs), len(pairs)))
