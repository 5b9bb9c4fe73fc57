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
import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

if not __package__:  # run as a file: its folder is no place to import from
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import attrs
import torch
from torch import Tensor

from benchmarks.clock import Call, clock_for, race
from benchmarks.machine import describe, file_name
from limite.core.kinds import Objective
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Metric, TokenBatch
from limite.plugins.objectives.cispo import CISPO
from limite.plugins.objectives.dapo import DAPO
from limite.plugins.objectives.dpo import DPO
from limite.plugins.objectives.dppo import DPPO
from limite.plugins.objectives.dppo_critic import DPPOCritic
from limite.plugins.objectives.dr_grpo import DrGRPO
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.gspo import GSPO
from limite.plugins.objectives.ppo_critic import PPOCritic
from limite.plugins.objectives.reinforce import Reinforce
from limite.plugins.objectives.sft import CrossEntropy
from limite.plugins.objectives.topk_kd import TopKDistill
from limite.plugins.objectives.value_regression import ValueRegression

SIZES = ((64, 256), (512, 1024))
TINY = ((4, 16),)
LISTED = 20  # tokens on the lists of top-k divergences
MEASURED_MS = 600.0
NOTHING = Metric(how="mean", value=0.0)
Columns = Mapping[str, Tensor]
Hand = tuple[Tensor, Callable[[], list[Tensor]]]  # the loss, and figures where they are asked for
Expression = Callable[[Tensor, Columns, Tensor], Hand]  # active tokens are 1.0, others 0.0
Aggregate = Callable[[Tensor, Tensor], Tensor]


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


def clipped(low: float, high: float, aggregate: Aggregate) -> Expression:
    """Clipped ratios; ``aggregate`` sums losses ``[B, T]`` under a mask."""

    def expression(logp: Tensor, columns: Columns, active: Tensor) -> Hand:
        log_ratio = logp - columns["behavior_logp"]
        ratio = log_ratio.clamp(-20, 20).exp()
        advantage = columns["advantage"]
        plain, cut = -ratio * advantage, -ratio.clamp(1 - low, 1 + high) * advantage
        loss = aggregate(torch.maximum(plain, cut), active)

        def figures() -> list[Tensor]:
            return [
                -token_mean(log_ratio.detach(), active),
                token_mean((cut > plain).detach().float(), active),
            ]

        return loss, figures

    return expression


def token_mean(values: Tensor, active: Tensor) -> Tensor:
    return (values * active).sum() / active.sum()


def row_mean(values: Tensor, active: Tensor) -> Tensor:
    lengths = active.sum(-1)
    return ((values * active).sum(-1) / lengths.clamp(min=1)).sum() / (lengths > 0).sum()


def constant(values: Tensor, active: Tensor) -> Tensor:
    return (values * active).sum() / active.numel()


def row_sum(values: Tensor, active: Tensor) -> Tensor:
    return (values * active).sum() / (active.sum(-1) > 0).sum()


def gspo(logp: Tensor, columns: Columns, active: Tensor) -> Hand:
    lengths = active.sum(-1)
    total = ((logp - columns["behavior_logp"]) * active).sum(-1)
    ratio = (total / lengths.clamp(min=1)).clamp(-20, 20).exp()
    advantage = columns["advantage"][:, 0]
    plain, cut = -ratio * advantage, -ratio.clamp(1 - 3e-4, 1 + 4e-4) * advantage
    rows = (lengths > 0).float()
    loss = token_mean(torch.maximum(plain, cut), rows)

    def figures() -> list[Tensor]:
        share = token_mean((cut > plain).detach().float(), rows)
        return [-total.detach().sum() / lengths.sum(), share]

    return loss, figures


def cispo(logp: Tensor, columns: Columns, active: Tensor) -> Hand:
    log_ratio = logp.detach() - columns["behavior_logp"]
    ratio = log_ratio.clamp(-20, 20).exp()
    weight = ratio.clamp(0, 5)
    loss = token_mean(-weight * columns["advantage"] * logp, active)

    def figures() -> list[Tensor]:
        return [-token_mean(log_ratio, active), token_mean((weight != ratio).float(), active)]

    return loss, figures


def reinforce(logp: Tensor, columns: Columns, active: Tensor) -> Hand:
    loss = row_sum(-columns["advantage"] * logp, active)

    def figures() -> list[Tensor]:
        return [-token_mean(logp.detach() - columns["behavior_logp"], active)]

    return loss, figures


def region(distance: Callable[[Tensor, Columns], Tensor], delta: float) -> Expression:
    """A mask by divergence, over a constant length."""

    def expression(logp: Tensor, columns: Columns, active: Tensor) -> Hand:
        now, before, advantage = logp.detach(), columns["behavior_logp"], columns["advantage"]
        log_ratio = now - before
        ratio = log_ratio.clamp(-20, 20).exp().clamp(max=20)
        out = (log_ratio * advantage > 0) & (distance(now, columns) > delta)
        loss = constant(-(ratio * advantage).masked_fill(out, 0.0) * logp, active)

        def figures() -> list[Tensor]:
            return [-token_mean(log_ratio, active), token_mean(out.float(), active)]

        return loss, figures

    return expression


def binary_tv(now: Tensor, columns: Columns) -> Tensor:
    return (now.exp() - columns["behavior_logp"].exp()).abs()


