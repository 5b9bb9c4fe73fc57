"""Cutting the rows of an update into micro-batches that fit."""

from __future__ import annotations

from collections.abc import Sequence


def microbatches(
    lengths: Sequence[int], microbatch_tokens: int, *, spared: Sequence[int] | None = None
) -> list[list[int]]:
    """Row indexes in micro-batches of at most ``microbatch_tokens`` tokens each.

    Rows keep their order; a row longer than the limit stands alone. ``spared`` says of each row how
    many tokens fewer it takes beside the row before. The loss does not depend on the cut, because
    objectives divide by the counts of the whole update.
    """
    if microbatch_tokens < 1:
        raise ValueError(f"a micro-batch holds at least one token, got {microbatch_tokens}")
    batches: list[list[int]] = []
    used = 0
    for row, length in enumerate(lengths):
        added = length - (spared[row] if spared is not None else 0)
        if not batches or used + added > microbatch_tokens:
            batches.append([])
            used, added = 0, length
        batches[-1].append(row)
        used += added
    return batches
