"""Laws of objectives: what a training loop relies on whatever is minimised."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping

import attrs
import torch
from hypothesis import assume
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kinds import Objective
from limite.core.train.columns import token_batch
from limite.core.types import Metric
from limite.plugins.conformance.objective_outcome import (
    close,
    combined,
    counts_of,
    evaluate,
    rows_of,
    rows_of_an_item,
    same,
    same_metrics,
    size,
)
from limite.plugins.conformance.objective_policy import policy_laws, same_bits
from limite.plugins.conformance.objective_ranks import any_number_of_ranks_adds_up
from limite.plugins.conformance.strategies import (
    COLUMNS,
    Column,
    Tokens,
    cells,
    drawn,
    extreme_nats,
    known_columns,
    poison,
    tokens,
)

LOGPS = ("logp", "behavior_logp", "reference_logp")

Columns = Mapping[str, Column]


def objective_laws(
    component: Objective, columns: Columns | None = None
) -> dict[str, Callable[[], None]]:
    """A test per law of objectives, by name.

    ``columns`` says how to draw columns of the component's own, as ``(rows, width) -> strategy``.
    """
    needs = getattr(component, "needs", None)
    extra = columns or {}
    names = ["logp", *sorted(needs)] if needs is not None else sorted({*COLUMNS, *extra})
    ways = known_columns(list(dict.fromkeys(names)), extra)
    laws: list[Callable[[Objective, Columns], None]] = [
        masked_tokens_have_no_effect,
        micro_batches_add_up,
        any_number_of_ranks_adds_up,
        row_order_and_padding_change_nothing,
        the_loss_is_finite_at_extreme_ratios,
        nothing_active_costs_nothing,
        metrics_are_plain_numbers,
        inputs_stay_as_they_were,
        the_same_batch_gives_the_same_bits,
        the_loss_has_the_precision_of_its_inputs,
    ]
    if needs is not None:
        laws.append(it_reads_what_it_needs)
        if set(needs) <= {"logp", "behavior_logp", "advantage"} and "advantage" in needs:
            laws.append(no_advantage_costs_nothing)
    found: dict[str, Callable[[], None]] = {
        law.__name__: functools.partial(law, component, ways) for law in laws
    }
    return found | {
        law.__name__: functools.partial(law, component) for law in policy_laws(component)
    }


def masked_tokens_have_no_effect(component: Objective, columns: Columns) -> None:
    garbage = cells(4 * rows_of_an_item(component), 4, poison)

    @drawn(given=tokens(columns, rows_of_an_item(component)), garbage=garbage)
    def check(given: Tokens, garbage: Tensor) -> None:
        clean = evaluate(component, given.filled(torch.zeros_like(given.columns["logp"])))
        dirt = garbage[: given.mask.shape[0], : given.mask.shape[1]]
        same(clean, evaluate(component, given.filled(dirt)), "values at inactive positions")
        once = evaluate(component, given.once_a_row())
        message = "a number given once for a row, and not for each of its tokens, changes the {}"
        close(once.loss, clean.loss, message.format("loss"))
        for name, gradient in clean.gradients.items():
            close(once.gradients[name], gradient, message.format(f"gradient of {name}"))
        same_metrics(clean.metrics, once.metrics, message.format("metrics"))
        # Without token_batch to replace them, values there must still not reach the loss. (Their
        # gradient need not survive NaN: token_batch sees to that.)
        poisoned = evaluate(component, given.filled(dirt), raw=True)
        message = "values at inactive positions reach the {}: average with batch.mean(...)"
        close(poisoned.loss, clean.loss, message.format("loss"))
        same_metrics(clean.metrics, poisoned.metrics, message.format("metrics"))
        tame = evaluate(component, given.filled(dirt.nan_to_num(5.0).clamp(-9.0, 9.0)), raw=True)
        for name, gradient in tame.gradients.items():
            at_inactive = gradient[~given.mask]
            assert not at_inactive.any(), f"{name} has a gradient at inactive positions"

    check()


def micro_batches_add_up(component: Objective, columns: Columns) -> None:
    labels = st.lists(st.integers(0, 2), min_size=4, max_size=4)

    @drawn(given=tokens(columns, rows_of_an_item(component)), labels=labels)
    def check(given: Tokens, labels: list[int]) -> None:
        many = rows_of_an_item(component)
        items = range(given.mask.shape[0] // many)
        parts = [
            rows_of([item for item in items if labels[item] == label], many) for label in range(3)
        ]
        parts = [part for part in parts if part]
        assume(len(parts) > 1)
        totals = counts_of(component, given.mask)
        whole = evaluate(component, given)
        pieces = [evaluate(component, given.take(part), totals=totals) for part in parts]
        message = "micro-batches do not add up: divide by batch.totals, as batch.mean(...) does"
        losses = torch.stack([piece.loss for piece in pieces])
        close(losses.sum(), whole.loss, message, size=float(losses.abs().sum()))
        order = [row for part in parts for row in part]
        for name, gradient in whole.gradients.items():
            together = torch.cat([piece.gradients[name] for piece in pieces])
            close(together, gradient[order], f"gradient of {name}: {message}")
        same_metrics(
            whole.metrics,
            combined([piece.metrics for piece in pieces]),
            "metrics of micro-batches do not combine: give a mean as sum and weight",
        )

    check()


def row_order_and_padding_change_nothing(component: Objective, columns: Columns) -> None:
    @drawn(
        given=tokens(columns, rows_of_an_item(component)),
        order=st.permutations(range(4)),
        left=st.integers(0, 2),
        right=st.integers(0, 2),
    )
    def check(given: Tokens, order: list[int], left: int, right: int) -> None:
        many = rows_of_an_item(component)
        rows = rows_of([item for item in order if item < given.mask.shape[0] // many], many)
        plain = evaluate(component, given)
        moved = evaluate(component, given.take(rows).pad(left, right, -0.5))
        close(moved.loss, plain.loss, "row order or padding changes the loss", size=size(plain))
        width = given.mask.shape[1]
        for name, gradient in plain.gradients.items():
            inside = moved.gradients[name][:, left : left + width]
            close(inside, gradient[rows], f"row order or padding changes the gradient of {name}")

    check()


def the_loss_is_finite_at_extreme_ratios(component: Objective, columns: Columns) -> None:
    extremes = {
        name: (lambda rows, width: cells(rows, width, extreme_nats)) if name in LOGPS else column
        for name, column in columns.items()
    }

    @drawn(given=tokens(extremes, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        everything = attrs.evolve(given, mask=torch.ones_like(given.mask))
        try:
            outcome = evaluate(component, everything.cast(torch.float32))
        except FloatingPointError:
            return  # refusing out loud is as good
        message = "is not finite in float32: clamp log-ratios before exp"
        assert math.isfinite(float(outcome.loss)), f"the loss {message}: {float(outcome.loss)}"
        for name, gradient in outcome.gradients.items():
            assert bool(gradient.isfinite().all()), f"the gradient of {name} {message}"
        for name, metric in outcome.metrics.items():
            figure = metric.result()
            assert figure is None or math.isfinite(figure), f"the metric {name} {message}"

    check()


def nothing_active_costs_nothing(component: Objective, columns: Columns) -> None:
    @drawn(given=tokens(columns, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        nothing = attrs.evolve(given, mask=torch.zeros_like(given.mask))
        outcome = evaluate(component, nothing)
        assert float(outcome.loss) == 0.0, f"no active token costs {float(outcome.loss)}"
        for name, gradient in outcome.gradients.items():
            assert not gradient.any(), f"no active token gives a gradient of {name}"
        for name, metric in outcome.metrics.items():
            figure = metric.result()
            assert metric.how == "sum" or figure is None, f"{name} of no token is {figure}"

    check()


def no_advantage_costs_nothing(component: Objective, columns: Columns) -> None:
    @drawn(given=tokens(columns, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        flat = {**given.columns, "advantage": torch.zeros_like(given.columns["advantage"])}
        outcome = evaluate(component, attrs.evolve(given, columns=flat))
        assert float(outcome.loss) == 0.0, f"advantages of 0 cost {float(outcome.loss)}"
        for name, gradient in outcome.gradients.items():
            assert not gradient.any(), f"advantages of 0 give a gradient of {name}"

    check()


def metrics_are_plain_numbers(component: Objective, columns: Columns) -> None:
    @drawn(given=tokens(columns, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        for name, metric in evaluate(component, given).metrics.items():
            assert isinstance(metric, Metric), f"{name} is a {type(metric).__name__}, not a Metric"
            for part in (metric.value, metric.weight):
                assert isinstance(part, int | float), (
                    f"{name} holds a {type(part).__name__}: a metric carries no tensor"
                )

    check()


def inputs_stay_as_they_were(component: Objective, columns: Columns) -> None:
    @drawn(given=tokens(columns, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        logp = given.columns["logp"].clone().requires_grad_()
        totals = counts_of(component, given.mask)
        batch = token_batch(given.mask.clone(), {**given.columns, "logp": logp}, totals)
        before = {name: column.detach().clone() for name, column in batch.columns.items()}
        component(batch)
        for name, column in batch.columns.items():
            assert torch.equal(column.detach(), before[name]), f"{name} was changed in place"
        assert torch.equal(batch.mask, given.mask), "the mask was changed in place"

    check()


def the_same_batch_gives_the_same_bits(component: Objective, columns: Columns) -> None:
    @drawn(given=tokens(columns, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        first, second = evaluate(component, given), evaluate(component, given)
        assert same_bits(first.loss, second.loss), "the same batch gave two losses"
        for name, gradient in first.gradients.items():
            assert same_bits(gradient, second.gradients[name]), (
                f"the same batch gave two gradients of {name}"
            )
        # As text, in which what is no number is itself.
        assert str(first.metrics) == str(second.metrics), "the same batch gave two sets of metrics"

    check()


def the_loss_has_the_precision_of_its_inputs(component: Objective, columns: Columns) -> None:
    @drawn(given=tokens(columns, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        for dtype, wanted in (
            (torch.float64, torch.float64),
            (torch.float32, torch.float32),
            (torch.bfloat16, torch.float32),
        ):
            try:
                loss = evaluate(component, given.cast(dtype)).loss
            except FloatingPointError:
                return
            assert loss.dtype == wanted, f"{dtype} inputs give a {loss.dtype} loss, not {wanted}"

    check()


class Recorded(Mapping[str, Tensor]):
    """Columns that remember which of them were asked for."""

    def __init__(self, columns: Mapping[str, Tensor]) -> None:
        self.columns = columns
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Tensor:
        self.read.add(name)
        return self.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def it_reads_what_it_needs(component: Objective, columns: Columns) -> None:
    needs = set(getattr(component, "needs", ())) - {"logp"}
    offered = {**COLUMNS, **columns}
    read: set[str] = set()

    @drawn(given=tokens(offered, rows_of_an_item(component)))
    def check(given: Tokens) -> None:
        totals = counts_of(component, given.mask)
        ready = token_batch(given.mask, given.columns, totals)
        recorded = Recorded(ready.columns)
        component(attrs.evolve(ready, columns=recorded))
        read.update(recorded.read - {"logp"})

    check()
    assert read <= needs, f"it reads {sorted(read - needs)}, which its needs do not name"
    assert needs <= read, f"its needs name {sorted(needs - read)}, which it never reads"
