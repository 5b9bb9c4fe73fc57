"""Cases of a critic and of corrections: credit for tokens, value losses, importance weights."""

from __future__ import annotations

import torch

from limite.core.errors import LimiteError
from limite.core.registry import Registry
from limite.core.rollout.shaping import OverlongPenalty
from limite.core.train.columns import token_batch, totals_of
from limite.core.train.correction import Correction
from limite.core.train.credit import generalised_advantages
from limite.plugins.advantages.gae import lambda_of
from limite.plugins.golden.case import Case
from limite.plugins.golden.spelling import settings_of


def is_weights(case: Case, registry: Registry) -> None:
    """Weights that correct for a learner that sees other probabilities than the sampler."""
    correction = Correction(
        level=case.param("level").replace("_", "-"),
        mode=case.param("mode"),
        upper=case.param("upper", 2.0),
        lower=case.param("lower", None),
    )
    mask = case.tensor("mask", torch.float64).bool()
    # What stands at inactive positions must not matter.
    log_ratio = case.tensor("log_ratio").masked_fill(~mask, torch.nan)
    case.check("weights", correction.applied(correction.raw(log_ratio, mask)))


def overlong_penalty(case: Case, registry: Registry) -> None:
    """What length takes off a reward."""
    penalty = OverlongPenalty(buffer_tokens=case.param("buffer"), factor=case.param("factor", 1.0))
    longest = int(case.param("max_length"))
    case.check("penalty", [penalty(int(each), longest) for each in case.given("lengths")])


def gae(case: Case, registry: Registry) -> None:
    """Generalised advantages, and returns with the same lambda and with lambda 1."""
    said = case.param("lam")
    lam = lambda_of(said.replace("_", "-") if isinstance(said, str) else float(said))
    gamma, mask = float(case.param("gamma", 1.0)), case.tensor("mask", torch.float64)
    values, rewards = case.tensor("values"), case.tensor("rewards")
    coupled, decoupled = (
        generalised_advantages(
            values, rewards, mask, gamma=gamma, lambda_policy=lam, lambda_value=of_values
        )
        for of_values in (lam, 1.0)
    )
    case.check("lambda_used", decoupled.lambda_policy, exact=True)
    case.check("advantages", decoupled.advantages)
    case.check("monte_carlo_returns", decoupled.targets)
    case.check("returns", coupled.targets)
    if not torch.equal(coupled.advantages, decoupled.advantages):
        case.fail("advantages: they depend on the lambda of the critic's targets")


def value_loss(case: Case, registry: Registry) -> None:
    """The loss of a critic's values, its gradient, and how much of the targets they explain."""
    kind = registry.get("objective", case.param("objective", "value-regression")).load()
    spelled = {name: case.param(name) for name in case.params if name != "objective"}
    objective = kind(**settings_of(kind, spelled))
    mask = case.tensor("mask", torch.float64)
    value = case.tensor("values").requires_grad_()
    columns = {"value": value, "value_target": case.tensor("targets")}
    if case.reads("old_values"):
        columns["old_value"] = case.tensor("old_values")
    elif "old_value" in objective.needs:
        raise LimiteError("a clipped value loss needs inputs.old_values")
    batch = token_batch(mask, columns, totals_of(mask, response_tokens=mask.shape[-1]))
    loss = objective(batch)
    loss.value.backward()
    case.check("loss", loss.value)
    case.check("grad_pred", value.grad)
    if case.expects("explained_variance"):
        case.check("explained_variance", loss.metrics["value/explained_variance"].result())
