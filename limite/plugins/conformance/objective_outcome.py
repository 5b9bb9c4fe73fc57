"""What an objective makes of given tokens, and when two such outcomes are the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import attrs
import torch
from torch import Tensor

from limite.core.kinds import Objective
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import DIFFERENTIABLE, Loss, Metric, TokenBatch, Totals
from limite.plugins.conformance.objective_policy import same_bits
from limite.plugins.conformance.strategies import Tokens

LONGEST = 8  # tokens; the longest response of the stage the laws pretend to be
# Sums in another order differ by rounding; a component may compute in float32.
RELATIVE = 1e-5
NOT_FINITE = "what it finds is not finite, and cannot be compared: clamp log-ratios before exp"


def rows_of_an_item(component: Objective) -> int:
    """How many rows make one item of the component."""
    return int(getattr(component, "rows_together", 1))


def counts_of(component: Objective, mask: Tensor) -> Totals:
    """The counts of an update whose mask is ``mask``, as the component's stage would give them."""
    together = rows_of_an_item(component)
    return totals_of(mask, response_tokens=LONGEST, rows_together=together)


def rows_of(items: Sequence[int], size: int) -> list[int]:
    """The rows of some items, whole."""
    return [item * size + row for item in items for row in range(size)]


@attrs.frozen(kw_only=True)
class Outcome:
    """A loss, its gradients and its metrics."""

    loss: Tensor
    gradients: Mapping[str, Tensor]
    metrics: Mapping[str, Metric]


def evaluate(
    component: Objective, given: Tokens, *, totals: Totals | None = None, raw: bool = False
) -> Outcome:
    """Loss and gradients through ``token_batch``, or around it when ``raw``."""
    if totals is None:
        totals = counts_of(component, given.mask)
    leaves = {
        name: given.columns[name].clone().requires_grad_()
        for name in DIFFERENTIABLE
        if name in given.columns
    }
    columns = {**given.columns, **leaves}
    if raw:
        batch = TokenBatch(mask=given.mask, columns=columns, totals=totals)
    else:
        batch = token_batch(given.mask, columns, totals)
    loss = component(batch)
    assert isinstance(loss, Loss), f"an objective returns a Loss, not {type(loss).__name__}"
    assert loss.value.ndim == 0, f"the loss must be one number, got shape {tuple(loss.value.shape)}"
    assert loss.value.requires_grad, (
        "the loss is connected to nothing that is trained: backward() would fail"
    )
    torch.autograd.backward(loss.value)
    return Outcome(
        loss=loss.value.detach(),
        gradients={
            name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
            for name, leaf in leaves.items()
        },
        metrics=loss.metrics,
    )


def combined(parts: Sequence[Mapping[str, Metric]]) -> dict[str, Metric]:
    """The metrics of micro-batches as one."""
    result: dict[str, Metric] = {}
    for part in parts:
        for name, metric in part.items():
            result[name] = result[name].combine(metric) if name in result else metric
    return result


def size(outcome: Outcome) -> float:
    """How large the parts of a loss may be, by its gradient."""
    return max(
        abs(float(outcome.loss)), *(float(g.abs().sum()) for g in outcome.gradients.values())
    )


def close(actual: Tensor, expected: Tensor, message: str, *, size: float = 0.0) -> None:
    """Equal but for rounding, relative to the largest number around."""
    assert bool(expected.isfinite().all()), NOT_FINITE
    largest = max(size, float(expected.abs().max()) if expected.numel() else 0.0)
    error = (actual.double() - expected.double()).abs()
    fine = error <= RELATIVE * (expected.double().abs() + 0.01 * largest) + 1e-12
    assert bool(fine.all()), f"{message} (off by {float(error.max()):.3g} of {largest:.3g})"


def same(expected: Outcome, actual: Outcome, what: str) -> None:
    """Equal losses, gradients and metrics, to the last bit."""
    assert same_bits(actual.loss, expected.loss), f"{what} change the loss"
    for name, gradient in expected.gradients.items():
        assert same_bits(actual.gradients[name], gradient), f"{what} change the gradient"
    same_metrics(expected.metrics, actual.metrics, f"{what} change the metrics")


def same_metrics(
    expected: Mapping[str, Metric], actual: Mapping[str, Metric], message: str
) -> None:
    """The same names with the same results, but for rounding."""
    assert expected.keys() == actual.keys(), f"{message} (other names)"
    for name, metric in expected.items():
        want, got = metric.result(), actual[name].result()
        if want is None or got is None:
            assert want is got, f"{message} ({name}: {got}, not {want})"
        else:
            assert math.isclose(got, want, rel_tol=RELATIVE, abs_tol=1e-9), (
                f"{message} ({name}: {got}, not {want})"
            )
