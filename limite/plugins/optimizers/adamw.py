"""AdamW, as torch has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import attrs
import torch
from attrs.validators import and_, ge, gt, le
from torch import nn

from limite.plugins.optimizers.roles import split
from limite.plugins.optimizers.uncompiled import FusedAdamW


def valid_betas(_instance: Any, attribute: Any, value: Any) -> None:
    """Two decay rates within 0 (included) and 1 (not)."""
    if len(value) != 2 or not all(0.0 <= beta < 1.0 for beta in value):
        raise ValueError(f"{attribute.name!r} must be two numbers in [0, 1), got {list(value)}")


@attrs.frozen(kw_only=True)
class AdamW:
    """Adam with decoupled weight decay (arXiv:1711.05101), in one fused kernel.

    Decay reaches hidden matrices only; embeddings, heads, gates, vectors and scalars are spared.
    """

    shards: ClassVar[bool] = True

    lr: float = attrs.field(default=3e-4, validator=and_(gt(0.0), le(1000.0)))
    betas: tuple[float, float] = attrs.field(default=(0.9, 0.95), validator=valid_betas)
    eps: float = attrs.field(default=1e-8, validator=and_(gt(0.0), le(1.0)))
    weight_decay: float = attrs.field(default=0.0, validator=and_(ge(0.0), le(1000.0)))

    def build(self, named_parameters: Iterable[tuple[str, nn.Parameter]]) -> torch.optim.Optimizer:
        matrices, others = split(named_parameters)
        groups = [
            {"params": matrices, "weight_decay": self.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        optimizer = FusedAdamW(
            [group for group in groups if group["params"]],
            lr=self.lr,
            betas=self.betas,
            eps=self.eps,
        )
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        return optimizer
