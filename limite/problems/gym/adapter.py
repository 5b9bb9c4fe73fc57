"""A data set of reasoning-gym as a family: their item, an answer of ours, and a second opinion.

An item is passed on only when its answer is confirmed: by ``solve``, which reads nothing but the
question, or, where a family has none, by the data set's own scorer. Items that are not are passed
over, so that no wrong answer reaches a file or a recipe.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar

from limite.core.errors import LimiteError
from limite.core.types import Answer, Problem
from limite.problems.gym import EXTRA, PACKAGE
from limite.problems.procedural.base import steady
from limite.problems.procedural.gold import Gold
from limite.problems.verifiers.judge import judge

TRIES = 100
LONGEST = 20_000
"""Characters of a question that are read at all: a file may be anyone's."""

KEPT = "reasoning_gym"
"""The key of ``meta`` for data set, configuration and seed: enough to make the item again."""


class Adapted:
    """Base of the adapted data sets."""

    __slots__ = ()

    name: ClassVar[str]
    dataset: ClassVar[str]
    tag: ClassVar[str]
    version: ClassVar[int] = 1
    method: ClassVar[str] = "oracle"
    """How answers are confirmed: ``oracle`` by ``solve``, ``checker`` by the data set's scorer."""

    def config(self, rng: random.Random, difficulty: float) -> dict[str, Any]:
        """The settings of the data set at this difficulty, as plain data."""
        raise NotImplementedError

    def asked(self, item: Mapping[str, Any]) -> str:
        """The question: the item's own, unless that says what is not so here."""
        return str(item["question"]).strip()

    def gold(self, item: Mapping[str, Any]) -> Gold | None:
        """The item's answer as one of ours; None passes the item over."""
        raise NotImplementedError

    def solve(self, question: str) -> Gold | None:
        """The answer from the text alone, by code that shares nothing with the data set's."""
        raise NotImplementedError

    def sample(self, rng: random.Random, difficulty: float) -> Problem:
        steady((0.0, 1.0), difficulty)  # refuses what lies outside
        for _ in range(TRIES):
            made = {"config": self.config(rng, difficulty), "seed": int(rng.random() * 2**32)}
            item, score = _item(self.dataset, made)
            found = self.gold(item)
            if found is not None and self._confirmed(item, found.answer, score):
                return Problem(
                    problem=self.asked(item),
                    answer=found.answer,
                    source={
                        "kind": "procedural",
                        "generator": self.name,
                        "version": self.version,
                    },
                    difficulty={"level": round(100 * difficulty)},
                    tags=(self.tag,),
                    meta={KEPT: {"dataset": self.dataset, "version": _version(), **made}},
                    extra={
                        "verification": {
                            "method": self.method,
                            "checked_by": "limite"
                            if self.method == "oracle"
                            else f"the scorer of reasoning-gym {_version()}",
                        }
                    },
                )
        raise LimiteError(f"none of {TRIES} items of {self.dataset} has an answer that holds")

    def _confirmed(self, item: Mapping[str, Any], answer: Answer, score: Any) -> bool:
        if self.method == "checker":
            return bool(score(item["answer"], item) == 1.0)
        return self._agrees(self._solved(self.asked(item)), answer)

    def _solved(self, question: str) -> Gold | None:
        """What ``solve`` finds; None as well where the text is none of this data set."""
        if len(question) > LONGEST:
            return None
        try:
            return self.solve(question)
        except (ValueError, ArithmeticError, LookupError, SyntaxError, RecursionError, MemoryError):
            return None

    def _agrees(self, found: Gold | None, given: Answer) -> bool:
        if found is None:
            return False
        mine = found.answer
        if mine == given:
            return True
        if mine.type != given.type or mine.params != given.params:
            return False
        return judge(given, mine.value, extract=False).correct

    def check(self, problem: Problem) -> bool:
        """Whether the answer holds; where only the data set's scorer can tell, of the item made
        again from what ``meta`` keeps."""
        if self.method == "oracle":
            return self._agrees(self._solved(problem.problem), problem.answer)
        made = problem.meta.get(KEPT)
        if not isinstance(made, Mapping) or made.get("dataset") != self.dataset:
            return False
        try:
            item, score = _item(self.dataset, made)
        except (TypeError, KeyError, ValueError, AssertionError):
            return False  # settings that this data set does not take
        # The scorer evaluates text, so it is given the item's own answer and never the file's.
        return (
            self.asked(item) == problem.problem
            and self._agrees(self.gold(item), problem.answer)
            and bool(score(item["answer"], item) == 1.0)
        )


def _item(dataset: str, made: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """One item, and the scorer of its data set. The state of no other item enters it."""
    try:
        factory = importlib.import_module(f"{PACKAGE}.factory")
    except ImportError as error:
        raise LimiteError(
            f"{dataset} is a data set of reasoning-gym: pip install '{EXTRA}'"
        ) from error
    kind, config = factory.DATASETS[dataset]
    held = kind(config(**made["config"], seed=made["seed"], size=1))
    return held[0], held.score_answer


def _version() -> str:
    try:
        return version("reasoning-gym")
    except PackageNotFoundError:
        return "unknown"
