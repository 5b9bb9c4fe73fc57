"""What every step of authoring must obey, as tests to run over any one of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from limite.core.kinds import AuthorStep
from limite.core.types import Answer, Problem

QUESTIONS = st.text("What is the sum of 1234567890 and $x^2$?é\n", min_size=1, max_size=60)
PROBLEMS = st.builds(
    Problem,
    problem=QUESTIONS.filter(str.strip),
    answer=st.integers().map(lambda number: Answer(type="integer", value=str(number))),
    meta=st.sampled_from(["en", "de", "fr"]).map(lambda language: {"language": language}),
)
REPLIES = st.sampled_from(["yes", "no", "", "{}", '{"problem": "How much is 1 + 1?"}']) | st.text(
    max_size=40
)
"""What a writer might say, whatever it was asked."""


def author_step_laws(step: AuthorStep) -> dict[str, Callable[[], None]]:
    """Laws by name; each is a test without arguments."""
    return {
        law.__name__: functools.partial(law, step)
        for law in (any_reply_will_do, the_answer_stays, the_same_replies_decide_the_same)
    }


def any_reply_will_do(step: AuthorStep) -> None:
    """Whatever the writer replies, a problem with a text is given on, or the reason why not."""

    @given(PROBLEMS, REPLIES)
    def check(problem: Problem, reply: str) -> None:
        found = step(problem, lambda _prompt: reply)
        assert isinstance(found, Problem | str), f"gives {type(found).__name__}"
        text = found if isinstance(found, str) else found.problem
        assert text.strip(), "a reason, or a question, without a word"

    check()


def the_answer_stays(step: AuthorStep) -> None:
    """Solvers judge the text that a step gives on, so the answer is not for it to change."""

    @given(PROBLEMS, REPLIES)
    def check(problem: Problem, reply: str) -> None:
        before = deepcopy(problem)
        found = step(problem, lambda _prompt: reply)
        assert problem == before, "the problem it was given is not what it was"
        if isinstance(found, Problem):
            assert found.answer == before.answer, f"{before.answer} became {found.answer}"

    check()


def the_same_replies_decide_the_same(step: AuthorStep) -> None:
    """A run that was stopped and goes on asks nothing twice, and must end alike."""

    @given(PROBLEMS, st.lists(REPLIES, min_size=1, max_size=3))
    def check(problem: Problem, replies: list[str]) -> None:
        asked: list[list[str]] = []
        found = []
        for _ in range(2):
            prompts: list[str] = []

            def ask(prompt: str, prompts: list[str] = prompts) -> str:
                prompts.append(prompt)
                return replies[(len(prompts) - 1) % len(replies)]

            found.append(step(deepcopy(problem), ask))
            asked.append(prompts)
        assert asked[0] == asked[1], "it asks something else the second time"
        assert found[0] == found[1], "it decides something else the second time"

    check()
