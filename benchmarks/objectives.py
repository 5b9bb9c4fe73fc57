"""Measures objectives beside hand-written torch expressions of the same loss.

    python -m benchmarks.objectives --json -

From given log-probabilities ``[rows, tokens]`` to the gradient: once as limite does it, with every
metric, and once as the shortest expression that has the same loss and gradient. The expression
finds the two figures that verl logs of a policy loss as well, from detached tensors:
``actor/ppo_kl``, the mean of ``behavior_logp - logp``, and ``actor/pg_clipfrac``, the share of
tokens (of responses, for gspo) that its rule cuts off; for reinforce, which cuts none off, the
first alone. For dpo they are the rewards, margin and accuracy that TRL logs, for value regression
the mean value, the share of values that were clipped and the explained variance that verl logs;
sft and topk-kd have none but the loss. Both are given the mask of bools that a batch has; the
expression turns it into numbers once.

Told are the milliseconds of both; how many times the expression's time an objective takes, how
many times that of the expression without figures (``of bare``), and how many times the latter
without limite's own sums of metrics; then the checks of the columns, which happen once a
micro-batch.
Contenders run in turn, in processor time where the device is a CPU (one thread).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

if not __package__:  # run as a file: its folder is no place to import from
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import attrs
import torch
from torch import Tensor

from benchmarks import pages
from benchmarks.clock import Call, clock_for, race
from benchmarks.expressions import CONTENDERS
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Metric, TokenBatch, Totals

SIZES = ((64, 256), (512, 1024))
TINY = ((4, 16),)
LISTED = 20  # tokens on the lists of top-k divergences
MEASURED_MS = 600.0
NOTHING = Metric(how="mean", value=0.0)


@attrs.frozen(kw_only=True)
class Measured:
    """One objective at one size: milliseconds of loss and backward, and ratios of one run."""

    objective: str
    rows: int
    tokens: int
    expression_ms: float
    objective_ms: float
    times: float
    times_spread: float
    times_bare: float
    times_without_metrics: float
    checks_ms: float


def drawn(
    rows: int, tokens: int, device: str, needs: Collection[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    """A mask of responses of many lengths, and columns for it."""
    generator = torch.Generator(device=device).manual_seed(3)

    def uniform(*sizes: int) -> Tensor:
        return torch.rand(sizes, generator=generator, device=device)

    lengths = (uniform(rows) * tokens).long() + 1
    mask = torch.arange(tokens, device=device) < lengths[:, None]
    behavior = -2.0 * uniform(rows, tokens)
    columns = {
        "behavior_logp": behavior,
        "logp": (behavior + 0.3 * (uniform(rows, tokens) - 0.5)).clamp(max=-1e-4),
        "advantage": uniform(rows) - 0.5,
    }
    for name in ("topk_logp", "behavior_topk_logp", "teacher_topk_logp"):
        if name in needs:
            scores = uniform(rows, tokens, LISTED + 1) * 4
            columns[name] = scores.log_softmax(-1)[..., :LISTED].contiguous()
    if "reference_logp" in needs:
        columns["reference_logp"] = behavior
    if "value" in needs:
        columns["value_target"] = (uniform(rows) > 0.5).float()
        columns["old_value"] = uniform(rows, tokens)
        columns["value"] = columns["old_value"] + 0.6 * (uniform(rows, tokens) - 0.5)
    return mask, columns


def trained(needs: Collection[str]) -> str:
    """The column that a gradient is found for."""
    if "value" in needs:
        return "value"
    return "topk_logp" if "teacher_topk_logp" in needs else "logp"


class WithoutMetrics(TokenBatch):
    """A batch that reports nothing."""

    def metrics(
        self, values: Mapping[str, Tensor], *, sums: Mapping[str, Tensor] | None = None
    ) -> dict[str, Metric]:
        return dict.fromkeys((*values, *(sums or {})), NOTHING)


def hold_alike(name: str, mask: Tensor, columns: Mapping[str, Tensor], totals: Totals) -> None:
    """Both contenders give one gradient: in float64, where rounding cannot hide what differs."""
    objective, expression = CONTENDERS[name]
    learned = trained(getattr(objective, "needs", ()))
    wide = {
        each: values.double() if values.is_floating_point() else values
        for each, values in columns.items()
    }
    leaf = wide[learned].clone().requires_grad_()
    batch = token_batch(mask, {**wide, learned: leaf}, totals)
    given = {**batch.columns, learned: leaf}
    losses = [
        objective(attrs.evolve(batch, columns=given)).value,
        objective(WithoutMetrics(mask=mask, columns=given, totals=totals)).value,
        expression(leaf, given, mask.double())[0],
    ]
    active = mask if leaf.ndim == 2 else mask[..., None]
    gradients = [torch.autograd.grad(loss, leaf)[0].masked_fill(~active, 0.0) for loss in losses]
    for other in gradients[1:]:
        torch.testing.assert_close(other, gradients[0], rtol=1e-9, atol=1e-12)


def measure(name: str, rows: int, tokens: int, device: str, *, quick: bool) -> Measured:
    objective, expression = CONTENDERS[name]
    needs: Collection[str] = getattr(objective, "needs", ())
    mask, columns = drawn(rows, tokens, device, needs)
    together = getattr(objective, "rows_together", 1)
    totals = totals_of(mask, response_tokens=tokens, rows_together=together)
    learned = trained(needs)
    leaf = columns[learned].clone().requires_grad_()
    batch = token_batch(mask, {**columns, learned: leaf}, totals)
    # The batch's own graph stays out of the measurement: both begin with a leaf.
    given = {**batch.columns, learned: leaf}
    batch = attrs.evolve(batch, columns=given)
    silent = WithoutMetrics(mask=mask, columns=given, totals=totals)

    def backward(loss: Callable[[], Tensor]) -> Call:
        def call() -> None:
            leaf.grad = None
            loss().backward()

        return call

    def by_hand() -> Tensor:
        loss, figures = expression(leaf, given, mask.float())
        for figure in figures():
            figure.item()
        return loss

    # A batch anew for each call: what it remembers of itself is found once a micro-batch.
    ours = backward(lambda: objective(attrs.evolve(batch)).value)
    theirs = backward(by_hand)
    bare = backward(lambda: expression(leaf, given, mask.float())[0])
    quiet = backward(lambda: objective(attrs.evolve(silent)).value)
    hold_alike(name, mask, columns, totals)

    def checks() -> None:
        token_batch(mask, {**columns, learned: leaf}, totals)

    timings = race(
        {
            "ours": [ours],
            "theirs": [theirs],
            "bare": [bare],
            "quiet": [quiet],
            "checks": [checks],
        },
        clock_for(device),
        measured_ms=5.0 if quick else MEASURED_MS,
    )
    times, spread = timings["ours"].ratio(timings["theirs"])
    return Measured(
        objective=name,
        rows=rows,
        tokens=tokens,
        expression_ms=timings["theirs"].ms,
        objective_ms=timings["ours"].ms,
        times=times,
        times_spread=spread,
        times_bare=timings["ours"].ratio(timings["bare"])[0],
        times_without_metrics=timings["quiet"].ratio(timings["bare"])[0],
        checks_ms=timings["checks"].ms,
    )


def measured(asked: argparse.Namespace) -> Iterator[Measured]:
    for rows, tokens in TINY if asked.tiny else SIZES:
        for name in asked.only or CONTENDERS:
            yield measure(name, rows, tokens, asked.device, quick=asked.tiny)


def main(argv: Sequence[str] | None = None) -> int:
    made = argparse.ArgumentParser(prog="benchmarks.objectives")
    made.add_argument("--device", choices=("cuda", "cpu"), default="cpu")
    made.add_argument("--only", nargs="+", choices=CONTENDERS, metavar="NAME")
    made.add_argument("--tiny", action="store_true", help="sizes that take no time")
    made.add_argument("--json", metavar="PATH", help="a file, a folder for one named, or -")
    asked = made.parse_args(argv)
    torch.set_num_threads(1)
    found = []
    for each in measured(asked):
        found.append(each)
        if asked.json is None:
            if len(found) == 1:
                print(
                    "objective        rows tokens  expression ms  objective ms  times         ",
                    end="",
                )
                print("  of bare  without metrics  checks ms")
            print(
                f"{each.objective:15}  {each.rows:4} {each.tokens:6}  {each.expression_ms:13.3f}  "
                f"{each.objective_ms:12.3f}  {each.times:5.2f} ±{each.times_spread:5.2f}  "
                f"{each.times_bare:7.2f}  {each.times_without_metrics:15.2f}  "
                f"{each.checks_ms:9.3f}",
                flush=True,
            )
    if asked.json is not None:
        pages.write(pages.page_of(found, asked.device), asked.json, "objectives")
    return 0


if __name__ == "__main__":
    sys.exit(main())
