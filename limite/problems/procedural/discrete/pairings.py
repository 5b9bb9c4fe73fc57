"""People and tasks that are paired."""

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

_CAN = re.compile(r"([A-Z]) can do ([0-9, ]+?)(?=;|$)")


@attrs.frozen(kw_only=True)
class Pairings(Family):
    """How many people can be given a task they can do, and in how many ways all can."""

    name = "task-pairings"
    tag = "discrete/matchings"
    wordings = Wordings(
        most=(
            "Each of the workers <workers:text> gets at most one of the tasks $1$ to $<tasks>$, "
            "and each task goes to at most one worker: <can:text>. To how many workers at most can "
            "a task be given?",
            "The pupils <workers:text> choose topics numbered from $1$ to $<tasks>$. No topic may "
            "be taken twice, nobody takes two, and the wishes are: <can:text>. How many pupils at "
            "most can work on a topic that they can do?",
        ),
        ways=(
            "Each of the workers <workers:text> is to get exactly one of the tasks $1$ to "
            "$<tasks>$, and no two the same: <can:text>. In how many ways can the tasks be given "
            "out?",
        ),
    )

    workers: Ends = dial(3, 6, "how many workers", least=3, most=8)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        workers = base.whole_near(rng, base.steady(self.workers, difficulty))
        names = "ABCDEFGH"[:workers]
        if rng.random() < 0.5:
            tasks = workers
            skills = [
                sorted(base.distinct(rng, base.whole(rng, 1, min(3, tasks)), 1, tasks))
                for _ in range(workers)
            ]
            fixed = base.shuffled(rng, range(1, tasks + 1))
            skills = [sorted({*each, own}) for each, own in zip(skills, fixed, strict=True)]
            return Drawn(
                ask="ways",
                values={"workers": _row(names), "tasks": tasks, "can": _said(names, skills)},
                gold=gold.integer(_ways(skills)),
                steps=_first_choices(names, skills),
            )
        tasks = workers + int(rng.random() * 2)
        popular = base.distinct(rng, max(2, workers - 2), 1, tasks)
        skills = []
        for _ in range(workers):
            pool = popular if rng.random() < 0.75 else range(1, tasks + 1)
            size = base.whole(rng, 1, min(3, len(pool)))
            skills.append(sorted(base.shuffled(rng, pool)[:size]))
        holder = _matched(skills)
        pairs = sorted((names[worker], task) for task, worker in holder.items())
        shown = ", ".join(f"{name} does ${task}$" for name, task in pairs)
        return Drawn(
            ask="most",
            values={"workers": _row(names), "tasks": tasks, "can": _said(names, skills)},
            gold=gold.integer(len(holder)),
            steps=f"{shown}: that is ${len(holder)}$. {_why(names, skills, holder)}",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Worker by worker: in how many ways each set of tasks can be in use.
        skills = [
            [int(task) for task in tasks.split(", ")] for _, tasks in _CAN.findall(values["can"])
        ]
        in_use = {0: 1}
        for tasks in skills:
            after = dict(in_use) if ask == "most" else {}
            for used, count in in_use.items():
                for task in tasks:
                    if not used >> task & 1:
                        more = used | 1 << task
                        after[more] = after.get(more, 0) + count
            in_use = after
        if ask == "most":
            return gold.integer(max(used.bit_count() for used in in_use))
        return gold.integer(sum(in_use.values()))


def _row(names: str) -> str:
    return ", ".join(names)


def _said(names: str, skills: Sequence[Sequence[int]]) -> str:
    return "; ".join(
        f"{name} can do {', '.join(map(str, each))}"
        for name, each in zip(names, skills, strict=True)
    )


def _ways(skills: Sequence[Sequence[int]], used: frozenset[int] = frozenset()) -> int:
    """One choice after the other for the first worker who is left."""
    if not skills:
        return 1
    first, *others = skills
    return sum(_ways(others, used | {task}) for task in first if task not in used)


def _first_choices(names: str, skills: Sequence[Sequence[int]]) -> str:
    counts = [_ways(skills[1:], frozenset({task})) for task in skills[0]]
    cases = ", ".join(
        f"${count}$ if {names[0]} does ${task}$"
        for task, count in zip(skills[0], counts, strict=True)
    )
    added = f" Together these are ${' + '.join(map(str, counts))}$." if len(counts) > 1 else ""
    return f"Going through all choices, worker by worker, the number of ways is {cases}.{added}"


def _matched(skills: Sequence[Sequence[int]]) -> dict[int, int]:
    """Who does which task: whoever is without one asks others to move on."""
    holder: dict[int, int] = {}

    def placed(worker: int, asked: set[int]) -> bool:
        for task in skills[worker]:
            if task not in asked:
                asked.add(task)
                if task not in holder or placed(holder[task], asked):
                    holder[task] = worker
                    return True
        return False

    for worker in range(len(skills)):
        placed(worker, set())
    return holder


def _why(names: str, skills: Sequence[Sequence[int]], holder: Mapping[int, int]) -> str:
    """Workers who can do too few tasks between them, or that all of them have one."""
    if len(holder) == len(skills):
        return "More is not possible, since that is all of them."
    missing = len(skills) - len(holder)
    for size in range(2, len(skills) + 1):
        for group in itertools.combinations(range(len(skills)), size):
            tasks = sorted({task for worker in group for task in skills[worker]})
            if size - len(tasks) == missing:
                return (
                    f"More is not possible: {', '.join(names[worker] for worker in group)} can do "
                    f"only ${', '.join(map(str, tasks))}$ between them, so of these workers at "
                    f"least ${missing}$ must go without."
                )
    raise AssertionError("by Hall's theorem there is such a group")
