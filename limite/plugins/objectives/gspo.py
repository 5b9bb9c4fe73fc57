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
    LARGEST_LOG_RATIO,
    checked_log_ratio,
    eps_high,
    eps_low,
    ratio_metrics,
)


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

    def token_loss(self, batch: TokenBatch) -> tuple[Tensor, dict[str, Metric]]:
        advantage = row_advantage(batch)  # [B, 1]
        log_ratio = checked_log_ratio(batch, self.overflow)  # [B, T]
        ratio = sequence_ratio(batch, log_ratio)  # [B, 1]
        low, high = 1.0 - self.eps_low, 1.0 + self.eps_high
        plain = ratio * advantage
        clipped = (ratio.clamp(low, high) * advantage).detach()
        loss = -torch.where(clipped < plain, clipped, plain)  # [B, 1]
        metrics = sequence_metrics(batch, ratio.detach(), advantage, low, high)
        token_ratio = log_ratio.detach().clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
        return loss, metrics | ratio_metrics(batch, token_ratio, log_ratio)


def sequence_ratio(batch: TokenBatch, log_ratio: Tensor) -> Tensor:
    """``[B, 1]``: the geometric mean of the tokens' ratios, from log-ratios ``[B, T]``."""
    lengths = batch.mask.sum(dim=-1, keepdim=True)  # [B, 1]
    total = log_ratio.masked_fill(~batch.mask, 0.0).sum(dim=-1, keepdim=True)
    mean = total / lengths.clamp(min=1)  # [B, 1] nats
    return mean.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()


def row_advantage(batch: TokenBatch) -> Tensor:
    """``[B, 1]``; a ValueError where the active tokens of a response have different advantages."""
    advantage, mask = batch.advantage, batch.mask
    first = mask.view(torch.uint8).argmax(dim=-1, keepdim=True)  # [B, 1] the first active token
    found = advantage.gather(-1, first)
    mixed = (advantage != found) & mask  # [B, T]
    if bool(mixed.any()):
        row = int(mixed.any(dim=-1).nonzero()[0])
        values = advantage[row][mask[row]]
        raise ValueError(
            f"a sequence objective needs one advantage per response; those of row {row} run from "
            f"{float(values.min())} to {float(values.max())}"
        )
    return torch.where(mask.any(dim=-1, keepdim=True), found, torch.zeros_like(found))


def sequence_metrics(
    batch: TokenBatch, ratio: Tensor, advantage: Tensor, low: float, high: float
) -> dict[str, Metric]:
    """Means over responses with an active token."""
    active = batch.mask.any(dim=-1, keepdim=True)
    below, above = ratio < low, ratio > high
    figures = {
        "ratio/sequence_mean": ratio,
        "ratio/clip_fraction_sequences": (below & (advantage < 0)) | (above & (advantage > 0)),
        "ratio/outside_fraction_sequences": below | above,
    }
    sums = torch.stack(
        [*(figure.double()[active].sum() for figure in figures.values()), active.sum().double()]
    ).tolist()
    count = sums.pop()
    return {
        name: Metric(how="mean", value=value, weight=count)
        for name, value in zip(figures, sums, strict=True)
    }
