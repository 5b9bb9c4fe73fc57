"""Problems of files that a stage draws from and a later one or a probe asks, reworded or not.

Training leaves out what belongs to the held-out part, by its text alone. That says nothing of a
problem that asks the same in other words, nor of a file whose whole purpose is to name problems.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError
from limite.core.recipe.overlap_checks import SHOWN, Question, Watch
from limite.core.recipe.problem_files import problems_in
from limite.core.recipe.stages import RL, SFT, is_file
from limite.core.separation import is_held_out, text_hash
from limite.core.types import Problem

NEAR = "limite.problems.near"
"""Named as text: ``core`` knows nothing of what is above it."""


class Reworded:
    """Finds questions that a problem asks in other words: same numbers, same answer, nearly the
    same phrases."""

    def __init__(self, asked: Mapping[str, Question]) -> None:
        self._near: Any = importlib.import_module(NEAR)
        self._kept = self._near.Near()
        self._marks: set[Any] = set()
        for question in asked.values():
            mark = self._mark(question.text, question.answer)
            self._marks.add(mark)
            self._kept.add(self._near.template(question.text), mark, question)

    def _mark(self, text: str, answer: str) -> Any:
        return (self._near.numbers(text), answer)

    def find(self, problem: Problem) -> Question | None:
        """The question that a problem repeats in other words."""
        mark = self._mark(problem.problem, problem.answer.value)
        if mark not in self._marks:
            return None
        found: Question | None = next(
            self._kept.find(self._near.template(problem.problem), mark), None
        )
        return found


def reworded_faults(stage: RL | SFT, watch: Watch) -> Iterator[Fault]:
    """What files of a stage share with what later stages, and probes, ask.

    A file that the curriculum names is a choice of problems: none of it may be asked later, even
    where training would leave it out.
    """
    mix = stage.problems
    files = [] if mix is None else [name for name in mix.entries if is_file(name)]
    if mix is None or not files or not watch.asked:
        return
    curriculum = getattr(stage, "curriculum", None)
    pools: Collection[str] = getattr(curriculum, "names_files", ())
    reworded = Reworded(watch.asked)
    for name in files:
        try:
            problems = problems_in(name, mix.entries[name])
        except LimiteError:  # what is wrong with a file is told where files are looked at
            continue
        path: tuple[str, ...] = ("problems", "sources", name)
        does = "trains on"
        if name in pools:
            path, does = ("curriculum",), "names"
        else:
            problems = [each for each in problems if not is_held_out(each.problem)]
        own = attrs.evolve(watch, met={})
        own.see(text_hash(each.problem) for each in problems)
        for fault in own.faults(*path, where=name):
            message = fault.message.replace(" trains on ", f" {does} ", 1)
            yield attrs.evolve(fault, message=message)
        others = [each for each in problems if text_hash(each.problem) not in watch.asked]
        yield from _told(f"{name} {does}", path, others, reworded)


def _told(
    file_does: str, path: tuple[str, ...], problems: Sequence[Problem], reworded: Reworded
) -> Iterator[Fault]:
    by_stage: dict[str, list[str]] = {}
    for problem in problems:
        found = reworded.find(problem)
        if found is not None:
            pair = f"{problem.problem!r} for {found.text!r}"
            by_stage.setdefault(found.stage, []).append(pair)
    for stage, pairs in by_stage.items():
        count = "1 problem" if len(pairs) == 1 else f"{len(pairs):,} problems"
        yield Fault(
            path,
            f"{file_does} {count} that {stage!r} asks in other words, such as "
            f"{', '.join(sorted(pairs)[:SHOWN])}; leave them out of it, or that score would not "
            "mean ability",
        )
