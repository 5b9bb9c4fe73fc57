"""Whether an optimizer takes what it is given, and its learning rate can be told at every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from limite.core.config_faults import Fault
from limite.core.errors import sentence
from limite.core.kinds import LRSchedule, Optimizer
from limite.core.recipe.load import whole
from limite.core.recipe.stages import (
    RL,
    SFT,
    CriticSettings,
    Distill,
    FitCritic,
    Preference,
    Pretrain,
)

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

Trained = Pretrain | SFT | RL | FitCritic | Preference | Distill | CriticSettings
"""Settings of something that has an optimizer and a learning rate of its own."""


def schedule_faults(
    stage: Pretrain | SFT | RL | FitCritic | Preference | Distill, part: Trained
) -> Iterator[Fault]:
    """Asks a learning-rate schedule of the stage for the first update and the last."""
    updates = stage.steps * (stage.off_policy_updates + 1 if isinstance(stage, RL) else 1)
    if not whole(part.lr_schedule):
        return
    try:
        for step in (0, updates - 1):
            cast(LRSchedule, part.lr_schedule)(step, updates)
    except Exception as error:  # whatever a component raises is a mistake in it
        yield Fault(("lr_schedule",), sentence(error))


def optimizer_faults(part: Trained, decoder: Decoder) -> Iterator[Fault]:
    """Asks the optimizer whether it takes the parameters of the model, or of a critic on it."""
    from limite.core.model.critic import Critic

    if not whole(part.optimizer):
        return
    module = Critic(decoder) if isinstance(part, (FitCritic, CriticSettings)) else decoder
    try:
        cast(Optimizer, part.optimizer).build(list(module.named_parameters()))
    except Exception as error:  # whatever a component raises is a mistake in it
        yield Fault(("optimizer",), sentence(error))
