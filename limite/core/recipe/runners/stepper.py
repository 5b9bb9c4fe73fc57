"""One module being trained: its optimizer, its learning rate, the limit on its gradient."""

from __future__ import annotations

from functools import partial

import attrs
import torch
from torch import nn

from limite.core.health.numerics import check_loss
from limite.core.kinds import LRSchedule, Optimizer
from limite.core.recipe.ranks.weights import Replicated, Weights
from limite.core.train.clip import clip_gradient_norm
from limite.core.train.norms import distance


@attrs.define(kw_only=True, eq=False)
class Stepper:
    """Applies updates to ``module``. How many there were is the caller's to know.

    ``weights`` say how those of ``module`` are held: whole in this process, if nothing is said.
    """

    module: nn.Module
    settings: Optimizer
    lr_schedule: LRSchedule
    total_updates: int
    clip_norm: float
    weights: Weights = attrs.field()
    optimizer: torch.optim.Optimizer = attrs.field(init=False)
    initial_rates: list[float] = attrs.field(init=False)

    @weights.default
    def _whole(self) -> Weights:
        return Replicated(self.module)

    def __attrs_post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """An optimizer that remembers nothing."""
        self.optimizer = self.settings.build(self.weights.named())
        self.weights.prepare(self.optimizer)
        self.initial_rates = [group["lr"] for group in self.optimizer.param_groups]

    def rate(self, updates: int) -> float:
        """Sets the learning rates for update number ``updates``; returns the first group's."""
        factor = self.lr_schedule(updates, self.total_updates)
        for group, initial in zip(self.optimizer.param_groups, self.initial_rates, strict=True):
            group["lr"] = initial * factor
        return float(self.optimizer.param_groups[0]["lr"])

    def update(self, loss: float, updates: int, *, where: str) -> tuple[float, float, float]:
        """Clips the accumulated gradient and applies one step; its learning rate and norm, and how
        far the weights have moved.

        A loss or gradient that is not finite raises ``RunFailed`` before anything is changed.
        """
        check_loss(loss, where=where)
        rate = self.rate(updates)
        trained = [each for _, each in self.weights.named()]
        norm = clip_gradient_norm(trained, self.clip_norm, where=where, norm=self.weights.norm)
        # Only what has a gradient moves. Activations are gone by now, so there is room for a copy.
        moving = [each for each in trained if each.grad is not None]
        before = [each.detach().clone() for each in moving]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return rate, norm, distance(moving, before, partial(self.weights.norm, moving))
