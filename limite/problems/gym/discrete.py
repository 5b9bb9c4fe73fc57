"""Grids, strings and graphs with an answer that is a number or a truth value."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.gym.adapter import Adapted
from limite.problems.gym.arithmetic import whole
from limite.problems.procedural import base, gold
from limite.problems.procedural.base import Ends, steady
from limite.problems.procedural.family import dial
from limite.problems.procedural.gold import Gold

MOST = 30
"""The most rows of a grid, and the most letters of a string that is asked for."""


def _grid(question: str) -> list[list[int]]:
    """The rows of digits in a question."""
    lines = re.findall(r"^[0-2](?: [0-2])+$", question, re.MULTILINE)
    rows = [[int(each) for each in line.split()] for line in lines]
    if not rows or len(rows) > MOST or len({len(row) for row in rows}) != 1:
        raise ValueError("no grid")
    return rows


@attrs.frozen(kw_only=True)
class GymLargestIsland(Adapted):
    """largest_island: the size of the largest connected part of a grid."""

    name = "gym-largest-island"
    dataset = "largest_island"
    tag = "reasoning-gym/graphs"

    side: Ends = dial(5, 12, "most rows and columns", least=5, most=30)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        most = base.whole_near(rng, steady(self.side, difficulty))
        return {"max_rows": most, "max_cols": most}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        rows = _grid(question)
        label = {(r, c): (r, c) for r, row in enumerate(rows) for c, cell in enumerate(row) if cell}
        changed = True
        while changed:  # each cell takes the least label around it, until none changes
            changed = False
            for r, c in label:
                around = ((r, c), (r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
                least = min(label[each] for each in around if each in label)
                changed, label[r, c] = changed or least != label[r, c], least
        sizes = list(label.values())
        return gold.integer(max(map(sizes.count, sizes), default=0))


@attrs.frozen(kw_only=True)
class GymRottenOranges(Adapted):
    """rotten_oranges: how long something needs to spread over a grid."""

    name = "gym-rotten-oranges"
    dataset = "rotten_oranges"
    tag = "reasoning-gym/graphs"

    side: Ends = dial(4, 14, "most rows and columns", least=3, most=30)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"min_n": 3, "max_n": base.whole_near(rng, steady(self.side, difficulty))}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        now, minutes = _grid(question), 0
        while True:  # minute by minute, the whole grid at once
            turned = [
                [2 if cell == 1 and 2 in _around(now, r, c) else cell for c, cell in enumerate(row)]
                for r, row in enumerate(now)
            ]
            if turned == now:
                return gold.integer(-1 if any(1 in row for row in now) else minutes)
            now, minutes = turned, minutes + 1


def _around(rows: list[list[int]], r: int, c: int) -> list[int]:
    return [
        rows[row][column]
        for row, column in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
        if 0 <= row < len(rows) and 0 <= column < len(rows[0])
    ]


@attrs.frozen(kw_only=True)
class GymBinaryAlternation(Adapted):
    """binary_alternation: the fewest swaps that make a binary string alternate."""

    name = "gym-binary-alternation"
    dataset = "binary_alternation"
    tag = "reasoning-gym/strings"

    length: Ends = dial(6, 30, "most characters", least=4, most=MOST)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"min_n": 4, "max_n": base.whole_near(rng, steady(self.length, difficulty))}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return whole(item)

    def solve(self, question: str) -> Gold | None:
        found = re.search(r"alternating: ([01]{1,100})$", question)
        if not found:
            return None
        swaps = []
        for first in "01":
            other = "10"["10".index(first) - 1]
            aim = ((first + other) * len(found[1]))[: len(found[1])]
            wrong = [have for have, want in zip(found[1], aim, strict=True) if have != want]
            if 2 * wrong.count("0") == len(wrong):  # every swap puts a 0 and a 1 right
                swaps.append(len(wrong) // 2)
        return gold.integer(min(swaps, default=-1))


@attrs.frozen(kw_only=True)
class GymCourseSchedule(Adapted):
    """course_schedule: whether prerequisites leave an order, or go round in a circle."""

    name = "gym-course-schedule"
    dataset = "course_schedule"
    tag = "reasoning-gym/graphs"

    courses: Ends = dial(5, 14, "most courses", least=5, most=40)

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        return {"max_num_courses": base.whole_near(rng, steady(self.courses, difficulty))}

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        return gold.boolean({"True": True, "False": False}[item["answer"]])

    def solve(self, question: str) -> Gold | None:
        found = re.search(r"There are a total of (\d{1,3}) courses", question)
        pairs = [(int(a), int(b)) for a, b in re.findall(r"\((\d+), (\d+)\)", question)]
        if not found:
            return None
        left = set(range(int(found[1])))
        while True:  # take what needs nothing that is left
            free = left - {course for course, needed in pairs if needed in left}
            if not free:
                return gold.boolean(not left)
            left -= free
