"""Cases of objectives: credit for rewards, a loss, its gradient, and what is reported of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import attrs
import torch
from torch import Tensor

from limite.core.errors import LimiteError
from limite.core.health.contrast import contrast_shares, is_flat
from limite.core.registry import Registry
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import DIFFERENTIABLE, Answer, Group, Loss, Problem, Response, TokenBatch
from limite.plugins.advantages.group import GroupAdvantage
from limite.plugins.golden.case import Case
from limite.plugins.golden.spelling import (
    AGGREGATIONS,
    COLUMNS,
    LOSSES,
    metric_name,
    objective_class,
    settings_of,
)
from limite.plugins.objectives.gspo import sequence_ratio
from limite.plugins.objectives.kl import ESTIMATORS, kl_estimate

ADVANTAGE = ("baseline", "scale", "std_ddof", "std_eps")
NAMING = ("preset", "objective", "loss", "response_tokens", *ADVANTAGE)
OF_REWARDS = ("rewards", "advantages", "mask", "logp")
REFUSALS = (ValueError, FloatingPointError)
"""What a component raises at input that it must not take."""


def group_of(rewards: Sequence[float | None]) -> Group:
    """A group with these rewards; whatever is above 0 counts as right."""
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    responses = [
        Response(
            problem_id=problem.id,
            sample_index=index,
            prompt_ids=(1,),
            completion_ids=(2,),
            logprobs=(-0.5,),
            finish_reason="eos",
            completion_budget=1,
            policy_version=0,
            text="#2",
        )
        for index in range(len(rewards))
    ]
    correct = [bool(reward) for reward in rewards]
    return Group(problem=problem, responses=responses, rewards=rewards, correct=correct)


def groups_of(case: Case) -> list[Group]:
    """The groups of a ragged list of rewards; null is a response that could not be scored."""
    return [
        group_of([None if each is None else float(each) for each in rewards])
        for rewards in case.given("rewards")
    ]


def advantage_of(case: Case, kind: type[Any] | None = None) -> GroupAdvantage:
    """The group advantage a case spells out; what it leaves out is as the objective pairs it."""
    paired = dict(getattr(kind, "paired_advantage", {}))
    if paired.pop("type", "group") != "group":
        raise LimiteError(
            "this objective takes its advantages from a critic: give inputs.advantages"
        )
    for name in ADVANTAGE:
        if case.reads(name, "params"):
            value = case.param(name)
            paired[name] = value.replace("_", "-") if isinstance(value, str) else value
    return GroupAdvantage(**paired)


def credits_of(advantage: GroupAdvantage, groups: Sequence[Group]) -> list[Tensor]:
    """The advantages of the groups of one batch, ``[G]`` each."""
    return list(advantage.over_batch(groups, [advantage(group) for group in groups]))


@attrs.frozen(kw_only=True, eq=False)
class Played:
    """An objective with the batch of a case, and what it made of it."""

    objective: Any
    batch: TokenBatch
    loss: Loss
    advantages: Tensor | None
    leaves: dict[str, Tensor]
    groups: Sequence[Group]


def play(case: Case, registry: Registry) -> Played:
    """Builds the objective of a case and calls it on the case's batch, in its dtype."""
    kind = objective_class(registry, dict(case.params))
    for name in NAMING:
        case.reads(name, "params")
    if case.params.get("loss") not in (None, *LOSSES):
        raise LimiteError(f"unknown loss {case.params['loss']!r}")
    spelled = {name: case.param(name) for name in case.params if name not in NAMING}
    groups = groups_of(case) if "rewards" in case.inputs else []
    columns: dict[str, Tensor] = {}
    advantages = None
    if groups:
        advantages = torch.cat(credits_of(advantage_of(case, kind), groups))
    elif "advantages" in case.inputs:
        advantages = case.tensor("advantages", torch.float64)
    if advantages is not None:
        columns["advantage"] = advantages
    mask = case.tensor("mask", torch.float64)
    with warnings.catch_warnings():
        # A case may ask for what is possible but unwise.
        warnings.simplefilter("ignore", UserWarning)
        objective = kind(**settings_of(kind, spelled))
    leaves: dict[str, Tensor] = {}
    needs = {"logp", *(getattr(objective, "needs", None) or ())}
    for name in case.inputs:
        column = COLUMNS.get(name, name)
        if name in OF_REWARDS and name != "logp":
            continue
        if column not in needs:
            raise LimiteError(
                f"inputs.{name}: the objective reads no column {column!r}; it reads "
                f"{', '.join(sorted(needs))}"
            )
        columns[column] = case.tensor(name)
        if column in DIFFERENTIABLE:
            leaves[column] = columns[column].requires_grad_()
    together = int(getattr(objective, "rows_together", 1))
    longest = int(case.params.get("response_tokens", mask.shape[-1]))
    totals = totals_of(mask, response_tokens=longest, rows_together=together)
    batch = token_batch(mask, columns, totals)
    loss = objective(batch)
    return Played(
        objective=objective,
        batch=batch,
        loss=loss,
        advantages=advantages,
        leaves=leaves,
        groups=groups,
    )


