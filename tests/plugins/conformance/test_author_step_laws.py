"""The laws of authoring's steps hold for sound ones, and name what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from limite.core.types import Answer, Problem
from limite.plugins.conformance import laws_for

Ask = Callable[[str], str]


class Critic:
    """Refuses what the writer says no to."""

    def __call__(self, problem: Problem, ask: Ask) -> Problem | str:
        return "the writer says no" if ask(problem.problem) == "no" else problem


class Cheat(Critic):
    """Changes the answer to what the writer says."""

    def __call__(self, problem: Problem, ask: Ask) -> Problem | str:
        return attrs.evolve(problem, answer=Answer(type="integer", value=str(len(ask("?")))))


class Strict(Critic):
    """Stumbles over a reply it did not expect."""

    def __call__(self, problem: Problem, ask: Ask) -> Problem | str:
        return {"yes": problem, "no": "no"}[ask("well formed?")]


class Silent(Critic):
    """Refuses without a reason."""

    def __call__(self, problem: Problem, ask: Ask) -> Problem | str:
        return "" if ask("well formed?") == "no" else problem


class Forgetful(Critic):
    """Decides by how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, problem: Problem, ask: Ask) -> Problem | str:
        self.calls += 1
        return problem if self.calls % 2 else "not this time"


def test_a_sound_step_keeps_them() -> None:
    for law in laws_for("author_step", Critic).values():
        law()


@pytest.mark.parametrize(
    ("step", "law"),
    [
        (Cheat, "the_answer_stays"),
        (Strict, "any_reply_will_do"),
        (Silent, "any_reply_will_do"),
        (Forgetful, "the_same_replies_decide_the_same"),
    ],
)
def test_a_mistake_is_named(step: type[Critic], law: str) -> None:
    with pytest.raises((AssertionError, KeyError)):
        laws_for("author_step", step)[law]()
