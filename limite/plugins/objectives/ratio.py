"""Importance ratios and the clipped-ratio loss that GRPO, Dr. GRPO, DAPO and PPO share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import torch
from attrs.validators import and_, gt, lt, optional
from torch import Tensor

from limite.core.types import Metric, TokenBatch
from limite.plugins.objectives.slope import TokenLoss

LARGEST_LOG_RATIO = 20.0  # nats; ratios stay within 2.06e-9 .. 4.85e8


def eps_low(default: float) -> Any:
    """The setting: how far a ratio may fall below 1."""
    return attrs.field(
        default=default,
        validator=and_(gt(0.0), lt(1.0)),
        metadata={"help": "how far a ratio may fall below 1"},
    )


def eps_high(default: float) -> Any:
    """The setting: how far a ratio may rise above 1."""
    return attrs.field(
        default=default,
        validator=gt(0.0),
        metadata={"help": "how far a ratio may rise above 1"},
    )


def dual_clip() -> Any:
    """The setting: a bound on the loss of a bad token; see ``clipped_ratio``."""
    return attrs.field(
        default=None,
        validator=optional(gt(1.0)),
        metadata={"help": "bounds the loss of a bad token by this times its advantage"},
    )


def importance_ratio(batch: TokenBatch, overflow: str = "clamp") -> tuple[Tensor, Tensor]:
    """``exp(clip(logp - behavior_logp, -20, 20))`` and the log-ratio before clipping, ``[B, T]``.

    Both are as on policy, 1 and 0, where a token takes no part, and have no gradient. With
    ``overflow="raise"`` a clipped position is a FloatingPointError.
    """
    log_ratio = masked_log_ratio(batch, overflow)
    return cut_exp(log_ratio), log_ratio


def cut_exp(log_ratio: Tensor) -> Tensor:
    """``exp(clip(x, -20, 20))``."""
    return log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp_()


def masked_log_ratio(batch: TokenBatch, overflow: str) -> Tensor:
    """``logp - behavior_logp``, ``[B, T]`` nats without gradient, 0 where a token takes no part.

    See ``importance_ratio`` for ``overflow``.
    """
    log_ratio = (batch.logp.detach() - batch.behavior_logp).masked_fill_(~batch.mask, 0.0)
    if overflow == "raise":
        count = int(saturated(log_ratio).sum())
        if count:
            raise FloatingPointError(
                f"{count} log-ratios exceed {LARGEST_LOG_RATIO} nats and overflow='raise' is set"
            )
    return log_ratio


def saturated(log_ratio: Tensor) -> Tensor:
    """``[B, T]`` bool: where a ratio is cut."""
    return log_ratio.abs() > LARGEST_LOG_RATIO


def ratio_metrics(
    batch: TokenBatch,
    ratio: Tensor,
    log_ratio: Tensor,
    more: Mapping[str, Tensor] | None = None,
) -> dict[str, Metric]:
    """What every ratio objective reports: the raw mean ratio, drift, and saturated positions.

    ``ratio`` and ``log_ratio`` are those of ``importance_ratio``. ``more`` are further means over
    active tokens, found in the same pass.
    """
    metrics = drift_metrics(batch, log_ratio, more, {"ratio/mean": (ratio - 1.0).sum(dim=-1)})
    excess, tokens = metrics["ratio/mean"].value, metrics["ratio/mean"].weight
    metrics["ratio/mean"] = Metric(how="mean", value=excess + tokens, weight=tokens)
    return metrics


def drift_metrics(
    batch: TokenBatch,
    log_ratio: Tensor,
    more: Mapping[str, Tensor] | None = None,
    sums: Mapping[str, Tensor] | None = None,
) -> dict[str, Metric]:
    """How far the policy is from behaviour, and how many log-ratios are beyond 20 nats.

    ``kl/behavior_nats`` is the sampled estimate of KL(behaviour || policy), from unclipped ratios.
    """
    drift = {"kl/behavior_nats": log_ratio.sum(dim=-1)}
    metrics = batch.metrics(more or {}, sums={**(sums or {}), **drift})
    kl = metrics["kl/behavior_nats"]
    metrics["kl/behavior_nats"] = Metric(how="mean", value=-kl.value, weight=kl.weight)
    # What hardly ever happens is counted only where the ends say that it has.
    beyond = max(abs(float(end)) for end in torch.aminmax(log_ratio)) > LARGEST_LOG_RATIO
    count = float(saturated(log_ratio).sum()) if beyond else 0.0
    metrics["ratio/log_ratio_saturated"] = Metric(how="sum", value=count)
    return metrics


def clipped_ratio(
    batch: TokenBatch,
    *,
    eps_low: float,
    eps_high: float,
    dual_clip: float | None = None,
    overflow: str = "clamp",
) -> tuple[TokenLoss, dict[str, Metric]]:
    """Per-token PPO loss (arXiv:1707.06347) and its metrics.

    ``-min(r A, clip(r, 1 - eps_low, 1 + eps_high) A)``; the gradient with respect to ``logp`` is
    ``-r A``, or 0 where the clipped branch is strictly smaller. ``dual_clip = c``
    (arXiv:1912.09729) bounds the loss by ``-c A`` where ``A < 0``.
    """
    ratio, log_ratio = importance_ratio(batch, overflow)
    low, high = 1.0 - eps_low, 1.0 + eps_high
    advantage = batch.advantage
    plain = -ratio * advantage  # [B, T]; its own derivative by logp
    loss = torch.maximum(plain, -ratio.clamp(low, high) * advantage)
    down, up = advantage < 0, advantage > 0
    below, above = ratio < low, ratio > high
    clipped = (below & down) | (above & up)
    flat = clipped | saturated(log_ratio)
    capped = torch.zeros_like(clipped)
    if dual_clip is not None:
        cap = -dual_clip * advantage
        capped = down & (loss > cap)
        loss = torch.where(capped, cap, loss)
        flat |= capped
    metrics = {
        "ratio/clip_fraction": clipped,
        "ratio/outside_fraction": below | above,
        "ratio/dual_clip_fraction": capped,
    }
    slope = plain.masked_fill(flat, 0.0)
    return TokenLoss(value=loss, slope=slope), ratio_metrics(batch, ratio, log_ratio, metrics)
