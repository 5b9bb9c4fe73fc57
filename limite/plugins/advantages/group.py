"""Advantages relative to the other responses to the same problem."""

from __future__ import annotations

import math

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
    division (Dr. GRPO, arXiv:2503.20783). Scaling by the spread of a whole batch is not offered: a
    group is all this sees.

    Rewards equal to rounding give exactly 0 (with no baseline and no scale there is nothing to
    compare, and the rewards stand as they are). A response whose reward is None takes no part and
    gets 0. Everything runs in float64.
    """

    baseline: str = attrs.field(default="mean", validator=option("mean", "leave-one-out", "none"))
    scale: str = attrs.field(default="none", validator=option("none", "std"))
    std_ddof: int = attrs.field(
        default=1, validator=in_((0, 1)), metadata={"help": "1 divides by G - 1, 0 by G"}
    )
    std_eps: float = attrs.field(default=1e-6, validator=gt(0.0))

    @property
    def centred(self) -> bool:
        """Whether equal rewards give advantages of 0."""
        return self.baseline != "none" or self.scale != "none"

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
        values = torch.tensor(
            [reward for reward in rewards if reward is not None], dtype=torch.float64
        )
        advantages[scored] = self._of_scored(values)
        return advantages

    def _of_scored(self, rewards: Tensor) -> Tensor:
        count = rewards.numel()
        centred = rewards - rewards.mean() if count else rewards
        result = rewards if self.baseline == "none" else centred
        if self.baseline == "leave-one-out":
            result = result * (count / (count - 1))
        if self.scale == "std":
            spread = (centred.square().sum() / (count - self.std_ddof)).sqrt()
            result = result / (spread + self.std_eps)
        return result
