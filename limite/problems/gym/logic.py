"""Logic: syllogisms, and statements about each other."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from limite.problems.gym.adapter import Adapted
from limite.problems.gym.arithmetic import whole
from limite.problems.procedural import base, gold
from limite.problems.procedural.base import Ends, steady
from limite.problems.procedural.family import dial
from limite.problems.procedural.gold import Gold

Said = tuple[str, str, str]
"""A form (all, no, some, some not) and the two things that it is said of."""


@attrs.frozen(kw_only=True)
class GymSyllogism(Adapted):
    """syllogism: whether a conclusion follows from two statements, whatever empty terms may mean.

    Asked only where the answer is the same whether or not every term is taken to have a member.
    """

    name = "gym-syllogism"
    dataset = "syllogism"
    tag = "reasoning-gym/logic"

    three: Ends = dial(0.3, 1.0, "share that needs both statements", least=0.0, most=1.0)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"inversion_probability": 1 - steady(self.three, difficulty), "invalid_ratio": 0.5}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return gold.boolean({"Yes": True, "No": False}[item["answer"]])

    def solve(self, question: str) -> Gold | None:
        found = re.search(
            r"1\. (.*)\n2\. (.*)\n\nDoes it logically follow that:\n(.*)\?\n", question
        )
        said = [_said(each) for each in found.groups()] if found else []
        things = sorted({thing for each in said for thing in each[1:]})
        if not said or len(things) > 4:
            return None
        verdicts = {_follows(said, things, inhabited) for inhabited in (False, True)}
        return gold.boolean(verdicts.pop()) if len(verdicts) == 1 else None


def _said(text: str) -> Said:
    found = re.fullmatch(r"(All|No|Some) (.+?) are (not )?(.+)", text)
    if not found or (found[3] and found[1] != "Some"):
        raise ValueError("no statement of the four forms")
    return found[1].lower() + (" not" if found[3] else ""), found[2], found[4]


def _follows(said: Sequence[Said], things: Sequence[str], inhabited: bool) -> bool:
    """Whether the last statement holds in every world in which the others do.

    What can be is a set of things; a world is which of those sets have a member.
    """
    kinds = [frozenset(each) for n in range(4) for each in itertools.combinations(things, n)]
    for world in range(2 ** len(kinds)):
        there = [kind for place, kind in enumerate(kinds) if world >> place & 1]
        if inhabited and not all(any(thing in kind for kind in there) for thing in things):
            continue
        if all(_holds(each, there) for each in said[:-1]) and not _holds(said[-1], there):
            return False
    return True


def _holds(said: Said, there: Sequence[frozenset[str]]) -> bool:
    form, of, what = said
    both = any(of in kind and what in kind for kind in there)
    alone = any(of in kind and what not in kind for kind in there)
    return {"all": not alone, "no": not both, "some": both, "some not": alone}[form]


@attrs.frozen(kw_only=True)
class GymSelfReference(Adapted):
    """self_reference: how many ways seven statements about each other can be true or false."""

    name = "gym-self-reference"
    dataset = "self_reference"
    tag = "reasoning-gym/logic"

    level: Ends = dial(1, 10, "the data set's own difficulty", least=1, most=10)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"difficulty": base.whole_near(rng, steady(self.level, difficulty))}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        texts = re.findall(r"- Statement \d: '(.*)'", question)
        if len(texts) != 7:
            return None
        claims = [_claim(text) for text in texts]
        ways = itertools.product((True, False), repeat=7)
        return gold.integer(
            sum(
                all(claim(way) is held for claim, held in zip(claims, way, strict=True))
                for way in ways
            )
        )


Way = tuple[bool, ...]


def _claim(text: str) -> Callable[[Way], bool]:
    """What one statement says of which are true."""
    if found := re.fullmatch(
        r"(At least|At most|Exactly) (\d+) of these 7 statements are (true|false)\.", text
    ):
        word, size, kind = found[1], int(found[2]), found[3] == "true"
        if word == "At least":
            return lambda way: way.count(kind) >= size
        if word == "At most":
            return lambda way: way.count(kind) <= size
        return lambda way: way.count(kind) == size
    if found := re.fullmatch(
        r"Either Statement (\d) or Statement (\d) is true, but not both\.", text
    ):
        one, other = int(found[1]) - 1, int(found[2]) - 1
        return lambda way: way[one] is not way[other]
    if text == "The number of true statements is a prime number.":
        return lambda way: way.count(True) in (2, 3, 5, 7)
    if text == "The number of false statements is a composite number.":
        return lambda way: way.count(False) in (4, 6)
    raise ValueError("a statement that is not read here")
