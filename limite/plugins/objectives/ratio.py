"""Importance ratios and the clipped-ratio loss that GRPO, Dr. GRPO, DAPO and PPO share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import torch
from attrs.validators import and_, gt, lt, optional
from torch import Tensor

from limite.core.types import Metric, TokenBatch

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


def importance_ratio(
    batch: TokenBatch, overflow: str = "clamp", *, detached: bool = False
) -> tuple[Tensor, Tensor]:
    """``exp(clip(logp - behavior_logp, -20, 20))`` and the log-ratio before clipping, ``[B, T]``.

    A clipped position passes no gradient; none passes any where both are to be ``detached``.
    ``overflow="raise"`` makes it a FloatingPointError.
    """
    log_ratio = checked_log_ratio(batch, overflow, detached=detached)
    return log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp(), log_ratio


def checked_log_ratio(batch: TokenBatch, overflow: str, *, detached: bool = False) -> Tensor:
    """``logp - behavior_logp``, ``[B, T]`` nats; see ``importance_ratio`` for ``overflow``."""
    logp = batch.logp.detach() if detached else batch.logp
    log_ratio = logp - batch.behavior_logp
    if overflow == "raise":
        beyond = batch.mask & (log_ratio.detach().abs() > LARGEST_LOG_RATIO)
        count = int(beyond.sum())
        if count:
            raise FloatingPointError(
                f"{count} log-ratios exceed {LARGEST_LOG_RATIO} nats and overflow='raise' is set"
            )
    return log_ratio


def ratio_metrics(
    batch: TokenBatch,
    ratio: Tensor,
    log_ratio: Tensor,
    more: Mapping[str, Tensor] | None = None,
) -> dict[str, Metric]:
    """What every ratio objective reports: the raw mean ratio, drift, and saturated positions.

    ``more`` are further means over active tokens, found in the same pass.

    ``kl/behavior_nats`` is the sampled estimate of KL(behaviour || policy), from unclipped ratios.
    """
    drift = log_ratio.detach()
    saturated = drift != drift.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    metrics = batch.metrics(
        {
            **(more or {}),
            "ratio/mean": ratio,
            "kl/behavior_nats": drift,
            "ratio/log_ratio_saturated": saturated,
        }
    )
    kl = metrics["kl/behavior_nats"]
    metrics["kl/behavior_nats"] = Metric(how="mean", value=-kl.value, weight=kl.weight)
    count = metrics["ratio/log_ratio_saturated"].value
    metrics["ratio/log_ratio_saturated"] = Metric(how="sum", value=count)
    return metrics


def clipped_ratio(
    batch: TokenBatch,
    *,
    eps_low: float,
    eps_high: float,
    dual_clip: float | None = None,
    overflow: str = "clamp",
) -> tuple[Tensor, dict[str, Metric]]:
    """Per-token PPO loss ``[B, T]`` (arXiv:1707.06347) and its metrics.

    ``-min(r A, clip(r, 1 - eps_low, 1 + eps_high) A)``; the gradient with respect to ``logp`` is
    ``-r A``, or 0 where the clipped branch is strictly smaller. ``dual_clip = c``
    (arXiv:1912.09729) bounds the loss by ``-c A`` where ``A < 0``.
    """
    advantage = batch.advantage
    ratio, log_ratio = importance_ratio(batch, overflow)
    low, high = 1.0 - eps_low, 1.0 + eps_high
    plain = ratio * advantage
    clipped = (ratio.clamp(low, high) * advantage).detach()
    loss = -torch.where(clipped < plain, clipped, plain)  # [B, T]
    down, up = advantage < 0, advantage > 0
    capped = torch.zeros_like(batch.mask)
    if dual_clip is not None:
        cap = -dual_clip * advantage
        capped = down & (loss.detach() > cap)
        loss = torch.where(capped, cap, loss)
    below, above = ratio.detach() < low, ratio.detach() > high
    metrics = {
        "ratio/clip_fraction": (below & down) | (above & up),
        "ratio/outside_fraction": below | above,
        "ratio/dual_clip_fraction": capped,
    }
    return loss, ratio_metrics(batch, ratio, log_ratio, metrics)
