"""Whether a conclusion follows from statements with all, no and some."""

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

_THINGS = (
    *("poets", "sailors", "bakers", "chess players", "gardeners", "pilots", "singers", "swimmers"),
    *("teachers", "dancers", "painters", "lawyers", "farmers", "hikers", "judges", "jugglers"),
)
_FORMS = {
    "A": "All {} are {}",
    "E": "No {} are {}",
    "I": "Some {} are {}",
    "O": "Some {} are not {}",
}
_READ = {
    kind: re.compile(form.replace("{}", "(.+?)").replace("are (.+?)", "are (?!not )(.+)"))
    if kind != "O"
    else re.compile(r"Some (.+?) are not (.+)")
    for kind, form in _FORMS.items()
}
Statement = tuple[str, int, int]
"""A, E, I or O, and the numbers of the two terms."""


@attrs.frozen(kw_only=True)
class Syllogisms(Family):
    """Whether a conclusion follows from statements with all, no, some and some not."""

    name = "syllogisms"
    tag = "discrete/logic"
    wordings = Wordings(
        "Suppose that: <premises:text>. Does it follow that: <conclusion:text>? Do not assume that "
        "there are any people of a kind, unless a statement says so ('some' means at least one).",
        "Take these statements as true: <premises:text>. Is this conclusion then certain: "
        "<conclusion:text>? 'All' and 'no' may speak of kinds without members, and 'some' means "
        "at least one.",
    )

    premises: Ends = dial(2, 3.6, "how many statements are given", least=2, most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.premises, difficulty))
        names = [_THINGS[each] for each in base.distinct(rng, count + 1, 0, len(_THINGS) - 1)]
        premises, conclusion = _valid(rng, count)
        if rng.random() < 0.55:
            place = int(rng.random() * (count + 1))
            changed = _changed(rng, [*premises, conclusion][place])
            if place == count:
                conclusion = changed
            else:
                others = [changed if k == place else each for k, each in enumerate(premises)]
                if all(where for _, where in _left(others, count + 1)[1]):  # they can all be true
                    premises = others
        follows, why = _by_regions(premises, conclusion, count + 1, names)
        premises = base.shuffled(rng, premises)
        return Drawn(
            values={
                "premises": "; ".join(_said(each, names) for each in premises),
                "conclusion": _said(conclusion, names),
            },
            gold=gold.boolean(follows),
            steps=why,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Every world with at most three people, each of any kinds: more are never needed, one for
        # each statement with "some" and one against the conclusion.
        names: list[str] = []
        premises = [_read(each, names) for each in values["premises"].split("; ")]
        conclusion = _read(values["conclusion"], names)
        some = sum(kind in "IO" for kind, _, _ in premises)
        people = range(1 << len(names))
        for size in range(some + 2):
            for world in itertools.combinations(people, size):
                if not _true(conclusion, world) and all(_true(each, world) for each in premises):
                    return gold.boolean(False)
        return gold.boolean(True)


def _said(statement: Statement, names: Sequence[str]) -> str:
    kind, one, other = statement
    return _FORMS[kind].format(names[one], names[other])


def _read(text: str, names: list[str]) -> Statement:
    for kind in "OAEI":
        match = _READ[kind].fullmatch(text)
        if match:
            for name in match.groups():
                if name not in names:
                    names.append(name)
            return kind, names.index(match[1]), names.index(match[2])
    raise ValueError(f"no statement: {text!r}")


def _true(statement: Statement, world: Sequence[int]) -> bool:
    kind, one, other = statement
    both = any(person >> one & 1 and person >> other & 1 for person in world)
    alone = any(person >> one & 1 and not person >> other & 1 for person in world)
    return {"A": not alone, "E": not both, "I": both, "O": alone}[kind]


def _valid(rng: random.Random, count: int) -> tuple[list[Statement], Statement]:
    """A chain of terms 0 to ``count`` from which something follows about its ends."""
    premises: list[Statement] = [("A", place, place + 1) for place in range(count)]
    kind = base.chosen(rng, "AEEIIO")
    if kind in "EO" and count > 1:
        last = premises[-1]
        premises[-1] = ("E", last[1], last[2]) if rng.random() < 0.5 else ("E", last[2], last[1])
    if kind in "IO":
        premises[0] = ("I", 0, 1) if rng.random() < 0.5 else ("I", 1, 0)
    if kind in "EI" and rng.random() < 0.5:
        return premises, (kind, count, 0)
    return premises, (kind, 0, count)


def _changed(rng: random.Random, statement: Statement) -> Statement:
    kind, one, other = statement
    if kind in "AO" and rng.random() < 0.5:
        return kind, other, one
    return base.chosen(rng, [each for each in "AEIO" if each != kind]), one, other


def _meant(statement: Statement, terms: int) -> set[int]:
    """The kinds of people, as bits, of which a statement says that there are none, or some."""
    kind, one, other = statement
    inside = kind in "EI"
    return {each for each in range(1 << terms) if each >> one & 1 and (each >> other & 1 == inside)}


def _left(
    premises: Sequence[Statement], terms: int
) -> tuple[set[int], list[tuple[Statement, set[int]]]]:
    """Which kinds do not exist, and where the people of each "some" can then be."""
    empty = {each for said in premises if said[0] in "AE" for each in _meant(said, terms)}
    return empty, [(said, _meant(said, terms) - empty) for said in premises if said[0] in "IO"]


def _by_regions(
    premises: Sequence[Statement], conclusion: Statement, terms: int, names: Sequence[str]
) -> tuple[bool, str]:
    """Whether the conclusion follows from statements that can all be true, and why."""
    empty, places = _left(premises, terms)
    wanted = _meant(conclusion, terms)
    if conclusion[0] in "AE":
        left = sorted(wanted - empty)
        if not left:
            return True, (
                "The statements with 'all' and 'no' rule out every kind of person that would speak "
                f"against '{_said(conclusion, names)}'."
            )
        person = _person(left[0], names)
        return False, f"There may be {person}: that fits the statements, but not the conclusion."
    for said, where in places:
        if where <= wanted:
            return True, (
                f"By '{_said(said, names)}' there is somebody, and what the other statements leave "
                f"for this person makes '{_said(conclusion, names)}' true."
            )
    if not places:
        return False, "No statement says that there is anybody at all, so nobody need exist."
    others = [_person(min(where - wanted), names) for _, where in places]
    people = " and ".join(others)
    return False, f"A world with nobody but {people} fits the statements, but not the conclusion."


def _person(kinds: int, names: Sequence[str]) -> str:
    inside = [name for place, name in enumerate(names) if kinds >> place & 1]
    outside = [name for place, name in enumerate(names) if not kinds >> place & 1]
    text = f"someone among the {' and '.join(inside)}"
    return f"{text} and not among the {' or '.join(outside)}" if outside else text
