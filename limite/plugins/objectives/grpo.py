"""GRPO: clipped ratios, each response weighing the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, gt, lt, optional

from limite.core.types import Aggregation, Loss, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.ratio import clipped_ratio


@attrs.frozen(kw_only=True)
class GRPO:
    """Clipped-ratio loss averaged over tokens, then over responses (GRPO, arXiv:2402.03300).

    ``loss[i,t] = -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A)`` with ``r = exp(logp -
    behavior_logp)``. There is no KL term. DAPO (arXiv:2503.14476) is ``eps_high=0.28`` with
    ``aggregation="token-mean"``.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"behavior_logp", "advantage"})
    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "std"}

    eps_low: float = attrs.field(default=0.2, validator=and_(gt(0.0), lt(1.0)))
    eps_high: float = attrs.field(default=0.2, validator=gt(0.0))
    dual_clip: float | None = attrs.field(
        default=None,
        validator=optional(gt(1.0)),
        metadata={"help": "bounds the loss of a bad token by this times its advantage"},
    )
    aggregation: Aggregation = attrs.field(
        default="sequence-mean-token-mean",
        validator=option(
            "token-mean", "sequence-mean-token-mean", "sequence-mean-token-sum", "constant"
        ),
    )
    constant_tokens: int | None = attrs.field(
        default=None,
        validator=optional(ge(1)),
        metadata={
            "unit": "tokens",
            "help": "normaliser of aggregation 'constant'; without it the longest response allowed",
        },
    )
    overflow: str = attrs.field(default="clamp", validator=option("clamp", "raise"))

    def __call__(self, batch: TokenBatch) -> Loss:
        loss, metrics = clipped_ratio(
            batch,
            eps_low=self.eps_low,
            eps_high=self.eps_high,
            dual_clip=self.dual_clip,
            overflow=self.overflow,
        )
        value = batch.aggregate(loss, self.aggregation, constant=self.constant_tokens)
        return Loss(value=value, metrics=metrics)