def policy(case: Case, registry: Registry) -> None:
    """Advantages, loss, gradients and metrics of an objective."""
    played = play(case, registry)
    played.loss.value.backward()
    case.check("advantages", played.advantages, exact=True)
    contrast(case, played.groups)
    value = played.loss.value
    if value.dtype != case.dtype:
        case.fail(f"loss: expected {case.dtype}, got {value.dtype}")
    case.check("loss", value)
    for name, leaf in played.leaves.items():
        gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
        case.check(f"grad_{name}", gradient)
        if bool(gradient[~played.batch.mask].any()):
            case.fail(f"grad_{name}: expected 0 at inactive positions")
    regions(case, played)
    if case.reads("metrics", "expected"):
        for name, wanted in case.expected["metrics"].items():
            case.compare(f"metrics.{name}", figure_of(played, name), wanted)


def contrast(case: Case, groups: Sequence[Group]) -> None:
    """Which groups have something to teach."""
    if not groups:
        return
    shares = contrast_shares(groups)
    if case.reads("contrast", "expected"):
        flat = [is_flat(group.rewards) for group in groups]
        wanted = case.expected["contrast"]
        case.compare("contrast", [float(not each) for each in flat], [float(w) for w in wanted])
    case.check("contrast_share", shares.reward_contrast_share, exact=True)
    case.check("no_contrast_share", shares.no_contrast_share, exact=True)


def regions(case: Case, played: Played) -> None:
    """What trust regions and sequence ratios tell beside their metrics."""
    batch, objective = played.batch, played.objective
    if case.expects("keep"):
        case.check("keep", (objective.keep(batch) & batch.mask).double())
    if case.expects("divergence"):
        case.check("divergence", objective.distance(batch).masked_fill(~batch.mask, 0.0))
    if case.expects("seq_ratio"):
        ratio = sequence_ratio(batch).squeeze(-1)
        case.check("seq_ratio", ratio.masked_fill(~batch.mask.any(dim=-1), 0.0))


def figure_of(played: Played, name: str) -> float | None:
    """A metric under the file's name of it."""
    if name == "tokens":
        return played.batch.totals.tokens
    if name == "sequences":
        return played.batch.totals.active_rows
    metrics = played.loss.metrics
    ours = metric_name(name)
    if ours not in metrics:
        raise LimiteError(f"metrics.{name}: it reports no {ours!r}; it has {', '.join(metrics)}")
    return metrics[ours].result()


def must_raise(case: Case, registry: Registry) -> None:
    """Input that must be refused: by a ValueError, or by a FloatingPointError."""
    wanted = case.reads("raises", "expected") and case.expected["raises"] is True
    if not wanted:
        raise LimiteError("a case of kind 'must_raise' needs expected.raises = true")
    try:
        play(case, registry)
    except REFUSALS:
        case.compare("raises", True, True)
    else:
        case.compare("raises", False, True)


def aggregate(case: Case, registry: Registry) -> None:
    """How losses of tokens become one number, and what each of them weighs."""
    mode = case.param("mode")
    if mode not in AGGREGATIONS:
        raise LimiteError(f"unknown mode {mode!r}; there are {', '.join(AGGREGATIONS)}")
    mask = case.tensor("mask", torch.float64)
    values = case.tensor("per_token_loss").requires_grad_()
    batch = token_batch(mask, {}, totals_of(mask, response_tokens=mask.shape[-1]))
    loss = batch.aggregate(
        values,
        AGGREGATIONS[mode],  # type: ignore[arg-type]
        constant=case.param("constant", None),
        rows=case.param("rows", None) or "active",
    )
    loss.backward()
    case.check("loss", loss)
    case.check("weights", values.grad)


def group_advantage(case: Case, registry: Registry) -> None:
    """Advantages of groups of rewards, and which groups differ at all."""
    groups, credit = groups_of(case), advantage_of(case)
    found = credits_of(credit, groups)
    if case.reads("advantages", "expected"):
        wanted = case.expected["advantages"]
        if len(wanted) != len(groups):
            raise LimiteError(f"advantages: expected one list for each of {len(groups)} groups")
        for number, values in enumerate(wanted):
            case.compare(f"advantages[{number}]", found[number], values)
    for name in ("mean", "std"):
        if case.reads(name, "expected"):
            figures = [getattr(credit.statistics(group), name) for group in groups]
            case.compare(name, figures, case.expected[name])
    contrast(case, groups)


def kl(case: Case, registry: Registry) -> None:
    """Estimates of the divergence from a reference."""
    mask = case.tensor("mask", torch.float64).bool()
    logp, reference = case.tensor("logp"), case.tensor("reference_logp")
    for name in ESTIMATORS:
        case.check(name, kl_estimate(logp, reference, name).masked_fill(~mask, 0.0))
