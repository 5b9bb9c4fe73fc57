"""Laws of problem generators: what training on their problems relies on."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable

import attrs
from hypothesis import given
from hypothesis import strategies as st

from limite.core.kinds import Generator, Verifier
from limite.core.types import Answer, Problem, Verdict
from limite.plugins.conformance.perturbed import perturbed
from limite.problems.procedural.base import MARKER
from limite.problems.verifiers.judge import judge as judge_by_value

# Both ends are drawn often: sizes go wrong there.
difficulties = st.sampled_from([0.0, 1.0]) | st.floats(0.0, 1.0)
seeds = st.integers(0, 2**64 - 1)


def generator_laws(
    component: Generator, *, verifier: Verifier | None = None
) -> dict[str, Callable[[], None]]:
    """A test per law of generators, by name.

    ``verifier`` judges worked solutions. Unless it is given, the final answer of a solution, in a
    box or behind the marker ``#``, is compared by value, as ``limite-gen`` does.
    """
    judge: Verifier = by_value if verifier is None else verifier
    return {
        law.__name__: functools.partial(_run, law, component, judge)
        for law in (
            same_stream_same_problem,
            global_random_state_is_untouched,
            the_gold_is_confirmed,
            another_gold_is_refused,
            solutions_verify,
            another_answer_is_wrong,
            the_text_is_finished,
        )
    }


Law = Callable[[Generator, Verifier, int, float], None]


def by_value(answer: Answer, text: str) -> Verdict:
    """The verdict on a worked solution: its one marked answer, or the last in a box."""
    _, marker, stated = text.rpartition(MARKER)
    if not marker or "\\boxed" in text:
        return judge_by_value(answer, text)
    if text.count(MARKER) > 1:
        return Verdict(outcome="unreadable", reason="it marks more than one answer")
    return judge_by_value(answer, stated, extract=False)


def _run(law: Law, component: Generator, judge: Verifier) -> None:
    @given(seed=seeds, difficulty=difficulties)
    def check(seed: int, difficulty: float) -> None:
        law(component, judge, seed, difficulty)

    check()


def _sample(component: Generator, seed: int, difficulty: float) -> Problem:
    return component.sample(random.Random(seed), difficulty)


def same_stream_same_problem(
    component: Generator, _judge: Verifier, seed: int, difficulty: float
) -> None:
    first = _sample(component, seed, difficulty)
    _sample(component, seed + 1, difficulty)  # nothing may be remembered from this
    again = _sample(component, seed, difficulty)
    assert again == first, f"the same stream gave {first.problem!r}, then {again.problem!r}"


def global_random_state_is_untouched(
    component: Generator, _judge: Verifier, seed: int, difficulty: float
) -> None:
    before = random.getstate()
    problem = _sample(component, seed, difficulty)
    component.check(problem)
    assert random.getstate() == before, "the global random state was used"


def the_gold_is_confirmed(
    component: Generator, _judge: Verifier, seed: int, difficulty: float
) -> None:
    problem = _sample(component, seed, difficulty)
    assert component.check(problem) is True, (
        f"its own check refuses {problem.answer.value!r} for {problem.problem!r}"
    )


def another_gold_is_refused(
    component: Generator, _judge: Verifier, seed: int, difficulty: float
) -> None:
    problem = _sample(component, seed, difficulty)
    for value in perturbed(problem):
        wrong = attrs.evolve(problem, answer=attrs.evolve(problem.answer, value=value))
        assert component.check(wrong) is False, (
            f"its own check accepts {value!r} for {problem.problem!r}"
        )


def solutions_verify(component: Generator, judge: Verifier, seed: int, difficulty: float) -> None:
    problem = _sample(component, seed, difficulty)
    for style, text in problem.solutions.items():
        verdict = judge(problem.answer, text)
        assert verdict.correct, (
            f"the {style!r} solution {text!r} of {problem.problem!r} is {verdict.outcome}: "
            f"{verdict.reason}"
        )


def another_answer_is_wrong(
    component: Generator, judge: Verifier, seed: int, difficulty: float
) -> None:
    problem = _sample(component, seed, difficulty)
    for value in perturbed(problem):
        wrong = attrs.evolve(problem.answer, value=value)
        for text in problem.solutions.values():
            assert not judge(wrong, text).correct, f"{text!r} passes for the gold answer {value!r}"


def the_text_is_finished(
    component: Generator, _judge: Verifier, seed: int, difficulty: float
) -> None:
    problem = _sample(component, seed, difficulty)
    for text in (problem.problem, problem.answer.value, *problem.solutions.values()):
        assert text.strip(), "a text is empty"
        for leftover, what in LEFTOVERS:
            found = leftover.search(text)
            assert not found, f"{text!r} holds {found[0]!r}: {what}"
        assert _balanced(text), f"{text!r}: braces do not match"
        assert text.count("$") % 2 == 0, f"{text!r}: dollar signs do not match"
    assert problem.problem == problem.problem.strip(), "space stands around the question"


LEFTOVERS = tuple(
    (re.compile(pattern), what)
    for pattern, what in (
        (
            r"(?<![\\A-Za-z^_}])\{[a-z_]+[:!}]|<[a-z_]+(:[a-z]+)?>|%[ds]",
            "a placeholder left unfilled?",
        ),
        (r"\b(None|nan|inf|Fraction|True|False)\b", "a value of Python, not of mathematics"),
        (r"[-+] ?[-+] ?[0-9a-z\\]", "two signs in a row"),
        (r"(?<![0-9.^_{,/])[01][xyz]\b", "a coefficient nobody writes"),
        (r"(?<!\})\^\{?1\}?(?![0-9/.])", "a power of one"),  # but integrals up to 1
        (r" {2}| [.,;?](?!\.)", "a space too many"),
    )
)
"""What no finished text holds, and what it is a sign of."""


def _balanced(text: str) -> bool:
    depth = 0
    for sign in re.findall(r"(?<!\\)[{}]", text):
        depth += 1 if sign == "{" else -1
        if depth < 0:
            return False
    return depth == 0
