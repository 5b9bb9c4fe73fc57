"""What ``limite-gen calibrate`` asks of whatever answers problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import attrs

from limite.core.types import Problem

INSTRUCTION = "Put the final answer in \\boxed{}."
"""Stands behind a question put to a model that was not taught how answers are marked."""


@attrs.frozen(kw_only=True)
class Reply:
    """A response to a problem; ``text`` is None where none came, and ``failure`` says why."""

    text: str | None = None
    failure: str = ""


class Policy(Protocol):
    """A model that answers problems, here or elsewhere."""

    @property
    def name(self) -> str:
        """Who answers, so that the same name is the same weights wherever they can be known."""
        ...

    @property
    def record(self) -> Mapping[str, Any]:
        """The policy and its terms, as a manifest holds them; another record is another policy."""
        ...

    @property
    def at_once(self) -> int:
        """How many responses are best asked for together."""
        ...

    def answer(self, problems: Sequence[Problem], samples: int) -> list[list[Reply]]:
        """``samples`` replies to each problem, in order."""
        ...

    def close(self) -> None:
        """Lets go of what it holds, at the end or in the middle of an answer."""
        ...


def asked(problem: Problem, instruction: str) -> str:
    """The question, and the instruction behind it where there is one."""
    return f"{problem.problem}\n\n{instruction}" if instruction else problem.problem
