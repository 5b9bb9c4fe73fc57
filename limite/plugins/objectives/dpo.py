"""DPO: of two responses to one prompt, the better one becomes the likelier one."""

from __future__ import annotations

from typing import ClassVar

import attrs
import torch
from attrs.validators import and_, ge, gt, le, lt
from torch import Tensor
from torch.nn.functional import logsigmoid

from limite.core.types import Loss, Metric, TokenBatch
from limite.core.validators import option

FIGURES = ("chosen_reward", "rejected_reward", "margin", "accuracy")


@attrs.frozen(kw_only=True)
class DPO:
    """Direct preference optimisation on pairs of responses (DPO, arXiv:2305.18290).

    ``h = beta ((lw - qw) - (ll - ql))``: log-probabilities of a whole response under the policy,
    ``l``, and under a fixed reference, ``q``; ``w`` is the preferred response, ``l`` the other.
    ``loss = mean over pairs of -(1 - s) ln sigmoid(h) - s ln sigmoid(-h)``. With ``variant="ipo"``
    (arXiv:2310.12036) it is the mean of ``(h / beta - 1 / (2 beta))^2``, which ends at a margin
    instead of growing for ever.

    Rows come in pairs, the preferred one first. A pair of which one side has no token is left out
    and counted. The mean is over the pairs of the whole update.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"reference_logp"})
    rows_together: ClassVar[int] = 2

    beta: float = attrs.field(
        default=0.1,
        validator=and_(gt(0.0), le(1e6)),
        metadata={"help": "how closely the policy is held to the reference", "unit": "per nat"},
    )
    variant: str = attrs.field(
        default="sigmoid",
        validator=option("sigmoid", "ipo"),
        metadata={"help": "the loss of a margin"},
    )
    label_smoothing: float = attrs.field(
        default=0.0,
        validator=and_(ge(0.0), lt(0.5)),
        metadata={"help": "the share of pairs that are taken to be the wrong way round"},
    )
    length_normalised: bool = attrs.field(
        default=False,
        metadata={"help": "means over the tokens of a response in place of sums"},
    )

    def __attrs_post_init__(self) -> None:
        if self.variant == "ipo" and self.label_smoothing:
            raise ValueError(
                "'label_smoothing' belongs to the variant 'sigmoid'; 'ipo' has none, "
                f"got {self.label_smoothing}"
            )

    def __call__(self, batch: TokenBatch) -> Loss:
        chosen, rejected, whole = self.rewards(batch)  # [P] each
        margin = chosen - rejected  # h
        losses = self.pair_loss(margin).masked_fill(~whole, 0.0)  # [P]
        figures = (chosen, rejected, margin, margin > 0)
        metrics = pair_metrics(dict(zip(FIGURES, figures, strict=True)), whole)
        if metrics["pair/accuracy"].weight > batch.totals.pairs:
            raise ValueError(
                f"the batch has {metrics['pair/accuracy'].weight:.0f} whole pairs and its totals "
                f"say {batch.totals.pairs}; count them with totals_of(..., rows_together=2)"
            )
        return Loss(value=losses.sum() / max(batch.totals.pairs, 1), metrics=metrics)

    def rewards(self, batch: TokenBatch) -> tuple[Tensor, Tensor, Tensor]:
        """``beta (l - q)`` of the preferred and of the other responses, and which pairs are whole,
        ``[P]`` each."""
        rows = batch.mask.shape[0]
        if rows % 2:
            raise ValueError(f"rows must come in pairs, a preferred and another one, got {rows}")
        # Differences first: they are small, and their sum keeps what sums of thousands would lose.
        difference = torch.where(batch.mask, batch.logp - batch.reference_logp, 0.0)  # [B, T]
        rewards = self.beta * difference.sum(dim=-1)  # [B]
        if self.length_normalised:
            rewards = rewards / batch.lengths.clamp(min=1)
        active = batch.active_rows  # [B]
        return rewards[0::2], rewards[1::2], active[0::2] & active[1::2]

    def pair_loss(self, margin: Tensor) -> Tensor:
        """The loss of pairs with this ``h``, both ``[P]``; finite whatever the margin is."""
        if self.variant == "ipo":
            return ((margin - 0.5) / self.beta).square()
        s = self.label_smoothing
        if not s:
            return -logsigmoid(margin)
        return -(1.0 - s) * logsigmoid(margin) - s * logsigmoid(-margin)


def pair_metrics(figures: dict[str, Tensor], whole: Tensor) -> dict[str, Metric]:
    """Means over whole pairs, and how many were left out."""
    rows = torch.stack([*(figure.detach().double() for figure in figures.values()), whole])
    sums = rows.masked_fill(~whole, 0.0).sum(dim=-1).tolist()
    count = sums.pop()
    metrics = {
        f"pair/{name}": Metric(how="mean", value=value, weight=count)
        for name, value in zip(figures, sums, strict=True)
    }
    metrics["pair/dropped"] = Metric(how="sum", value=float(whole.shape[0]) - count)
    return metrics
