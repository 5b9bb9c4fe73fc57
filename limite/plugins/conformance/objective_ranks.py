"""The law of objectives that many processes at once rely on, each with some of an update's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kinds import Objective
from limite.plugins.conformance.objective_outcome import (
    NOT_FINITE,
    Outcome,
    combined,
    counts_of,
    evaluate,
    rows_of,
    rows_of_an_item,
    same_metrics,
)
from limite.plugins.conformance.strategies import Column, Tokens, drawn, tokens

MOST_RANKS = 4
EXACT = 1e-12
"""How nearly float64 agrees with itself in another order, relative to what is added."""


def any_number_of_ranks_adds_up(component: Objective, columns: Mapping[str, Column]) -> None:
    """Ranks pad their rows to lengths of their own, and some have nothing to learn from at all."""

    @drawn(
        given=tokens(columns, rows_of_an_item(component)),
        ranks=st.integers(1, MOST_RANKS),
        deal=st.lists(st.integers(0, MOST_RANKS - 1), min_size=4, max_size=4),
        left=st.integers(0, 2),
    )
    def check(given: Tokens, ranks: int, deal: list[int], left: int) -> None:
        many = rows_of_an_item(component)
        items = range(given.mask.shape[0] // many)
        dealt = [[item for item in items if deal[item] % ranks == rank] for rank in range(ranks)]
        idle: list[list[int]] = [[]] if [] in dealt else []  # one such rank is like another
        dealt = [*filter(None, dealt), *idle]
        totals = counts_of(component, given.mask)
        whole = evaluate(component, given)
        parts = [
            evaluate(component, share(given, rows_of(own, many), many, left), totals=totals)
            for own in dealt
        ]
        message = (
            "in float64 {} of 1e-12 between one rank and several: divide by batch.totals, read no "
            "row of others, and compute in the dtype of the columns"
        )
        off = message.format("the loss differs by more than a share")
        near(torch.stack([part.loss for part in parts]).sum(), whole.loss, off, parts_of(whole))
        for name, gradient in whole.gradients.items():
            off = message.format(f"the gradient of {name} differs by more than a share")
            for own, part in zip(dealt, parts, strict=True):
                mine = gradient[rows_of(own, many)]
                theirs = part.gradients[name]
                assert own or not theirs.any(), f"a rank without a token has a gradient of {name}"
                if own:
                    width = theirs.shape[1] - left
                    near(theirs[:, left:], mine[:, :width], off, largest(gradient))
        # An item of padding may be counted as one; who has nothing to report reports nothing.
        told = [part.metrics for own, part in zip(dealt, parts, strict=True) if own]
        same_metrics(
            whole.metrics,
            combined(told),
            "metrics of ranks do not combine: give a mean as sum and weight",
        )

    check()


def share(given: Tokens, rows: Sequence[int], many: int, left: int) -> Tokens:
    """What a rank sees: its rows, ``left`` columns of padding, and none beyond its last token.

    A rank without rows sees an item of padding.
    """
    if not rows:
        nothing = given.take(range(many))
        return Tokens(mask=torch.zeros_like(nothing.mask), columns=nothing.columns)
    own = given.take(rows)
    active = own.mask.any(dim=0).nonzero()
    width = int(active.max()) + 1 if len(active) else 1
    cut = Tokens(
        mask=own.mask[:, :width],
        columns={name: column[:, :width] for name, column in own.columns.items()},
    )
    return cut.pad(left, 0, -0.5)


def largest(values: Tensor) -> float:
    """The largest absolute value."""
    return float(values.abs().max()) if values.numel() else 0.0


def parts_of(outcome: Outcome) -> float:
    """How large the terms of a loss may be, a log-probability being at most 1000 nats here."""
    slopes = sum(float(gradient.abs().sum()) for gradient in outcome.gradients.values())
    return abs(float(outcome.loss)) + 1000.0 * slopes


def near(actual: Tensor, expected: Tensor, message: str, size: float) -> None:
    """Equal but for the rounding of float64 in numbers up to ``size``."""
    assert bool(expected.isfinite().all()), NOT_FINITE
    error = largest(actual.double() - expected.double())
    assert error <= EXACT * (1.0 + size), f"{message} (off by {error:.3g} of {size:.3g})"
