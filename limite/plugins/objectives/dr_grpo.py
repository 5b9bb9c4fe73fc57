"""Dr. GRPO: GRPO without its two biases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, gt, lt, optional

from limite.core.types import Loss, TokenBatch
from limite.core.validators import option
from limite.plugins.objectives.ratio import clipped_ratio


@attrs.frozen(kw_only=True)
class DrGRPO:
    """Clipped-ratio loss over a constant length (Dr. GRPO, arXiv:2503.20783).

    The loss of a token is GRPO's, its advantage not scaled by a spread. Tokens are summed and
    divided by ``rows * constant_tokens``, so that a long wrong answer is not cheaper per token than
    a short one.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"behavior_logp", "advantage"})
    paired_advantage: ClassVar[Mapping[str, Any]] = {"type": "group", "scale": "none"}

    eps_low: float = attrs.field(default=0.2, validator=and_(gt(0.0), lt(1.0)))
    eps_high: float = attrs.field(default=0.2, validator=gt(0.0))
    dual_clip: float | None = attrs.field(default=None, validator=optional(gt(1.0)))
    constant_tokens: int | None = attrs.field(
        default=None,
        validator=optional(ge(1)),
        metadata={"unit": "tokens", "help": "without it the longest response allowed"},
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
        value = batch.aggregate(loss, "constant", constant=self.constant_tokens)
        return Loss(value=value, metrics=metrics)
