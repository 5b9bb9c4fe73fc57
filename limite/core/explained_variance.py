"""How much of what it was to learn a critic explains: a metric whose parts combine exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from limite.core.types import Metric

if TYPE_CHECKING:
    from torch import Tensor


@attrs.frozen(kw_only=True)
class ExplainedVariance(Metric):
    """``1 - Var(target - value) / Var(target)`` over all tokens; None where targets do not vary.

    ``value`` is the summed squared deviation of the errors from their mean and ``weight`` that of
    the targets; parts combine exactly, whatever they are, because each keeps its count and means.
    """

    how: Literal["mean", "sum", "max", "min"] = "mean"
    count: float
    mean_error: float
    mean_target: float

    @classmethod
    def of(cls, values: Tensor, targets: Tensor) -> ExplainedVariance:
        """Of the values ``[M]`` of some tokens and their targets, in float64."""
        import torch

        wanted = targets.detach().double()
        errors = wanted - values.detach().double()
        found = []
        for column in (errors, wanted):
            mean = column.sum() / max(column.numel(), 1)
            found += [mean, (column - mean).square().sum()]
        mean_error, value, mean_target, weight = torch.stack(found).tolist()
        return cls(
            value=value,
            weight=weight,
            count=float(wanted.numel()),
            mean_error=mean_error,
            mean_target=mean_target,
        )

    def combine(self, other: Metric) -> ExplainedVariance:
        if not isinstance(other, ExplainedVariance):
            raise ValueError(f"cannot combine explained variance with a {other.how}")
        count = self.count + other.count
        share = other.count / count if count else 0.0
        error = other.mean_error - self.mean_error
        target = other.mean_target - self.mean_target
        return ExplainedVariance(
            value=self.value + other.value + error * error * self.count * share,
            weight=self.weight + other.weight + target * target * self.count * share,
            count=count,
            mean_error=self.mean_error + error * share,
            mean_target=self.mean_target + target * share,
        )

    def result(self) -> float | None:
        # Deviations of a rounding error are none.
        smallest = 1e-12 * max(1.0, abs(self.mean_target))
        if self.weight <= self.count * smallest * smallest:
            return None
        return 1.0 - self.value / self.weight
