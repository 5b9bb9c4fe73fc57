"""Pretraining: batches of so many tokens from a stream of texts, measured on texts apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.runners.pretrain_data import open_texts, told_of
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.runners.stage_data import forget_data
from limite.core.recipe.runners.text_rows import cut_rows, reader_of
from limite.core.recipe.runners.update import Figures, measure, outcome, train, update
from limite.core.recipe.stages import Pretrain
from limite.core.train.data.token_documents import Ids
from limite.core.train.replay import Row
from limite.core.types import Totals

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

STREAM = "stream"


def training_hashes(context: StageContext) -> set[str]:
    """None: documents that hold a problem which a later stage asks are left out of the stream."""
    return set()


def rows_of(pieces: Sequence[Ids]) -> list[Row]:
    """Pieces of documents as rows: all but the first token count."""
    return [Row(prompt=ids[:1].tolist(), completion=ids[1:].tolist()) for ids in pieces]


def totals_of_rows(rows: Sequence[Row], longest: int) -> Totals:
    """The counts of an update over ``rows``."""
    tokens = sum(len(row.completion) for row in rows)
    return Totals(tokens=tokens, active_rows=len(rows), rows=len(rows), response_tokens=longest)


def run(context: StageContext) -> dict[str, Any]:
    """Trains the stage to its last update, from its newest checkpoint if it has one."""
    stage = cast(Pretrain, context.stage)
    objective = cast(Objective, stage.objective)
    stream, kept = open_texts(context, stage)
    session = TrainingSession(
        context,
        optimizer=cast(Optimizer, stage.optimizer),
        lr_schedule=cast(LRSchedule, stage.lr_schedule),
        total_updates=stage.steps,
        clip_norm=stage.clip_norm,
        keep=stage.keep,
        recompute=stage.recompute,
    )
    if session.clocks.step:
        stream.restore(session.saved_state[STREAM], session.saved_payloads[STREAM])
    longest = context.model.context
    measured = rows_of(kept)
    read = reader_of(session, objective)

    def cuts(rows: Sequence[Row]) -> list[list[Row]]:
        return cut_rows(rows, stage.microbatch_tokens, lambda row: len(row.completion))

    def step(number: int) -> Figures:
        rows = rows_of(stream.take(stage.batch_tokens))
        parts = session.rounds(cuts(session.share(rows)), read)
        figures = update(session, objective, parts, totals_of_rows(rows, longest))
        session.clocks.tokens += stage.batch_tokens
        if measured and ((number + 1) % stage.eval_every == 0 or number + 1 == stage.steps):
            totals = totals_of_rows(measured, longest)
            figures |= measure(objective, map(read, cuts(measured)), totals, "held_out")
        return figures

    def payloads() -> Mapping[str, Mapping[str, Tensor]]:
        return {STREAM: stream.kept()}

    train(session, stage, step, state=lambda: {STREAM: stream.state()}, payloads=payloads)
    forget_data(context)
    return {
        **outcome(session),
        "sources": told_of(stream),
        "held_out_tokens": sum(len(row.completion) for row in measured),
    }