def binary_kl(now: Tensor, columns: Columns) -> Tensor:
    before = columns["behavior_logp"]
    rest, other = (-torch.expm1(each) for each in (before, now))
    return before.exp() * (before - now) + rest * (rest.log() - other.log())


def topk_tv(now: Tensor, columns: Columns) -> Tensor:
    policy, before = columns["topk_logp"].exp(), columns["behavior_topk_logp"].exp()
    left = (1 - policy.sum(-1)) - (1 - before.sum(-1))
    return 0.5 * ((policy - before).abs().sum(-1) + left.abs())


def topk_kl(now: Tensor, columns: Columns) -> Tensor:
    policy, before = columns["topk_logp"], columns["behavior_topk_logp"]
    other, rest = ((1 - each.exp().sum(-1)).clamp(min=1e-12) for each in (policy, before))
    listed = (before.exp() * (before - policy)).sum(-1)
    return listed + rest * (rest.log() - other.log())


def dpo(logp: Tensor, columns: Columns, active: Tensor) -> Hand:
    rewards = 0.1 * ((logp - columns["reference_logp"]) * active).sum(-1)
    chosen, rejected = rewards[0::2], rewards[1::2]
    margin = chosen - rejected
    loss = -torch.nn.functional.logsigmoid(margin).mean()

    def figures() -> list[Tensor]:
        h = margin.detach()
        return [chosen.detach().mean(), rejected.detach().mean(), h.mean(), (h > 0).float().mean()]

    return loss, figures


def topk_kd(student: Tensor, columns: Columns, active: Tensor) -> Hand:
    teacher = columns["teacher_topk_logp"]
    p = teacher.exp()
    rest = (1 - p.sum(-1)).clamp(min=0)
    other = (1 - student.exp().sum(-1)).clamp(min=1e-12)
    listed = (p * (teacher - student)).sum(-1)
    return token_mean(listed + torch.xlogy(rest, rest) - rest * other.log(), active), list


def sft(logp: Tensor, columns: Columns, active: Tensor) -> Hand:
    return -token_mean(logp, active), list


def value_mse(value: Tensor, columns: Columns, active: Tensor) -> Hand:
    target, old = columns["value_target"], columns["old_value"]
    plain = (value - target).square()
    cut = (torch.minimum(torch.maximum(value, old - 0.2), old + 0.2) - target).square()

    def figures() -> list[Tensor]:
        chosen = active.bool()
        now, wanted = value.detach()[chosen], target[chosen]
        return [
            now.mean(),
            token_mean((cut > plain).detach().float(), active),
            1 - (wanted - now).var() / wanted.var(),
        ]

    return 0.5 * token_mean(torch.maximum(plain, cut), active), figures


CONTENDERS: dict[str, tuple[Objective, Expression]] = {
    "grpo": (GRPO(), clipped(0.2, 0.2, row_mean)),
    "dr-grpo": (DrGRPO(), clipped(0.2, 0.2, constant)),
    "dapo": (DAPO(), clipped(0.2, 0.28, token_mean)),
    "ppo-critic": (PPOCritic(), clipped(0.2, 0.2, token_mean)),
    "gspo": (GSPO(), gspo),
    "cispo": (CISPO(), cispo),
    "reinforce": (Reinforce(), reinforce),
    "dppo binary-tv": (DPPO(), region(binary_tv, 0.15)),
    "dppo binary-kl": (DPPO(divergence="binary-kl"), region(binary_kl, 0.05)),
    "dppo topk-tv": (DPPO(divergence="topk-tv"), region(topk_tv, 0.15)),
    "dppo topk-kl": (DPPO(divergence="topk-kl"), region(topk_kl, 0.05)),
    "dppo-critic": (DPPOCritic(), region(binary_tv, 0.15)),
    "dpo": (DPO(), dpo),
    "topk-kd": (TopKDistill(), topk_kd),
    "sft": (CrossEntropy(), sft),
    "value-regression": (ValueRegression(clip=0.2), value_mse),
}


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
        "advantage": (uniform(rows) - 0.5)[:, None].expand(rows, tokens).contiguous(),
    }
    for name in ("topk_logp", "behavior_topk_logp", "teacher_topk_logp"):
        if name in needs:
            scores = uniform(rows, tokens, LISTED + 1) * 4
            columns[name] = scores.log_softmax(-1)[..., :LISTED].contiguous()
    if "reference_logp" in needs:
        columns["reference_logp"] = behavior
    if "value" in needs:
        columns["value_target"] = (uniform(rows) > 0.5).float()[:, None].expand(mask.shape)
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
    gradients = []
    for call in (ours, theirs, bare, quiet):
        call()
        assert leaf.grad is not None
        active = mask if leaf.ndim == 2 else mask[..., None]
        gradients.append(leaf.grad.masked_fill(~active, 0.0))
    for other in gradients[1:]:
        torch.testing.assert_close(gradients[0], other, rtol=1e-4, atol=1e-8)

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
    if asked.json is None:
        return 0
    about, versions = describe(asked.device)
    page = {
        "device": about,
        "versions": versions,
        "rows": [attrs.asdict(each) for each in found],
    }
    text = json.dumps(page, indent=1) + "\n"
    if asked.json == "-":
        print(text, end="")
        return 0
    path = Path(asked.json)
    if asked.json.endswith("/") or path.is_dir():
        path = path / f"objectives-{file_name(about, versions)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
