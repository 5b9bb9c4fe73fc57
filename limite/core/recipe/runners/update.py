"""One optimizer step over micro-batches, for any objective."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from limite.core.errors import RunFailed
from limite.core.kinds import Objective
from limite.core.recipe.runners.session import TrainingSession, accumulate
from limite.core.train.columns import token_batch
from limite.core.types import Metric, Totals

Part = tuple[Tensor, Mapping[str, Tensor]]
"""The mask ``[B, T]`` and the columns of one micro-batch."""


def combine(into: dict[str, Metric], metrics: Mapping[str, Metric]) -> None:
    """Adds what a micro-batch reports to what others did."""
    for name, metric in metrics.items():
        into[name] = into[name].combine(metric) if name in into else metric


def update(
    session: TrainingSession, objective: Objective, parts: Iterable[Part], totals: Totals
) -> dict[str, float | None]:
    """Loss and gradient of an update, part by part, and the optimizer's step; what is reported.

    ``totals`` counts all parts together. A number that is not finite raises ``RunFailed`` before
    anything is changed.
    """
    metrics: dict[str, Metric] = {}
    loss = 0.0
    for mask, columns in parts:
        try:
            result = objective(token_batch(mask, columns, totals))
        except FloatingPointError as error:
            where = session.context.place(session.clocks.step)
            raise RunFailed(f"{where}: {error}; no optimizer step was taken") from error
        loss += accumulate(result.value)
        combine(metrics, result.metrics)
    optim = session.update(loss)
    return {"loss": loss, **{name: each.result() for name, each in metrics.items()}, **optim}


@torch.no_grad()
def measure(
    objective: Objective, parts: Iterable[Part], totals: Totals, under: str
) -> dict[str, float | None]:
    """What an objective reports of texts that are not trained on, as ``under/...``."""
    metrics: dict[str, Metric] = {}
    for mask, columns in parts:
        result = objective(token_batch(mask, columns, totals))
        loss = Metric(how="sum", value=float(result.value))
        combine(metrics, {"loss": loss, **result.metrics})
    return {
        f"{under}/{name.rpartition('/')[2]}": metric.result() for name, metric in metrics.items()
    }
