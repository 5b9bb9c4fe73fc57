"""GSPO: the ratio of a whole response, clipped once for all its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import torch
from torch import Tensor

from limite.core.types import Aggregation, Metric, TokenBatch
from limite.plugins.objectives.policy import PolicyObjective, aggregation
from limite.plugins.objectives.ratio import (
    cut_exp,
    drift_metrics,
    eps_high,
    eps_low,
    masked_log_ratio,
    saturated,
)
from limite.plugins.objectives.slope import TokenLoss


@attrs.frozen(kw_only=True)
class GSPO(PolicyObjective):
    """Clipped ratio of sequences: the geometric mean of their tokens' ratios (arXiv:2507.18071).

    ``s_i = exp(mean over the tokens of i of (logp - behavior_logp))``; ``loss_i = -min(s_i A_i,
    clip(s_i, 1 - eps_low, 1 + eps_high) A_i)``, averaged over responses. The bounds are small
    because a geometric mean hardly moves. It needs one advantage per response, and counts every
    response once: a mean over tokens would weigh it by its length.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "std"}
    per_row: ClassVar[bool] = True

    aggregation: Aggregation = aggregation("sequence-mean-token-mean", "sequence-mean-token-mean")
    eps_low: float = eps_low(3e-4)
    eps_high: float = eps_high(4e-4)

    def token_loss(self, batch: TokenBatch) -> tuple[TokenLoss, dict[str, Metric]]:
        advantage = row_advantage(batch)  # [B, 1]
        log_ratio = masked_log_ratio(batch, self.overflow)  # [B, T]
        lengths = batch.lengths[:, None].clamp(min=1)  # [B, 1]
        mean = log_ratio.sum(dim=-1, keepdim=True) / lengths  # [B, 1] nats
        ratio = cut_exp(mean)
        low, high = 1.0 - self.eps_low, 1.0 + self.eps_high
        plain = -ratio * advantage  # [B, 1]; its own derivative by the mean
        loss = torch.maximum(plain, -ratio.clamp(low, high) * advantage)
        clipped = ((ratio < low) & (advantage < 0)) | ((ratio > high) & (advantage > 0))
        slope = plain.masked_fill(clipped | saturated(mean), 0.0) / lengths
        metrics = sequence_metrics(batch, ratio, clipped, (ratio < low) | (ratio > high))
        return TokenLoss(value=loss, slope=slope), metrics | drift_metrics(batch, log_ratio)


def sequence_ratio(batch: TokenBatch) -> Tensor:
    """``[B, 1]``: the geometric mean of the tokens' ratios, without gradient."""
    total = masked_log_ratio(batch, "clamp").sum(dim=-1, keepdim=True)
    return cut_exp(total / batch.lengths[:, None].clamp(min=1))


def row_advantage(batch: TokenBatch) -> Tensor:
    """``[B, 1]``; a ValueError where the active tokens of a response have different advantages."""
    advantage, mask = batch.advantage, batch.mask
    found = advantage[:, :1]  # [B, 1]
    if not bool(mask[:, 0].all()):
        first = mask.view(torch.uint8).argmax(dim=-1, keepdim=True)  # [B, 1] the first active one
        found = advantage.gather(-1, first)
    mixed = (advantage != found) & mask  # [B, T]
    if int(torch.count_nonzero(mixed)):
        row = int(mixed.any(dim=-1).nonzero()[0])
        values = advantage[row][mask[row]]
        raise ValueError(
            f"a sequence objective needs one advantage per response; those of row {row} run from "
            f"{float(values.min())} to {float(values.max())}"
        )
    return found.masked_fill(~batch.active_rows[:, None], 0.0)


def sequence_metrics(
    batch: TokenBatch, ratio: Tensor, clipped: Tensor, outside: Tensor
) -> dict[str, Metric]:
    """Means over responses with an active token, of ``[B, 1]`` each."""
    active = batch.active_rows[:, None]
    figures = {
        "ratio/sequence_mean": ratio,
        "ratio/clip_fraction_sequences": clipped,
        "ratio/outside_fraction_sequences": outside,
    }
    rows = torch.cat([*(figure.double() for figure in figures.values()), active.double()], dim=1)
    *sums, count = rows.masked_fill(~active, 0.0).sum(dim=0).tolist()
    return {
        name: Metric(how="mean", value=value, weight=count)
        for name, value in zip(figures, sums, strict=True)
    }
