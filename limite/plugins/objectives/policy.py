"""What every policy objective shares: how its tokens are summed, and what may be added to it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import attrs
import torch
from attrs.validators import and_, ge, le, optional
from torch import Tensor

from limite.core.types import Aggregation, Loss, Metric, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.kl import KL_LOSSES, kl_estimate
from limite.plugins.objectives.slope import TokenLoss

AGGREGATIONS = (
    "token-mean",
    "sequence-mean-token-mean",
    "sequence-mean-token-sum",
    "constant",
    "token-sum",
)


def aggregation(default: Aggregation, *choices: Aggregation) -> Any:
    """The setting ``aggregation`` of an objective; without ``choices`` it may be any."""
    allowed: tuple[str, ...] = choices or AGGREGATIONS
    return attrs.field(
        default=default,
        validator=option(*allowed),
        metadata={"help": "how the losses of tokens become one number"},
    )


@attrs.frozen(kw_only=True)
class PolicyObjective:
    """A loss of sampled tokens, summed, with a KL penalty and an entropy bonus where asked for.

    ``loss = aggregate(token_loss + beta k - entropy_weight H)``: ``k`` estimates the KL from policy
    to reference, ``H`` is the entropy of the next token. An objective says ``token_loss``; every
    term is divided by the same counts, those of the whole update.
    """

    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "none"}

    aggregation: Aggregation = aggregation("token-mean")
    constant_tokens: int | None = attrs.field(
        default=None,
        validator=optional(ge(1)),
        metadata={
            "unit": "tokens",
            "help": "normaliser of aggregation 'constant'; without it the longest response allowed",
        },
    )
    rows: str = attrs.field(
        default="active",
        validator=option("active", "all"),
        metadata={"help": "the responses that means over sequences count"},
    )
    beta: float = attrs.field(
        default=0.0,
        validator=and_(ge(0.0), le(1e6)),
        metadata={"help": "weight of the KL penalty; above 0 the stage needs a reference"},
    )
    kl: str = attrs.field(
        default="k3",
        validator=option(*KL_LOSSES),
        metadata={"help": "estimator of the KL: k2 = d^2/2 or k3 = exp(-d) - 1 + d"},
    )
    entropy_weight: float = attrs.field(
        default=0.0,
        validator=and_(ge(0.0), le(1e6)),
        metadata={"help": "weight of the entropy bonus"},
    )
    overflow: str = attrs.field(
        default="clamp",
        validator=option("clamp", "raise"),
        metadata={"help": "what happens to log-ratios beyond 20 nats"},
    )

    def __attrs_post_init__(self) -> None:
        if self.constant_tokens is not None and self.aggregation != "constant":
            raise ValueError(
                f"'constant_tokens' has no use with aggregation {self.aggregation!r}: it is what "
                "'constant' divides by"
            )
        if self.rows == "all" and not self.aggregation.startswith("sequence"):
            raise ValueError(
                f"'rows' has no use with aggregation {self.aggregation!r}: it says which responses "
                "a mean over sequences counts"
            )

    @property
    def reads(self) -> frozenset[str]:
        """The columns that ``token_loss`` reads beside ``logp``."""
        return frozenset({"behavior_logp", "advantage"})

    @property
    def needs(self) -> frozenset[str]:
        """The columns it reads beside ``logp``."""
        more = set(self.reads)
        if self.beta:
            more.add("reference_logp")
        if self.entropy_weight:
            more.add("entropy")
        return frozenset(more)

    @abstractmethod
    def token_loss(self, batch: TokenBatch) -> tuple[TokenLoss, dict[str, Metric]]:
        """The loss with its derivative, and what is reported of it."""

    def __call__(self, batch: TokenBatch) -> Loss:
        with torch.no_grad():
            loss, metrics = self.token_loss(batch)
            value, divisor = self.summed(batch, loss)
        value = loss.as_function_of(batch, value, divisor)
        if self.beta:
            penalty = kl_estimate(batch.logp, batch.reference_logp, self.kl)
            value = value + self.aggregate(batch, self.beta * penalty)
            difference = batch.logp - batch.reference_logp
            metrics |= batch.metrics({"kl/reference_nats": difference, f"kl/{self.kl}": penalty})
        if self.entropy_weight:
            value = value - self.aggregate(batch, self.entropy_weight * batch.entropy)
            metrics |= batch.metrics({"entropy/nats": batch.entropy})
        return Loss(value=value, metrics=metrics)

    def aggregate(self, batch: TokenBatch, values: Tensor) -> Tensor:
        """One number of ``[B, T]``."""
        return batch.aggregate(
            values, self.aggregation, constant=self.constant_tokens, rows=self.counted
        )

    def summed(self, batch: TokenBatch, loss: TokenLoss) -> tuple[Tensor, Tensor | float]:
        """What ``aggregate`` makes of a loss, and what its slope is to be divided by.

        That is a number, or ``[B, 1]``.
        """
        divisor: Tensor | float = batch.divisor(
            self.aggregation, constant=self.constant_tokens, rows=self.counted
        )
        if self.aggregation != "sequence-mean-token-mean" or loss.of_rows:
            return loss.value.sum() / divisor, divisor
        divisor = batch.lengths[:, None].clamp(min=1) * divisor  # [B, 1]
        return (loss.value.sum(dim=-1, keepdim=True) / divisor).sum(), divisor

    @property
    def counted(self) -> Literal["active", "all"]:
        """The responses that means over sequences count."""
        return "all" if self.rows == "all" else "active"
