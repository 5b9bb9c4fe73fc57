"""DPPO: a trust region on probabilities instead of ratios."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import torch
from attrs.validators import ge, gt, optional
from torch import Tensor

from limite.core.types import Aggregation, Loss, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.ratio import importance_ratio, ratio_metrics

DEFAULT_DELTA = {"binary-tv": 0.15, "binary-kl": 0.05}


@attrs.frozen(kw_only=True)
class DPPO:
    """Trust region on probabilities instead of ratios (DPPO, arXiv:2602.04879).

    ``loss[i,t] = -sg(min(r, ratio_cap)) keep A logp``. ``keep`` is 0 where ``A > 0``, ``p > mu``
    and ``D > delta_high``, or ``A < 0``, ``p < mu`` and ``D > delta_low``; ``mu`` and ``p`` are the
    sampled token's probabilities under behaviour and policy, ``D`` their divergence. A token that
    comes back is always kept. The value of the loss means little; its gradient is what counts.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"behavior_logp", "advantage"})
    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "none"}

    divergence: str = attrs.field(default="binary-tv", validator=option("binary-tv", "binary-kl"))
    delta: float | None = attrs.field(
        default=None,
        validator=optional(gt(0.0)),
        metadata={"help": "largest divergence; without it 0.15 for binary-tv, 0.05 for binary-kl"},
    )
    delta_low: float | None = attrs.field(
        default=None,
        validator=optional(gt(0.0)),
        metadata={"help": "in place of delta for tokens pushed down"},
    )
    delta_high: float | None = attrs.field(
        default=None,
        validator=optional(gt(0.0)),
        metadata={"help": "in place of delta for tokens pushed up"},
    )
    ratio_cap: float = attrs.field(default=20.0, validator=gt(0.0))
    aggregation: Aggregation = attrs.field(
        default="constant",
        validator=option(
            "token-mean", "sequence-mean-token-mean", "sequence-mean-token-sum", "constant"
        ),
    )
    constant_tokens: int | None = attrs.field(
        default=None,
        validator=optional(ge(1)),
        metadata={"unit": "tokens", "help": "without it the longest response allowed"},
    )
    overflow: str = attrs.field(default="clamp", validator=option("clamp", "raise"))

    def __attrs_post_init__(self) -> None:
        if self.ratio_cap < 5.0:
            warnings.warn(
                f"ratio_cap {self.ratio_cap} is small: it biases the update against rare tokens",
                stacklevel=3,
            )

    @property
    def thresholds(self) -> tuple[float, float]:
        """The largest divergence of tokens pushed down, and of tokens pushed up."""
        both = DEFAULT_DELTA[self.divergence] if self.delta is None else self.delta
        return (
            both if self.delta_low is None else self.delta_low,
            both if self.delta_high is None else self.delta_high,
        )

    def __call__(self, batch: TokenBatch) -> Loss:
        advantage, logp, behavior = batch.advantage, batch.logp, batch.behavior_logp
        ratio, log_ratio = importance_ratio(batch, self.overflow)
        keep = self.keep(logp.detach(), behavior, advantage)  # [B, T] bool
        weight = ratio.detach().clamp(max=self.ratio_cap) * keep
        value = batch.aggregate(
            -weight * advantage * logp, self.aggregation, constant=self.constant_tokens
        )
        masked = ~keep
        metrics = batch.metrics(
            {
                "ratio/masked_fraction": masked,
                "ratio/masked_fraction_positive": masked & (advantage > 0),
                "ratio/masked_fraction_negative": masked & (advantage < 0),
                "ratio/ratio_capped_fraction": keep & (ratio > self.ratio_cap),
                "ratio/masked_fraction_of_signal": advantage != 0,
            }
        )
        metrics["ratio/masked_fraction_of_signal"] = attrs.evolve(
            metrics["ratio/masked_fraction"],
            weight=metrics["ratio/masked_fraction_of_signal"].value,
        )
        return Loss(value=value, metrics=metrics | ratio_metrics(batch, ratio, log_ratio))

    def keep(self, logp: Tensor, behavior_logp: Tensor, advantage: Tensor) -> Tensor:
        """``[B, T]`` bool: False where the update would move the token out of its region."""
        low, high = self.thresholds
        distance = divergence(logp, behavior_logp, self.divergence)
        away_up = (advantage > 0) & (logp > behavior_logp) & (distance > high)
        away_down = (advantage < 0) & (logp < behavior_logp) & (distance > low)
        return ~(away_up | away_down)


def divergence(logp: Tensor, behavior_logp: Tensor, kind: str) -> Tensor:
    """How far the policy is from behaviour on "this token or any other", ``[B, T]``.

    ``binary-tv``: ``|p - mu|``. ``binary-kl``: ``mu ln(mu/p) + (1-mu) ln((1-mu)/(1-p))``, infinite
    when ``p = 1 > mu``, its second term 0 when ``mu = 1``.
    """
    policy, behavior = logp.clamp(max=0.0), behavior_logp.clamp(max=0.0)  # nats
    if kind == "binary-tv":
        return (policy.exp() - behavior.exp()).abs()
    rest = -torch.expm1(behavior)  # 1 - mu
    others = rest * (_log_complement(behavior) - _log_complement(policy))
    others = torch.where(rest > 0, others, torch.zeros_like(others))
    return behavior.exp() * (behavior - policy) + others


def _log_complement(logp: Tensor) -> Tensor:
    """``ln(1 - exp(logp))``, accurate at both ends."""
    near_one = logp > -math.log(2)
    return torch.where(near_one, (-torch.expm1(logp)).log(), torch.log1p(-logp.exp()))
