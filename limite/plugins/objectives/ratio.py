"""Importance ratios and the clipped-ratio loss that GRPO, Dr. GRPO, DAPO and PPO share."""

from __future__ import annotations

import math
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


@attrs.frozen(kw_only=True, eq=False)
class LogRatio:
    """How far a policy has moved at each token from where it was sampled, without gradient."""

    values: Tensor  # [B, T] nats, 0 where a token takes no part
    largest: float  # nats: the most that one of them says
    count_saturated: float  # those beyond 20 nats of either sign

    @classmethod
    def of(cls, batch: TokenBatch, overflow: str) -> LogRatio:
        """``logp - behavior_logp``; with ``overflow="raise"`` a FloatingPointError beyond 20."""
        values = (batch.logp.detach() - batch.behavior_logp).masked_fill_(batch.inactive, 0.0)
        ends = torch.aminmax(values) if values.numel() else (0.0, 0.0)
        least, most = (float(end) for end in ends)
        # What hardly ever happens is counted only where the ends say that it has.
        beyond = max(-least, most) > LARGEST_LOG_RATIO
        count = float(saturated(values).sum()) if beyond else 0.0
        if count and overflow == "raise":
            raise FloatingPointError(
                f"{count:.0f} log-ratios exceed {LARGEST_LOG_RATIO} nats and overflow='raise' is "
                "set"
            )
        return cls(values=values, largest=most, count_saturated=count)

    def ratio(self) -> Tensor:
        """``exp(clip(values, -20, 20))``, ``[B, T]``: 1 where a token takes no part."""
        return cut_exp(self.values) if self.count_saturated else self.values.exp()

    def may_exceed(self, ratio: float) -> bool:
        """Whether a ratio, which rounding may have moved, can be above this one."""
        return self.largest > math.log(ratio) - 1e-3


def cut_exp(log_ratio: Tensor) -> Tensor:
    """``exp(clip(x, -20, 20))``."""
    return log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp_()


def saturated(log_ratio: Tensor) -> Tensor:
    """Bools of the same shape: where a ratio is cut."""
    return log_ratio.abs() > LARGEST_LOG_RATIO


def ratio_metrics(
    batch: TokenBatch,
    ratio: Tensor,
    moved: LogRatio,
    more: Mapping[str, Tensor] | None = None,
) -> dict[str, Metric]:
    """What every ratio objective reports: the raw mean ratio, drift, and saturated positions.

    ``ratio`` is that of ``moved``, and overwritten. ``more`` are further means over active tokens,
    found in the same pass. ``kl/behavior_nats`` is the sampled estimate of KL(behaviour || policy),
    from unclipped ratios.
    """
    sums = {
        "ratio/mean": ratio.sub_(1.0).sum(dim=-1),  # small, so that its sum loses little
        "kl/behavior_nats": moved.values.sum(dim=-1),
    }
    metrics = batch.metrics(more or {}, sums=sums)
    excess, tokens = metrics["ratio/mean"].value, metrics["ratio/mean"].weight
    metrics["ratio/mean"] = Metric(how="mean", value=excess + tokens, weight=tokens)
    return metrics | drift_metrics(moved, metrics["kl/behavior_nats"].value, tokens)


def drift_metrics(moved: LogRatio, total: float, tokens: float) -> dict[str, Metric]:
    """How far the policy is from behaviour, ``total`` nats over active tokens, and saturation."""
    return {
        "kl/behavior_nats": Metric(how="mean", value=-total, weight=tokens),
        "ratio/log_ratio_saturated": Metric(how="sum", value=moved.count_saturated),
    }


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
    moved = LogRatio.of(batch, overflow)
    ratio = moved.ratio()
    advantage = batch.advantage
    plain = (ratio * advantage).neg_()  # [B, T]; its own derivative by logp
    held = ratio.clamp(1.0 - eps_low, 1.0 + eps_high)
    outside = held != ratio
    loss = torch.maximum(plain, held.mul_(advantage).neg_(), out=held)
    clipped = loss > plain
    figures = {"ratio/clip_fraction": clipped, "ratio/outside_fraction": outside}
    flat = clipped
    if moved.count_saturated:
        flat = flat | saturated(moved.values)
    if dual_clip is not None:
        cap = -dual_clip * advantage
        capped = (advantage < 0) & (loss > cap)
        loss = torch.where(capped, cap, loss)
        flat = flat | capped
        figures["ratio/dual_clip_fraction"] = capped
    metrics = ratio_metrics(batch, ratio, moved, figures)
    if dual_clip is None:
        tokens = metrics["ratio/mean"].weight
        metrics["ratio/dual_clip_fraction"] = Metric(how="mean", value=0.0, weight=tokens)
    return TokenLoss.of(batch, loss, plain, flat), metrics
