"""Updates over micro-batches, one after the other, for any objective and any texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from limite.core.errors import RunFailed
from limite.core.kinds import Objective
from limite.core.recipe.runners.session import TrainingSession, accumulate
from limite.core.train.columns import token_batch
from limite.core.types import Metric, Totals

Part = tuple[Tensor, Mapping[str, Tensor]]
"""The mask ``[B, T]`` and the columns of one micro-batch."""

Figures = dict[str, float | None]


class Stepped(Protocol):
    """What the settings of a stage say of its updates."""

    @property
    def steps(self) -> int: ...

    @property
    def checkpoint_every(self) -> int: ...


def train(
    session: TrainingSession,
    stage: Stepped,
    step: Callable[[int], Figures],
    *,
    state: Callable[[], Mapping[str, Any]] = dict,
    payloads: Callable[[], Mapping[str, Mapping[str, Tensor]]] = dict,
) -> None:
    """Takes the stage to its last update, logs and saves.

    ``step`` makes the update that follows as many as it is told; it adds to the clock of tokens.
    ``state`` and ``payloads`` are what a checkpoint holds of the stage beside weights and clocks.
    """
    context, clocks = session.context, session.clocks
    with context.loggers(stage.steps) as log:
        while clocks.step < stage.steps:
            figures = step(clocks.step)
            clocks.step += 1
            log(clocks.step, {"time_s": session.time_s(), "tokens": clocks.tokens, **figures})
            context.after_step(
                clocks.step,
                lambda: session.save(state(), payloads()),
                stage.checkpoint_every,
                stage.steps,
            )


def outcome(session: TrainingSession) -> dict[str, float | int]:
    """What the receipt of every such stage says."""
    clocks = session.clocks
    return {
        "steps": clocks.step,
        "updates": clocks.updates,
        "tokens": clocks.tokens,
        "time_s": clocks.time_s,
        "parameters": session.parameters(),
    }


def combine(into: dict[str, Metric], metrics: Mapping[str, Metric]) -> None:
    """Adds what a micro-batch reports to what others did."""
    for name, metric in metrics.items():
        into[name] = into[name].combine(metric) if name in into else metric


def update(
    session: TrainingSession, objective: Objective, parts: Iterable[Part], totals: Totals
) -> Figures:
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
            told = f"{where}: {error}; no optimizer step was taken"
            session.note_failure(told)
            raise RunFailed(told) from error
        loss += accumulate(result.value)
        combine(metrics, result.metrics)
    loss, metrics = session.context.ranks.total(
        loss, metrics, f"the loss of {session.context.place(session.clocks.step)}"
    )
    optim = session.update(loss)
    return {"loss": loss, **{name: each.result() for name, each in metrics.items()}, **optim}


@torch.no_grad()
def measure(objective: Objective, parts: Iterable[Part], totals: Totals, under: str) -> Figures:
    """What an objective reports of texts that are not trained on, as ``under/...``."""
    metrics: dict[str, Metric] = {}
    for mask, columns in parts:
        result = objective(token_batch(mask, columns, totals))
        loss = Metric(how="sum", value=float(result.value))
        combine(metrics, {"loss": loss, **result.metrics})
    return {
        f"{under}/{name.rpartition('/')[2]}": metric.result() for name, metric in metrics.items()
    }
