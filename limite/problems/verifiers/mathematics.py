"""Reads the boxed answer of a response and compares it by value, whatever its type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import attrs

from limite.core.errors import LimiteError
from limite.core.types import Answer, Verdict
from limite.problems.reading.extract import FALLBACKS
from limite.problems.sandbox.faults import NoSandbox
from limite.problems.verifiers.batch import judged


def _known(_instance: object, attribute: attrs.Attribute[tuple[str, ...]], value: object) -> None:
    if not isinstance(value, (list, tuple)) or any(name not in FALLBACKS for name in value):
        raise ValueError(f"{attribute.name!r} holds some of {FALLBACKS}, got {value!r}")


@attrs.frozen(kw_only=True)
class Mathematics:
    """Compares the last boxed answer of a response by value: numbers, sets, expressions and more.

    The last complete ``\\boxed{...}`` after the thinking is the answer; ``fallbacks`` name what
    else may mark one where there is no box: a last line ``#### x`` (``"hash"``), or one that ends
    in ``Answer: x`` or ``the answer is x`` (``"answer"``). Values are compared exactly; a tolerance
    holds only where the answer declares one. Judging happens in a worker process with a deadline
    for each answer, after which the verdict is ``timed-out``.
    """

    last_counts: ClassVar[bool] = True

    fallbacks: tuple[str, ...] = attrs.field(
        default=(), validator=_known, metadata={"help": "'hash', 'answer', or both"}
    )

    def write(self, answer: Answer) -> str:
        """A response that states ``answer`` the way this verifier reads it."""
        return f"\\boxed{{{answer.value}}}"

    def __call__(self, answer: Answer, text: str) -> Verdict:
        return self.judge([(answer, text)])[0]

    def judge(self, pairs: Sequence[tuple[Answer, str]]) -> list[Verdict]:
        """The verdicts on many answers at once, in order.

        Raises NoSandbox where an answer is a checker program and there is nothing to run it in.
        """
        try:
            return judged(pairs, extract=True, fallbacks=self.fallbacks)
        except NoSandbox:
            raise  # no answer's fault: to call all of them unreadable would be a reward of 0
        except LimiteError as error:
            if len(pairs) == 1:
                return [Verdict(outcome="unreadable", reason=str(error))]
        # One gold answer that cannot be judged says nothing of the others.
        return [self(answer, text) for answer, text in pairs]
