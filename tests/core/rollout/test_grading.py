"""Verdicts on a batch: as one by one, and asked for at once where a verifier takes batches."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from limite.core.errors import LimiteError
from limite.core.rollout.grading import verdicts_on
from limite.core.types import Answer, Verdict
from limite.problems.verifiers.exact import Exact
from limite.problems.verifiers.mathematics import Mathematics

SEVEN = Answer(type="integer", value="7")
ODD = attrs.evolve(SEVEN, type="no-such-type")
PAIRS = [
    (SEVEN, "so \\boxed{7}"),
    (SEVEN, "so \\boxed{8}"),
    (ODD, "\\boxed{7}"),
    (SEVEN, "#7"),
    (SEVEN, ""),
]


@attrs.frozen
class Counting:
    """Counts how often it is asked, and takes batches."""

    asked: list[int]
    missing: int = 0

    def __call__(self, answer: Answer, text: str) -> Verdict:
        self.asked.append(1)
        return Exact()(answer, text)

    def judge(self, pairs: Sequence[tuple[Answer, str]]) -> list[Verdict]:
        self.asked.append(len(pairs))
        return [Exact()(answer, text) for answer, text in pairs[self.missing :]]


@pytest.mark.parametrize("verifier", [Exact(), Mathematics()])
def test_verdicts_are_those_of_one_by_one(verifier) -> None:
    assert verdicts_on(verifier, PAIRS) == [verifier(answer, text) for answer, text in PAIRS]
    assert verdicts_on(verifier, []) == []


def test_a_batch_is_asked_for_at_once() -> None:
    counting = Counting([])
    assert [verdict.outcome for verdict in verdicts_on(counting, PAIRS)] == [
        Exact()(answer, text).outcome for answer, text in PAIRS
    ]
    assert counting.asked == [5]


def test_verdicts_that_are_missing_are_refused() -> None:
    with pytest.raises(LimiteError, match="Counting gave 4 verdicts on 5 answers"):
        verdicts_on(Counting([], missing=1), PAIRS)
