"""Value regression: a critic's outputs drawn towards what was really earned."""

from __future__ import annotations

import math

import attrs
import torch
from attrs.validators import and_, ge, gt, le, optional
from torch import Tensor

from limite.core.explained_variance import ExplainedVariance
from limite.core.types import Aggregation, Loss, Metric, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.policy import aggregation

STEEPEST = 1e4
"""Most that the first outputs for bins may differ by, from one end to the other."""


@attrs.frozen(kw_only=True)
class ValueRegression:
    """What a critic expects of a state against what followed (arXiv:1707.06347, arXiv:2403.03950).

    ``mse``: ``loss[i,t] = (V - target)^2 / 2``; with ``clip = c`` the larger of that and the same
    of ``clip(V, V_old - c, V_old + c)``, ``V_old`` being the value before the updates of a batch.
    ``bce``: the critic's output ``z`` is a logit, ``V = sigmoid(z)`` and the loss the cross-entropy
    ``-target ln V - (1 - target) ln(1 - V)``, for rewards within 0 and 1. ``bins``: its outputs are
    logits of values spread evenly from ``low`` to ``high``, ``V`` is their mean, and the loss the
    cross-entropy to the target as a mixture of the two bins around it.
    """

    kind: str = attrs.field(
        default="mse",
        validator=option("mse", "bce", "bins"),
        metadata={"help": "squared error of a number, or cross-entropy of a logit or of bins"},
    )
    clip: float | None = attrs.field(
        default=None,
        validator=optional(gt(0.0)),
        metadata={"help": "how far a value counts as moved within a batch; for kind 'mse'"},
    )
    bins: int = attrs.field(
        default=21,
        validator=and_(ge(2), le(1024)),
        metadata={"help": "values that kind 'bins' tells apart"},
    )
    low: float = attrs.field(
        default=0.0,
        validator=and_(ge(-1e6), le(1e6)),
        metadata={"help": "the least return, of kind 'bins'"},
    )
    high: float = attrs.field(
        default=1.0,
        validator=and_(ge(-1e6), le(1e6)),
        metadata={"help": "the largest return, of kind 'bins'"},
    )
    aggregation: Aggregation = aggregation("token-mean")

    def __attrs_post_init__(self) -> None:
        if self.clip is not None and self.kind != "mse":
            raise ValueError(f"'clip' is for kind 'mse', not for {self.kind!r}")
        if self.low >= self.high:
            raise ValueError(f"'low' must be below 'high', got {self.low} and {self.high}")

    @property
    def needs(self) -> frozenset[str]:
        """The columns it reads."""
        columns = {"value", "value_target"}
        return frozenset(columns if self.clip is None else columns | {"old_value"})

    @property
    def outputs(self) -> int:
        """How many numbers the critic says of a state."""
        return self.bins if self.kind == "bins" else 1

    @property
    def output_is(self) -> str:
        """What those numbers stand for."""
        if self.kind == "bins":
            return f"logits of {self.bins} values from {self.low:g} to {self.high:g}"
        return "a logit" if self.kind == "bce" else "a value"

    def value_of(self, output: Tensor) -> Tensor:
        """Values ``[...]`` from what the critic says: ``[...]``, or ``[..., K]`` of bins."""
        if self.kind == "bce":
            return output.sigmoid()
        if self.kind == "bins":
            return (output.softmax(-1) * self._values(output)).sum(-1)
        return output

    def first_outputs(self, value: float) -> list[float]:
        """Outputs that stand for ``value`` and leave everything else open."""
        if self.kind == "mse":
            return [value]
        low, high = (self.low, self.high) if self.kind == "bins" else (0.0, 1.0)
        share = min(max((value - low) / (high - low), 1e-3), 1.0 - 1e-3)
        if self.kind == "bce":
            return [math.log(share / (1.0 - share))]
        # Of all distributions of this mean the one of the highest entropy: logits on a line.
        places = torch.linspace(0.0, 1.0, self.bins, dtype=torch.float64)
        below, above = -STEEPEST, STEEPEST
        for _ in range(100):
            slope = (below + above) / 2
            mean = float(((slope * places).softmax(-1) * places).sum())
            below, above = (slope, above) if mean < share else (below, slope)
        return [float(each) for each in (below + above) / 2 * (places - 0.5)]

    def __call__(self, batch: TokenBatch) -> Loss:
        output, target = batch.value, batch.column("value_target")
        value = self.value_of(output)  # [B, T]
        losses, metrics = self._token_loss(batch, output, target)
        metrics["value/explained_variance"] = ExplainedVariance.of(
            value.detach().masked_select(batch.mask), target.masked_select(batch.mask)
        )
        metrics |= batch.metrics({"value/mean": value, "value/target_mean": target})
        return Loss(value=batch.aggregate(losses, self.aggregation), metrics=metrics)

    def _token_loss(
        self, batch: TokenBatch, output: Tensor, target: Tensor
    ) -> tuple[Tensor, dict[str, Metric]]:
        """``[B, T]``, and what is reported of it."""
        if self.kind == "bins":
            self._refuse_outside(batch, target, self.low, self.high)
            return -(self._two_hot(target) * output.log_softmax(-1)).sum(-1), {}
        if self.kind == "bce":
            self._refuse_outside(batch, target, 0.0, 1.0)
            return torch.nn.functional.softplus(output) - target * output, {}
        plain = (output - target).square()
        if self.clip is None:
            return 0.5 * plain, {}
        old = batch.column("old_value")
        held = torch.minimum(torch.maximum(output.detach(), old - self.clip), old + self.clip)
        bounded = (held - target).square()
        clipped = bounded > plain  # then the value has moved too far, and no gradient passes
        losses = 0.5 * torch.where(clipped, bounded, plain)
        return losses, batch.metrics({"value/clip_fraction": clipped})

    def _values(self, like: Tensor) -> Tensor:
        """``[K]``: what the bins stand for."""
        return torch.linspace(self.low, self.high, self.bins, dtype=like.dtype, device=like.device)

    def _two_hot(self, target: Tensor) -> Tensor:
        """``[B, T, K]``: the shares of the two bins around a target, whose mean it is."""
        place = (target - self.low) / (self.high - self.low) * (self.bins - 1)
        place = place.clamp(0, self.bins - 1)[..., None]
        numbers = torch.arange(self.bins, dtype=target.dtype, device=target.device)
        return (1.0 - (place - numbers).abs()).clamp(min=0.0)

    def _refuse_outside(self, batch: TokenBatch, target: Tensor, low: float, high: float) -> None:
        outside = batch.mask & ((target < low) | (target > high))
        count = int(outside.sum())
        if count:
            raise ValueError(
                f"kind {self.kind!r} takes returns from {low:g} to {high:g}: {count} are not, the "
                f"first is {float(target[outside][0]):g}"
            )
