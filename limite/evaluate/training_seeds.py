"""Several training runs of one recipe: what is due to the problems, and what to the training seed.

With ``R`` runs on ``P`` problems a mean score has two variances: ``Vp``, that of the problems'
means over ``P``, and ``Vs``, that of the runs' scores over ``R``. The interval over problems speaks
of these very weights; the one over both, from Student's t with ``Vp + Vs`` and the degrees of
freedom of Satterthwaite, speaks of the recipe trained again. The noise of sampling responses is in
both variances, so the latter is a little too wide rather than too narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import fmean, variance
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.evaluate import student
from limite.evaluate.intervals import Interval, accuracy_interval, difference_interval
from limite.evaluate.significance import sign_flip

RECIPE, WEIGHTS = (
    "the recipe trained again, and other problems",
    "these weights, and other problems",
)


@attrs.frozen(kw_only=True)
class Spread:
    """Estimate, and the two variances of it. ``runs`` are the estimates of single runs."""

    estimate: float
    runs: tuple[float, ...]
    problems: int
    of_problems: float
    of_seeds: float | None

    def both(self, confidence: float) -> tuple[float, float] | None:
        """The interval over problems and training seeds; None of a single run."""
        if self.of_seeds is None:
            return None
        total = self.of_problems + self.of_seeds
        if total == 0:
            return None
        reach = student.quantile(confidence, self._freedom(len(self.runs) - 1)) * sqrt(total)
        return self.estimate - reach, self.estimate + reach

    def _freedom(self, seeds: float) -> float:
        return satterthwaite([(self.of_problems, self.problems - 1), (self.of_seeds or 0.0, seeds)])


def satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """The degrees of freedom of a sum of variances, each with its own."""
    below = sum(part * part / freedom for part, freedom in parts if freedom > 0)
    return sum(part for part, _ in parts) ** 2 / below if below > 0 else 1.0


def spread(values: Sequence[Sequence[int]], samples: int) -> Spread:
    """Of ``values[run][problem]``: correct responses, or changes in them, of ``samples`` each."""
    _check(values)
    runs = tuple(fmean(row) / samples for row in values)
    means = [fmean(column) / samples for column in zip(*values, strict=True)]
    return Spread(
        estimate=fmean(runs),
        runs=runs,
        problems=len(means),
        of_problems=variance(means) / len(means) if len(means) > 1 else 0.0,
        of_seeds=variance(runs) / len(runs) if len(runs) > 1 else None,
    )


def sampling_deviation(counts: Sequence[Sequence[int]], samples: int) -> float | None:
    """How far runs would differ by the sampling of responses alone, as a standard deviation.

    None with one response to each problem, which does not tell it from the problems' difficulty.
    """
    if samples < 2:
        return None
    noise = [c * (samples - c) / (samples - 1) for row in counts for c in row]
    return sqrt(fmean(noise) / samples / samples / len(counts[0]))


def of_recipe(
    values: Sequence[Sequence[int]], samples: int, confidence: float, *, change: bool = False
) -> dict[str, Any]:
    """One recipe's score over all its runs, or with ``change`` its change since another stage."""
    found = spread(values, samples)
    interval: Callable[..., Interval] = difference_interval if change else accuracy_interval
    sums = [sum(column) for column in zip(*values, strict=True)]
    over = interval(sums, samples * len(values), confidence)
    both = found.both(confidence)
    return {
        "estimate": found.estimate,
        "runs": list(found.runs),
        "training_seeds": len(found.runs),
        "over_problems": [over.low, over.high],
        "over_both": _hull(both, over, -1.0 if change else 0.0),
        "between_seed_deviation": deviation(found),
        "sampling_deviation": None if change else sampling_deviation(values, samples),
        "about": WEIGHTS if both is None else RECIPE,
    }


def deviation(found: Spread) -> float | None:
    """The standard deviation between training seeds; None of a single run."""
    return None if found.of_seeds is None else sqrt(found.of_seeds * len(found.runs))


def difference(
    before: Sequence[Sequence[int]], after: Sequence[Sequence[int]], samples: int, confidence: float
) -> dict[str, Any]:
    """Two recipes on the same problems: paired by problem, and not by training seed.

    The claim is about the recipes where both have several runs; else about the weights that there
    are, and the variation of training is unknown.
    """
    _check(before)
    _check(after)
    if len(before[0]) != len(after[0]):
        raise LimiteError(f"{len(before[0])} problems cannot be paired with {len(after[0])}")
    was, now = spread(before, samples), spread(after, samples)
    changes = [
        len(before) * sum(new) - len(after) * sum(old)
        for old, new in zip(zip(*before, strict=True), zip(*after, strict=True), strict=True)
    ]
    scale = len(before) * len(after) * samples
    over = difference_interval(changes, scale, confidence)
    estimate = now.estimate - was.estimate
    p_value: float = sign_flip(changes)
    both: list[float] | None = None
    if was.of_seeds is not None and now.of_seeds is not None:
        shares = [change / scale for change in changes]
        of_problems = variance(shares) / len(shares) if len(shares) > 1 else 0.0
        parts = [
            (of_problems, len(shares) - 1.0),
            (was.of_seeds, len(before) - 1.0),
            (now.of_seeds, len(after) - 1.0),
        ]
        total = sum(part for part, _ in parts)
        if total > 0:
            freedom = satterthwaite(parts)
            reach = student.quantile(confidence, freedom) * sqrt(total)
            both = _hull((estimate - reach, estimate + reach), over, -1.0)
            p_value = min(1.0, 2 * student.tail(abs(estimate) / sqrt(total), freedom))
    return {
        "estimate": estimate,
        "over_problems": [over.low, over.high],
        "over_both": both,
        "training_seeds": [len(before), len(after)],
        "p_value": p_value,
        "about": WEIGHTS if both is None else RECIPE,
    }


def _hull(both: tuple[float, float] | None, over: Interval, least: float) -> list[float] | None:
    """The interval over both, within its bounds, and never inside the one over problems."""
    if both is None:
        return None
    return [max(least, min(both[0], over.low)), min(1.0, max(both[1], over.high))]


def _check(values: Sequence[Sequence[int]]) -> None:
    if not values or not values[0]:
        raise LimiteError("a comparison needs at least one run and one problem")
    if len({len(row) for row in values}) > 1:
        raise LimiteError("runs of one recipe must be measured on the same problems")
