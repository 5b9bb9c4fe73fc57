"""Relations given by their pairs: their properties, and what they generate."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

Pairs = frozenset[tuple[int, int]]
_PROPERTIES = ("reflexive", "symmetric", "transitive", "antisymmetric")


@attrs.frozen(kw_only=True)
class Relations(Family):
    """Properties of a relation, and the size of its transitive closure or its classes."""

    name = "relations"
    tag = "discrete/relations"
    wordings = Wordings(
        property=(
            "Is the relation $<pairs:text>$ on the set $\\{<elements:integers>\\}$ "
            "<property:word>?",
            "On $\\{<elements:integers>\\}$ the relation $R = <pairs:text>$ is given. Is $R$ "
            "<property:word>?",
        ),
        closure=(
            "How many pairs does the transitive closure of the relation $<pairs:text>$ on the set "
            "$\\{<elements:integers>\\}$ have?",
            "The relation $R = <pairs:text>$ on $\\{<elements:integers>\\}$ is extended to the "
            "smallest transitive relation that contains it. How many pairs does that one have?",
        ),
        classes=(
            "How many equivalence classes are there of the smallest equivalence relation on "
            "$\\{<elements:integers>\\}$ that contains the pairs $<pairs:text>$?",
        ),
        missing=(
            "How many pairs, at least, must be added to the relation $<pairs:text>$ on "
            "$\\{<elements:integers>\\}$ to make it transitive?",
        ),
    )

    size: Ends = dial(3, 7, "how many elements", least=3, most=12)
    pairs: Ends = dial(3, 10, "how many pairs", least=2, most=40)
    made: Ends = dial(0.3, 0.8, "share that asks for what a relation generates", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        count = min(base.whole_near(rng, base.steady(self.pairs, difficulty)), size * size - 2)
        places = base.distinct(rng, count, 0, size * size - 1)
        pairs = frozenset((1 + place // size, 1 + place % size) for place in places)
        values: dict[str, Any] = {"elements": list(range(1, size + 1)), "pairs": _text(pairs)}
        if rng.random() >= base.steady(self.made, difficulty):
            name = base.chosen(rng, _PROPERTIES)
            if rng.random() < 0.3 + 0.25 * difficulty:
                pairs = _towards(pairs, name, size)
                values["pairs"] = _text(pairs)
            fault = _fault(pairs, name, size)
            values["property"] = name
            return Drawn(
                ask="property",
                values=values,
                gold=gold.boolean(not fault),
                steps=fault or f"Checking every pair finds nothing against it: {_MEANING[name]}.",
            )
        ask = base.chosen(rng, ("closure", "classes", "missing"))
        if ask == "classes":
            kept = base.whole(rng, 2, size - 1)
            pairs = frozenset(base.shuffled(rng, sorted(pairs))[:kept])
            values["pairs"] = _text(pairs)
            classes = _merged(pairs, size)
            shown = ", ".join(f"$\\{{{', '.join(map(str, each))}\\}}$" for each in classes)
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(len(classes)),
                steps=f"Elements that a chain of pairs connects, in either direction, fall into "
                f"one class. The classes are {shown}.",
            )
        reached = [
            (start, sorted(_reached(pairs, start))) for start in sorted({one for one, _ in pairs})
        ]
        total = sum(len(ends) for _, ends in reached)
        shown = ", ".join(
            f"from ${start}$: ${', '.join(map(str, ends))}$" for start, ends in reached
        )
        steps = f"Follow the pairs from each element as far as they lead, {shown}. "
        if ask == "closure":
            counts = " + ".join(str(len(ends)) for _, ends in reached)
            steps += f"That is ${counts}$ pairs."
            return Drawn(ask=ask, values=values, gold=gold.integer(total), steps=steps)
        steps += f"These are ${total}$ pairs, of which ${len(pairs)}$ are there already."
        return Drawn(ask=ask, values=values, gold=gold.integer(total - len(pairs)), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # As a matrix of truth values, one row of bits for each element.
        size = len(values["elements"])
        rows = [0] * size
        for one, other in re.findall(r"\((\d+), (\d+)\)", values["pairs"]):
            rows[int(one) - 1] |= 1 << (int(other) - 1)
        columns = [sum((row >> k & 1) << i for i, row in enumerate(rows)) for k in range(size)]
        if ask == "property":
            squares = [_product(row, rows) for row in rows]
            holds = {
                "reflexive": all(rows[k] >> k & 1 for k in range(size)),
                "symmetric": rows == columns,
                "transitive": all(two & ~one == 0 for one, two in zip(rows, squares, strict=True)),
                "antisymmetric": all(rows[k] & columns[k] & ~(1 << k) == 0 for k in range(size)),
            }
            return gold.boolean(holds[values["property"]])
        before = sum(row.bit_count() for row in rows)
        if ask == "classes":
            rows = [row | columns[k] | 1 << k for k, row in enumerate(rows)]
        for middle in range(size):
            rows = [row | rows[middle] if row >> middle & 1 else row for row in rows]
        if ask == "classes":
            return gold.integer(len(set(rows)))
        after = sum(row.bit_count() for row in rows)
        return gold.integer(after if ask == "closure" else after - before)


_MEANING = {
    "reflexive": "every element is paired with itself",
    "symmetric": "with every pair the turned one is there too",
    "transitive": "where one pair ends and another begins, the pair that skips the middle is there",
    "antisymmetric": "no pair of two different elements is there in both directions",
}


def _text(pairs: Pairs) -> str:
    return f"\\{{{', '.join(f'({one}, {other})' for one, other in sorted(pairs))}\\}}"


def _product(row: int, rows: Sequence[int]) -> int:
    found = 0
    for place, each in enumerate(rows):
        if row >> place & 1:
            found |= each
    return found


def _fault(pairs: Pairs, name: str, size: int) -> str:
    """What speaks against a property; empty where nothing does."""
    if name == "reflexive":
        for each in range(1, size + 1):
            if (each, each) not in pairs:
                return f"The pair $({each}, {each})$ is missing."
    for one, other in sorted(pairs):
        if name == "symmetric" and (other, one) not in pairs:
            return f"$({one}, {other})$ is there, but $({other}, {one})$ is not."
        if name == "antisymmetric" and one != other and (other, one) in pairs:
            return f"Both $({one}, {other})$ and $({other}, {one})$ are there."
        for begin, end in sorted(pairs) if name == "transitive" else ():
            if begin == other and (one, end) not in pairs:
                return (
                    f"$({one}, {other})$ and $({begin}, {end})$ are there, but $({one}, {end})$ is "
                    "not."
                )
    return ""


def _towards(pairs: Pairs, name: str, size: int) -> Pairs:
    """The same relation, changed so that it has the property."""
    if name == "reflexive":
        return pairs | {(each, each) for each in range(1, size + 1)}
    if name == "symmetric":
        return pairs | {(other, one) for one, other in pairs}
    if name == "antisymmetric":
        return frozenset((one, two) for one, two in pairs if one >= two or (two, one) not in pairs)
    return frozenset((one, end) for one, _ in pairs for end in _reached(pairs, one))


def _reached(pairs: Pairs, start: int) -> set[int]:
    found: set[int] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        for one, other in pairs:
            if one == here and other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _merged(pairs: Pairs, size: int) -> list[list[int]]:
    groups = [[each] for each in range(1, size + 1)]
    for one, other in sorted(pairs):
        first = next(group for group in groups if one in group)
        second = next(group for group in groups if other in group)
        if first is not second:
            first += second
            groups.remove(second)
    return [sorted(group) for group in groups]
