"""What a family of procedural problems is: drawn one way, said in words, and solved another way.

A family draws an instance with its answer (``draw``), says it in one of its wordings, and solves
it again from nothing but what the text says (``solve``), by a method that shares no step with
``draw``. Its fields are the dial: sizes at difficulty 0 and at difficulty 1.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs

from limite.core.types import Problem
from limite.problems.files import WORDS
from limite.problems.procedural.base import Ends, ends, steady
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings
from limite.problems.verifiers.judge import judge


@attrs.frozen(kw_only=True)
class Drawn:
    """An instance: what its text says, its answer, and the steps of a worked solution.

    ``steps`` is text with LaTeX between dollar signs, and ends before the answer is stated.
    """

    values: Mapping[str, Any]
    gold: Gold
    steps: str
    ask: str = ""


def dial(
    low: float, high: float, about: str, *, least: float = 1.0, most: float = 1_000_000.0
) -> Any:
    """A field of a family: ``about`` names a quantity that is ``low`` at difficulty 0 and rises to
    ``high`` at 1; settings may choose others between ``least`` and ``most``."""
    return attrs.field(
        default=(float(low), float(high)), validator=ends(least, most), metadata={"help": about}
    )


class Family:
    """Base of the procedural families; see docs/families.md for how one is written."""

    __slots__ = ()

    name: ClassVar[str]
    tag: ClassVar[str]
    """Area and topic, such as ``number-theory/gcd``."""
    version: ClassVar[int] = 1
    """Raise it with every change that gives other problems for the same seed."""
    wordings: ClassVar[Wordings]

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        """An instance at this difficulty, made so that its answer is known."""
        raise NotImplementedError

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        """The answer to what a text asks, by another method; None where it cannot be."""
        raise NotImplementedError

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        steady((0.0, 1.0), difficulty)  # refuses what lies outside
        drawn = self.draw(rng, difficulty)
        return Problem(
            problem=self.wordings.say(rng, drawn.values, drawn.ask),
            answer=drawn.gold.answer,
            solutions={WORDS: f"{drawn.steps} The answer is $\\boxed{{{drawn.gold.latex}}}$."},
            source={"kind": "procedural", "generator": self.name, "version": self.version},
            difficulty={"level": round(100 * difficulty)},
            tags=(self.tag,),
        )

    def check(self, problem: Problem) -> bool:
        """Whether the answer is what ``solve`` finds from the text alone."""
        said = self.wordings.read(problem.problem)
        if said is None:
            return False
        found = self.solve(*said)
        if found is None:
            return False
        mine, given = found.answer, problem.answer
        if mine == given:
            return True
        if mine.type != given.type or mine.params != given.params:
            return False
        return judge(given, mine.value, extract=False).correct


__all__ = ["Drawn", "Ends", "Family", "dial"]
