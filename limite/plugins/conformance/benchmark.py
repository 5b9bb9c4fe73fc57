"""Laws of benchmarks: a score is one of a set, so the set must stay what it is."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from copy import deepcopy

import attrs

from limite.core.discover import load_registry
from limite.core.jsonl import loads
from limite.core.kinds import Benchmark, Verifier
from limite.core.types import Answer, Problem
from limite.evaluate.problem_sets import seal_of
from limite.problems.files import line_of, problem_of, record_of


def benchmark_laws(component: Benchmark) -> dict[str, Callable[[], None]]:
    """A test per law of benchmarks, by name."""
    return {
        law.__name__: functools.partial(law, component)
        for law in (
            there_are_problems_with_answers,
            no_problem_is_there_twice,
            they_are_the_same_every_time,
            they_are_what_the_seal_says,
            a_file_of_them_is_them,
            every_answer_is_right_where_it_is_stated,
            the_question_holds_the_problem_and_knows_no_answer,
        )
    }


def there_are_problems_with_answers(component: Benchmark) -> None:
    found = component.problems()
    assert len(found), "there is no problem"
    for number, each in enumerate(found, start=1):
        assert isinstance(each, Problem), f"number {number} is a {type(each).__name__}"
        assert each.problem.strip(), f"number {number} asks nothing"
        assert each.answer.value.strip(), f"number {number} ({each.problem[:40]!r}) has no answer"


def no_problem_is_there_twice(component: Benchmark) -> None:
    seen: dict[str, int] = {}
    for number, each in enumerate(component.problems(), start=1):
        text = " ".join(each.problem.split())
        assert text not in seen, f"number {number} asks what number {seen[text]} does"
        seen[text] = number


def they_are_the_same_every_time(component: Benchmark) -> None:
    """Whatever else the process has drawn from a random stream, and whoever asks."""
    state = random.getstate()
    try:
        found = []
        for seed in (1, 2):
            random.seed(seed)
            again = deepcopy(component) if seed == 2 else component
            found.append([record_of(each) for each in again.problems()])
    finally:
        random.setstate(state)
    assert found[0] == found[1], "the second time others come, or in another order"
    assert found[0] == [record_of(each) for each in component.problems()], "the third time others"


def they_are_what_the_seal_says(component: Benchmark) -> None:
    seal = getattr(component, "sha256", None)
    if seal is not None:  # a benchmark need not bear one
        found = seal_of(component.problems())
        assert found == seal, f"they make a file whose SHA-256 is {found}, and the seal is {seal}"


def a_file_of_them_is_them(component: Benchmark) -> None:
    """Results name a problem by its id, and whoever looks it up reads it from a file."""
    for each in component.problems():
        again = problem_of(loads(line_of(record_of(each))))
        assert again.id == each.id, f"{each.problem[:40]!r} has another id in a file"
        assert record_of(again) == record_of(each), f"{each.problem[:40]!r} is another in a file"


def every_answer_is_right_where_it_is_stated(component: Benchmark) -> None:
    """By the verifier that the benchmark names, or else by ``mathematics``."""
    name = getattr(component, "verifier", "mathematics")
    verifier: Verifier = load_registry().get("verifier", name).load()()
    write: Callable[[Answer], str] | None = getattr(verifier, "write", None)
    if write is None:
        return
    problems = component.problems()
    pairs = [(each.answer, write(each.answer)) for each in problems]
    judge = getattr(verifier, "judge", None)
    verdicts = judge(pairs) if judge is not None else [verifier(*pair) for pair in pairs]
    for each, verdict in zip(problems, verdicts, strict=True):
        assert verdict.correct, f"{each.problem[:40]!r}: {each.answer.value!r}: {verdict.reason}"


def the_question_holds_the_problem_and_knows_no_answer(component: Benchmark) -> None:
    question: Callable[[Problem], str] | None = getattr(component, "question", None)
    if question is None:
        return
    for each in component.problems():
        asked = question(each)
        assert isinstance(asked, str), f"what is asked is a {type(asked).__name__}"
        assert each.problem.strip() in asked, f"{each.problem[:40]!r} is not in what is asked"
        assert asked == question(each), "it asks something else the second time"
        other = attrs.evolve(each, answer=attrs.evolve(each.answer, value="7919"), solutions={})
        assert question(other) == asked, f"the answer to {each.problem[:40]!r} is told"
