"""The laws of benchmarks hold for what limite ships, and name what is wrong with others."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from limite.core.discover import load_registry
from limite.core.types import Answer, Problem
from limite.plugins.conformance import laws_for


def problem(number: int, **changed: Any) -> Problem:
    answer = Answer(type="integer", value=str(number + 1))
    return Problem(**{"problem": f"What is {number} + 1?", "answer": answer, **changed})


@attrs.frozen(kw_only=True)
class Sound:
    """Five sums."""

    def problems(self) -> Sequence[Problem]:
        return [problem(number) for number in range(5)]

    def question(self, asked: Problem) -> str:
        return f"Add: {asked.problem}"


class Empty(Sound):
    def problems(self) -> Sequence[Problem]:
        return []


class Unanswered(Sound):
    def problems(self) -> Sequence[Problem]:
        return [problem(1), problem(2, answer=Answer(type="string", value=" "))]


class Twice(Sound):
    def problems(self) -> Sequence[Problem]:
        return [problem(1), problem(2), problem(1, problem="What is  1 + 1?")]


class Shuffled(Sound):
    def problems(self) -> Sequence[Problem]:
        found = [problem(number) for number in range(9)]
        random.shuffle(found)
        return found


class Growing(Sound):
    count = itertools.count(1)

    def problems(self) -> Sequence[Problem]:
        return [problem(number) for number in range(next(self.count))]


class Broken(Sound):
    sha256 = "0" * 64


class Odd(Sound):
    def problems(self) -> Sequence[Problem]:
        return [problem(1, meta={"level": (1, 2)})]


class Unjudged(Sound):
    def problems(self) -> Sequence[Problem]:
        return [problem(1), problem(2, answer=Answer(type="integer", value="three"))]


class Other(Sound):
    def question(self, asked: Problem) -> str:
        return "What is 6 times 7?"


class Telling(Sound):
    def question(self, asked: Problem) -> str:
        return f"{asked.problem} (It is not {int(asked.answer.value) + 1}.)"


class Fickle(Sound):
    count = itertools.count(1)

    def question(self, asked: Problem) -> str:
        return f"Question {next(self.count)}: {asked.problem}"


SHIPPED = [entry.name for entry in load_registry().entries("benchmark")]
LAWS = [(name, law) for name in SHIPPED for law in laws_for("benchmark", Sound)]


@pytest.mark.parametrize(("name", "law"), LAWS, ids=["-".join(each) for each in LAWS])
def test_shipped_benchmarks_keep_the_laws(name: str, law: str) -> None:
    laws_for("benchmark", load_registry().get("benchmark", name).load())[law]()


@pytest.mark.parametrize("law", list(laws_for("benchmark", Sound)))
def test_a_sound_one_keeps_them(law: str) -> None:
    laws_for("benchmark", Sound)[law]()


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (Empty, "there_are_problems_with_answers"),
        (Unanswered, "there_are_problems_with_answers"),
        (Twice, "no_problem_is_there_twice"),
        (Shuffled, "they_are_the_same_every_time"),
        (Growing, "they_are_the_same_every_time"),
        (Broken, "they_are_what_the_seal_says"),
        (Odd, "a_file_of_them_is_them"),
        (Unjudged, "every_answer_is_right_where_it_is_stated"),
        (Other, "the_question_holds_the_problem_and_knows_no_answer"),
        (Telling, "the_question_holds_the_problem_and_knows_no_answer"),
        (Fickle, "the_question_holds_the_problem_and_knows_no_answer"),
    ],
)
def test_a_mistake_is_named(fault: type[Sound], law: str) -> None:
    with pytest.raises(AssertionError):
        laws_for("benchmark", fault)[law]()
