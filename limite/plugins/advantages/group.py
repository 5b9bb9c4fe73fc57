"""Advantages relative to the other responses to the same problem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import torch
from attrs.validators import gt, in_
from torch import Tensor

from limite.core.health.contrast import is_flat
from limite.core.types import Group
from limite.core.validators import option


@attrs.frozen(kw_only=True)
class GroupAdvantage:
    """A response's reward against its group's, optionally in units of the group's spread.

    ``A_i = (R_i - baseline) / (std + std_eps)``. ``baseline`` is the group mean (GRPO), the mean of
    the *other* rewards (RLOO, arXiv:2402.14740) or nothing; ``scale="none"`` leaves out the
    division (Dr. GRPO, arXiv:2503.20783), ``scale="batch-std"`` divides by the deviation of all
    scored rewards of a rollout batch in place of each group's own.

    Rewards equal to rounding give exactly 0 (with no baseline and no scale there is nothing to
    compare, and the rewards stand as they are). A response whose reward is None takes no part and
    gets 0. Everything runs in float64.
    """

    baseline: str = attrs.field(default="mean", validator=option("mean", "leave-one-out", "none"))
    scale: str = attrs.field(default="none", validator=option("none", "std", "batch-std"))
    std_ddof: int = attrs.field(
        default=1, validator=in_((0, 1)), metadata={"help": "1 divides by G - 1, 0 by G"}
    )
    std_eps: float = attrs.field(default=1e-6, validator=gt(0.0))

    @property
    def centred(self) -> bool:
        """Whether equal rewards give advantages of 0."""
        return self.baseline != "none" or self.scale == "std"

    def __call__(self, group: Group) -> Tensor:
        """``[G]`` float64 advantages, in the order of the group's responses."""
        rewards = group.rewards
        if len(rewards) != len(group.responses):
            raise ValueError(f"{len(group.responses)} responses but {len(rewards)} rewards")
        for index, reward in enumerate(rewards):
            if reward is not None and not math.isfinite(reward):
                raise ValueError(f"reward {index} of the group is {reward}; it must be finite")
        if len(rewards) < 2 and self.baseline != "none":
            raise ValueError(
                f"baseline {self.baseline!r} needs at least two responses, got {len(rewards)}"
            )
        advantages = torch.zeros(len(rewards), dtype=torch.float64)  # [G]
        if self.centred and is_flat(rewards):
            return advantages
        scored = torch.tensor([reward is not None for reward in rewards], dtype=torch.bool)
        advantages[scored] = self._of_scored(_scored(rewards), self.statistics(group))
        return advantages

    def over_batch(self, groups: Sequence[Group], credits: Sequence[Tensor]) -> Sequence[Tensor]:
        """The credits of all groups of a rollout batch, scaled together where that is wanted."""
        if self.scale != "batch-std":
            return credits
        rewards = [reward for group in groups for reward in group.rewards]
        spread = self._of(rewards).std + self.std_eps
        return [credit / spread for credit in credits]

    def statistics(self, group: Group) -> Statistics:
        """Mean and standard deviation of the group's scored rewards."""
        return self._of(group.rewards)

    def _of(self, rewards: Sequence[float | None]) -> Statistics:
        values = _scored(rewards)
        count = values.numel()
        mean = float(values.mean()) if count else 0.0
        if is_flat(rewards):
            return Statistics(mean=mean, std=0.0)
        squares = (values - mean).square().sum()
        return Statistics(mean=mean, std=float((squares / (count - self.std_ddof)).sqrt()))

    def _of_scored(self, rewards: Tensor, over: Statistics) -> Tensor:
        count = rewards.numel()
        result = rewards if self.baseline == "none" else rewards - over.mean
        if self.baseline == "leave-one-out":
            result = result * (count / (count - 1))
        return result / (over.std + self.std_eps) if self.scale == "std" else result


@attrs.frozen(kw_only=True)
class Statistics:
    """Of a group's scored rewards; the deviation of equal ones is exactly 0."""

    mean: float
    std: float


def _scored(rewards: Sequence[float | None]) -> Tensor:
    """``[S]`` float64: the rewards that are there."""
    there = [reward for reward in rewards if reward is not None]
    return torch.tensor(there, dtype=torch.float64)
