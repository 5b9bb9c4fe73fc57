"""Islanders who always tell the truth, and others who always lie."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_SAYS = re.compile(r"Islander \$(\d+)\$ says: (.+?)\.(?= Islander|$)")
_NUMBER = re.compile("[0-9]+")
_SHAPES = (
    "islander ${}$ is a knight",
    "islander ${}$ is a knave",
    "islanders ${}$ and ${}$ are of the same kind",
    "at least one of the islanders ${}$ and ${}$ is a knave",
    "islanders ${}$ and ${}$ are both knights",
    "the number of knights among us is ${}$",
    "the number of knaves among us is ${}$",
)
Saying = tuple[int, int, int]
"""Which shape, and the one or two numbers in it."""


@attrs.frozen(kw_only=True)
class KnightsAndKnaves(Family):
    """Which islanders are knights, who tell the truth, when knaves lie."""

    name = "knights-and-knaves"
    tag = "discrete/logic"
    wordings = Wordings(
        knights=(
            "On an island, knights always tell the truth and knaves always lie. Everyone is one "
            "or the other. <count> islanders meet you. <sayings:text> Which of them are knights? "
            "Give the set of their numbers (an empty set if there is none).",
            "Each of <count> islanders is a knight, who only says what is true, or a knave, who "
            "only says what is false. <sayings:text> Find the set of the numbers of all knights "
            "among them (it may be empty).",
        ),
        one=(
            "On an island, knights always tell the truth and knaves always lie. Everyone is one "
            "or the other. <count> islanders meet you. <sayings:text> Is islander $<asked>$ a "
            "knight?",
        ),
    )

    people: Ends = dial(2.5, 5, "how many islanders", least=2, most=7)
    shapes: Ends = dial(4, 7, "how many kinds of statements they make", least=2, most=7)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        people = base.whole_near(rng, base.steady(self.people, difficulty))
        shapes = base.whole_near(rng, base.steady(self.shapes, difficulty))
        for _ in range(40):
            sayings = [_saying(rng, speaker, people, shapes) for speaker in range(people)]
            fitting = _fitting(sayings, people)
            if len(fitting) == 1:
                break
        else:
            # The first cannot be a knight, nor are all of them knaves, and the others are right.
            sayings = [(6, people, 0), *((1, 1, 0) for _ in range(people - 1))]
            fitting = _fitting(sayings, people)
        row = fitting[0]
        knights = [number + 1 for number in range(people) if row >> number & 1]
        text = " ".join(
            f"Islander ${number + 1}$ says: {_said(saying)}."
            for number, saying in enumerate(sayings)
        )
        values: dict[str, Any] = {"count": people, "sayings": text}
        checked = ", ".join(
            f"what ${number + 1}$ says is {'true' if row >> number & 1 else 'false'}"
            for number in range(people)
        )
        who = f"only ${_row(knights)}$" if knights else "nobody"
        steps = (
            f"Of the ${1 << people}$ ways to call them knights and knaves, one fits: with {who} "
            f"as {'a knight' if len(knights) < 2 else 'knights'}, {checked}. In every other case "
            f"a knight would lie or a knave would tell the truth."
        )
        if rng.random() < 0.3:
            # A knight or a knave, if there are both.
            others = [each for each in range(1, people + 1) if each not in knights]
            groups = [group for group in (knights, others) if group]
            values["asked"] = asked = base.chosen(rng, base.chosen(rng, groups))
            return Drawn(ask="one", values=values, gold=gold.boolean(asked in knights), steps=steps)
        return Drawn(ask="knights", values=values, gold=gold.finite_set(knights), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Every way to be knights and knaves, with each statement taken at its word.
        said = [
            (int(who), what, [int(each) for each in _NUMBER.findall(what)])
            for who, what in _SAYS.findall(values["sayings"])
        ]
        found = []
        for kinds in itertools.product((False, True), repeat=values["count"]):
            knight = dict(enumerate(kinds, 1))
            if all(knight[who] == _true(what, numbers, knight) for who, what, numbers in said):
                found.append([who for who, each in knight.items() if each])
        if len(found) != 1:
            return None
        if ask == "one":
            return gold.boolean(values["asked"] in found[0])
        return gold.finite_set(found[0])


def _row(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _said(saying: Saying) -> str:
    shape, one, two = saying
    return _SHAPES[shape].format(one, two)


def _saying(rng: random.Random, speaker: int, people: int, shapes: int) -> Saying:
    shape = int(rng.random() * shapes)
    others = [number + 1 for number in range(people) if number != speaker]
    if shape > 4:
        return shape, base.whole(rng, 0 if shape == 6 else 1, people - (shape == 5)), 0
    one = base.chosen(rng, others)
    if shape < 2:
        return shape, one, 0
    two = base.chosen(rng, [number for number in range(1, people + 1) if number != one])
    return shape, min(one, two), max(one, two)


def _fitting(sayings: Sequence[Saying], people: int) -> list[int]:
    """All ways to be knights, as bits, in which knights and no others say what is true."""
    found = []
    for row in range(1 << people):
        count = row.bit_count()
        for speaker, (shape, one, two) in enumerate(sayings):
            first = row >> one - 1 & 1 if shape < 5 else 0
            second = row >> two - 1 & 1 if two else 0
            if shape < 2:
                true = first != shape
            elif shape == 2:
                true = first == second
            elif shape < 5:
                true = (first & second) == (shape == 4)
            else:
                true = (count if shape == 5 else people - count) == one
            if true != (row >> speaker & 1):
                break
        else:
            found.append(row)
    return found


def _true(what: str, numbers: Sequence[int], knight: Mapping[int, bool]) -> bool:
    if "number" in what:
        kind = "knights" in what
        return sum(each == kind for each in knight.values()) == numbers[0]
    told = [knight[number] for number in numbers]
    if "same" in what:
        return told[0] is told[1]
    if "at least" in what:
        return not all(told)
    return all(told) if "knight" in what else not told[0]
