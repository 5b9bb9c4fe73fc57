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
    LogRatio,
    cut_exp,
    drift_metrics,
    eps_high,
    eps_low,
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
        moved = LogRatio.of(batch, self.overflow)
        total = moved.values.sum(dim=-1, keepdim=True)  # [B, 1] nats
        lengths = batch.lengths[:, None].clamp(min=1)  # [B, 1]
        mean = total / lengths
        ratio = cut_exp(mean)
        plain = -ratio * advantage  # [B, 1]; its own derivative by the mean
        held = ratio.clamp(1.0 - self.eps_low, 1.0 + self.eps_high)
        loss = torch.maximum(plain, -held * advantage)
        clipped = loss > plain
        slope = plain.masked_fill(clipped | saturated(mean), 0.0) / lengths
        metrics = sequence_metrics(batch, moved, total, ratio, clipped, held != ratio)
        return TokenLoss(value=loss, slope=slope, of_rows=True), metrics


def sequence_ratio(batch: TokenBatch) -> Tensor:
    """``[B, 1]``: the geometric mean of the tokens' ratios, without gradient."""
    total = LogRatio.of(batch, "clamp").values.sum(dim=-1, keepdim=True)
    return cut_exp(total / batch.lengths[:, None].clamp(min=1))


def row_advantage(batch: TokenBatch) -> Tensor:
    """``[B, 1]``; a ValueError where the active tokens of a response have different advantages."""
    advantage, mask = batch.advantage, batch.mask
    if not mask.shape[1]:
        return advantage.new_zeros((mask.shape[0], 1))
    found = advantage[:, :1]  # [B, 1]
    if advantage.stride(-1) == 0:  # one number, seen at every token
        return found.masked_fill(~batch.active_rows[:, None], 0.0)
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
    batch: TokenBatch,
    moved: LogRatio,
    total: Tensor,
    ratio: Tensor,
    clipped: Tensor,
    outside: Tensor,
) -> dict[str, Metric]:
    """Means over responses with an active token, and the drift of tokens, of ``[B, 1]`` each."""
    active = batch.active_rows[:, None]
    figures = {
        "ratio/sequence_mean": ratio.masked_fill(~active, 0.0),
        "ratio/clip_fraction_sequences": clipped,
        "ratio/outside_fraction_sequences": outside,
    }
    rows = torch.cat([*figures.values(), active, total, batch.lengths[:, None]], dim=1)
    *sums, count, nats, tokens = rows.sum(dim=0, dtype=torch.float64).tolist()
    return drift_metrics(moved, nats, tokens) | {
        name: Metric(how="mean", value=value, weight=count)
        for name, value in zip(figures, sums, strict=True)
    }
