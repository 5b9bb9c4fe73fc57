"""Verdicts on many responses: in one batch, where a verifier takes batches."""

from __future__ import annotations

from collections.abc import Sequence

from limite.core.errors import LimiteError
from limite.core.kinds import Verifier
from limite.core.types import Answer, Verdict


def verdicts_on(verifier: Verifier, pairs: Sequence[tuple[Answer, str]]) -> list[Verdict]:
    """A verdict for each gold answer and text, in order.

    A verifier with ``judge(pairs)`` gets all of them at once, any other one pair after the other.
    """
    judge = getattr(verifier, "judge", None)
    if not callable(judge):
        return [verifier(answer, text) for answer, text in pairs]
    verdicts = list(judge(pairs))
    if len(verdicts) != len(pairs):
        raise LimiteError(
            f"{type(verifier).__name__} gave {len(verdicts)} verdicts on {len(pairs)} answers"
        )
    return verdicts
