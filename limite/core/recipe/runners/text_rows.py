"""Rows of texts that are learned as they stand: cut into micro-batches, and read by the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from limite.core.kinds import Objective
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.runners.update import Part
from limite.core.train.accumulate import microbatches
from limite.core.train.replay import Row, replay


def cut_rows(
    rows: Sequence[Row], microbatch_tokens: int, length: Callable[[Row], int]
) -> list[list[Row]]:
    """The rows in micro-batches of so many tokens; ``length`` says how many a row counts for."""
    found = microbatches([length(row) for row in rows], microbatch_tokens)
    return [[rows[index] for index in part] for part in found]


def reader_of(session: TrainingSession, objective: Objective) -> Callable[[Sequence[Row]], Part]:
    """Gives of rows the mask and the columns that the objective may read."""
    needs = getattr(objective, "needs", None)
    entropy = needs is None or "entropy" in needs

    def read(rows: Sequence[Row]) -> Part:
        said = replay(session.decoder, rows, entropy=entropy)
        columns = {"logp": said.logp}
        if said.entropy is not None:
            columns["entropy"] = said.entropy
        return said.mask, columns

    return read
