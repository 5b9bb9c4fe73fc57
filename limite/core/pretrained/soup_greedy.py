"""The greedy soup of arXiv:2203.05482: models join while accuracy does not fall."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.core.errors import LimiteError


@attrs.frozen(kw_only=True)
class Score:
    """Held-out accuracy: ``correct`` of ``total`` responses, and its interval."""

    correct: int
    total: int
    interval: tuple[float, float]
    protocol_id: str = ""

    @property
    def accuracy(self) -> Fraction:
        """Exact, so that equal is equal."""
        return Fraction(self.correct, self.total)


@attrs.frozen(kw_only=True)
class Trial:
    """One average that was measured: of which models, by number, and whether it was kept."""

    models: tuple[int, ...]
    score: Score
    kept: bool

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        return {
            "models": [names[number] for number in self.models],
            "correct": self.score.correct,
            "total": self.score.total,
            "accuracy": float(self.score.accuracy),
            "interval": list(self.score.interval),
            "kept": self.kept,
        }


@attrs.frozen(kw_only=True)
class Tried:
    """All that was measured, in order, and the models whose average came out."""

    single: Sequence[Trial]
    steps: Sequence[Trial]
    chosen: tuple[int, ...]

    def weights(self, count: int) -> tuple[float, ...]:
        """The same for every model that was chosen, and 0 for the others."""
        return tuple(
            1.0 / len(self.chosen) if each in self.chosen else 0.0 for each in range(count)
        )

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain data for the soup's receipt."""
        last = next(trial for trial in reversed(self.steps) if trial.kept)
        return {
            "single": [trial.record(names) for trial in self.single],
            "steps": [trial.record(names) for trial in self.steps],
            "chosen": [names[number] for number in self.chosen],
            "accuracy": float(last.score.accuracy),
            "interval": list(last.score.interval),
        }


Measure = Callable[[tuple[int, ...]], Score]
"""The held-out accuracy of the uniform average of some models, by number."""


def greedy(
    names: Sequence[str], measure: Measure, told: Callable[[Trial], None] | None = None
) -> Tried:
    """Sorts models by accuracy and averages them in that order, leaving out whatever lowers it.

    The best model is where it begins. Each further one is kept where the accuracy of the average
    with it is at least what it was without it; a tie keeps it. Models of equal accuracy come in
    the order of their names. The result is never below the best model on the same problems.
    """
    if not names:
        raise LimiteError("a soup needs at least one model")
    tell: Callable[[Trial], None] = told or (lambda _trial: None)
    scores: Mapping[int, Score] = {}
    single = []
    for number in range(len(names)):
        score = measure((number,))
        scores = {**scores, number: score}
        single.append(Trial(models=(number,), score=score, kept=False))
        tell(single[-1])
    order = sorted(scores, key=lambda number: (-scores[number].accuracy, names[number], number))
    chosen: tuple[int, ...] = (order[0],)
    best = scores[order[0]]
    steps = [Trial(models=chosen, score=best, kept=True)]
    for number in order[1:]:
        candidate = (*chosen, number)
        score = measure(candidate)
        kept = score.accuracy >= best.accuracy
        if kept:
            chosen, best = candidate, score
        steps.append(Trial(models=candidate, score=score, kept=kept))
        tell(steps[-1])
    return Tried(single=single, steps=steps, chosen=chosen)


def shown(score: Score) -> str:
    """Like ``3/8 = 37.5%``."""
    return f"{score.correct:,}/{score.total:,} = {100 * float(score.accuracy):.1f}%"
