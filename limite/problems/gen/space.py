"""How many different problems a family has at a difficulty: counted where they are few.

Many are not counted but bounded from below. Of the pairs among problems drawn from a space of
``S``, at least one in ``S`` is a pair of equals on average, and just one where all are as likely:
few pairs of equals show that the space is large, however unevenly it is drawn from.

``python -m limite.problems.gen.space`` looks at every built-in family and writes ``spaces.json``,
which ``limite-gen list`` shows.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from limite.core.discover import load_registry
from limite.core.jsonl import read_json
from limite.core.kinds import Generator
from limite.core.registry import BUILT_IN
from limite.core.seeds import Seeds
from limite.problems.gen.families import LOOKS, family, version_of
from limite.problems.gen.fill import PATIENCE

DRAWS = 300
SMALL = 250
"""A space that may be no larger is drawn from until nothing new comes."""

MOST_DRAWS = 6_000
LARGE = 10_000
"""More than this is not told apart: so many draws show nothing of it."""

TABLE = Path(__file__).with_name("spaces.json")


@attrs.frozen
class Space:
    """How many problems there are at one difficulty: so many, or at least so many."""

    difficulty: float
    problems: int
    counted: bool

    @property
    def text(self) -> str:
        if self.counted:
            return f"{self.problems:,}"
        return "large" if self.problems >= LARGE else f"over {self.problems:,}"


def space(name: str, component: Generator, difficulty: float, *, draws: int = DRAWS) -> Space:
    """What is known of a family's space at one difficulty; the same each time.

    It is counted when ``PATIENCE`` problems and three times as many as were found give nothing new,
    which is when ``limite-gen make`` calls it exhausted.
    """
    seeds = Seeds(0, ("space", name, str(difficulty)))
    found: Counter[str] = Counter()
    idle = drawn = pairs = 0
    while drawn < draws or (drawn < MOST_DRAWS and _at_least(drawn, pairs) <= SMALL):
        problem = component.sample(seeds.stream(drawn), difficulty).id
        pairs += found[problem]
        idle = idle + 1 if found[problem] else 0
        found[problem] += 1
        drawn += 1
        if idle >= PATIENCE + 3 * len(found):
            return Space(difficulty, len(found), True)
    least = max(len(found), _at_least(drawn, pairs))
    beyond = 10 ** max(0, len(str(least)) - 2)
    return Space(difficulty, min(least // beyond * beyond, LARGE), False)


def _at_least(drawn: int, pairs: int) -> int:
    """A bound from below, right in 39 of 40 cases, for what problems were drawn from."""
    return int(drawn * (drawn - 1) / 2 / (pairs + 2 * math.sqrt(pairs) + 3.7))


def spaces(name: str, component: Generator) -> list[Space]:
    """What is known of a family's space at each of the difficulties that are looked at."""
    return [space(name, component, difficulty) for difficulty in LOOKS]


def known(name: str, component: Generator) -> list[Space] | None:
    """The same from the table of built-in families; None where it holds nothing of this one."""
    row = _table().get(name)
    if row is None or row["version"] != version_of(component):
        return None
    return [Space(*each) for each in row["spaces"]]


@cache
def _table() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = read_json(TABLE)
    return table


def plain(found: Sequence[Space] | None) -> list[dict[str, Any]] | None:
    """Spaces as JSON."""
    return None if found is None else [attrs.asdict(each) for each in found]


def of_plain(found: Sequence[Mapping[str, Any]] | None) -> list[Space] | None:
    """The spaces that ``plain`` wrote."""
    return None if found is None else [Space(**each) for each in found]


def text(found: Sequence[Space] | None) -> str:
    """Spaces in a line, easy problems first."""
    if found is None:
        return "not counted"
    words = [each.text for each in found]
    return words[0] if len(set(words)) == 1 else "; ".join(words)


def main() -> None:
    """Writes the table, one family a line."""
    registry = load_registry()
    rows = []
    for entry in registry.entries("generator"):
        # Data sets of the reasoning-gym extra are drawn too slowly for this.
        if entry.distribution == BUILT_IN and not entry.name.startswith("gym-"):
            component = family(entry.name)
            found = [attrs.astuple(each) for each in spaces(entry.name, component)]
            row = {"version": version_of(component), "spaces": found}
            rows.append(f"{json.dumps(entry.name)}: {json.dumps(row)}")
    TABLE.write_text("{\n" + ",\n".join(sorted(rows)) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
