"""The shortest torch expression of every objective, and the figures that trainers log of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from limite.core.kinds import Objective
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

Columns = Mapping[str, Tensor]
Hand = tuple[Tensor, Callable[[], list[Tensor]]]  # the loss, and figures where they are asked for
Expression = Callable[[Tensor, Columns, Tensor], Hand]  # active tokens are 1.0, others 0.0
Aggregate = Callable[[Tensor, Tensor], Tensor]


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
