"""The laws of advantages, optimizers and schedules hold for what limite ships, and catch faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest
import torch
from torch import nn

from limite.core.types import Group
from limite.plugins.advantages.group import GroupAdvantage
from limite.plugins.conformance import advantage_laws, lr_schedule_laws, optimizer_laws
from limite.plugins.optimizers.adamw import AdamW
from limite.plugins.optimizers.muon import Muon
from limite.plugins.schedules.constant import Constant
from limite.plugins.schedules.cosine import Cosine
from limite.plugins.schedules.warmup_stable_decay import WarmupStableDecay

ADVANTAGES = {
    "dr-grpo": GroupAdvantage(),
    "grpo": GroupAdvantage(scale="std"),
    "rloo": GroupAdvantage(baseline="leave-one-out"),
    "population": GroupAdvantage(scale="std", std_ddof=0),
    "plain": GroupAdvantage(baseline="none"),
    "plain-scaled": GroupAdvantage(baseline="none", scale="std"),
}
OPTIMIZERS = {
    "adamw": AdamW(lr=0.1),
    "adamw-decay": AdamW(weight_decay=0.5, betas=(0.0, 0.0)),
    "muon": Muon(),
    "muon-decay": Muon(weight_decay=0.5, momentum=0.0),
}
SCHEDULES = {
    "constant": Constant(),
    "constant-warm": Constant(warmup_steps=7),
    "wsd": WarmupStableDecay(),
    "wsd-bare": WarmupStableDecay(warmup_steps=0, decay_share=0.0),
    "wsd-all": WarmupStableDecay(decay_share=1.0, final_fraction=0.1),
    "cosine": Cosine(),
    "cosine-floor": Cosine(warmup_steps=0, final_fraction=0.2),
}


def cases() -> list[Any]:
    found = []
    for laws, components in (
        (advantage_laws, ADVANTAGES),
        (optimizer_laws, OPTIMIZERS),
        (lr_schedule_laws, SCHEDULES),
    ):
        for name, component in components.items():
            for law_name, law in laws(component).items():
                found.append(pytest.param(law, id=f"{name}-{law_name}"))
    return found


@pytest.mark.parametrize("law", cases())
def test_shipped_components_keep_the_laws(law: Callable[[], None]) -> None:
    law()


@attrs.frozen(kw_only=True)
class ByPosition:
    def __call__(self, group: Group) -> torch.Tensor:
        return torch.arange(len(group.rewards), dtype=torch.float64)


@attrs.frozen(kw_only=True)
class DividesByZero:
    def __call__(self, group: Group) -> torch.Tensor:
        rewards = torch.tensor([reward or 0.0 for reward in group.rewards], dtype=torch.float64)
        return (rewards - rewards.mean()) / rewards.std()


@attrs.frozen(kw_only=True)
class UnscoredIsWrong:
    def __call__(self, group: Group) -> torch.Tensor:
        rewards = torch.tensor([reward or 0.0 for reward in group.rewards], dtype=torch.float64)
        return rewards - rewards.mean()


@attrs.frozen(kw_only=True)
class Raw:
    def __call__(self, group: Group) -> torch.Tensor:
        return torch.tensor([reward or 0.0 for reward in group.rewards])


@attrs.frozen(kw_only=True)
class OneForAll:
    def __call__(self, group: Group) -> torch.Tensor:
        return torch.zeros(1)


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (ByPosition, "it_permutes_with_its_rows"),
        (DividesByZero, "one_finite_value_for_each_response"),
        (UnscoredIsWrong, "unscored_responses_get_nothing"),
        (Raw, "equal_rewards_give_nothing"),
        (OneForAll, "one_finite_value_for_each_response"),
    ],
)
def test_a_faulty_advantage_is_caught(fault: Any, law: str) -> None:
    with pytest.raises(AssertionError):
        advantage_laws(fault())[law]()


Named = Iterable[tuple[str, nn.Parameter]]


def with_initial_lr(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    return optimizer


@attrs.frozen(kw_only=True)
class NoInitialRate:
    def build(self, named_parameters: Named) -> torch.optim.Optimizer:
        return torch.optim.SGD([parameter for _, parameter in named_parameters], lr=0.1)


@attrs.frozen(kw_only=True)
class Uphill:
    def build(self, named_parameters: Named) -> torch.optim.Optimizer:
        parameters = [parameter for _, parameter in named_parameters]
        return with_initial_lr(torch.optim.SGD(parameters, lr=0.1, maximize=True))


@attrs.frozen(kw_only=True)
class HiddenDecay:
    def build(self, named_parameters: Named) -> torch.optim.Optimizer:
        parameters = [parameter for _, parameter in named_parameters]
        return with_initial_lr(torch.optim.SGD(parameters, lr=0.1, weight_decay=0.1))


class Forgetful(torch.optim.SGD):
    """Momentum that a checkpoint never sees."""

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "state": {}}


@attrs.frozen(kw_only=True)
class LosesState:
    def build(self, named_parameters: Named) -> torch.optim.Optimizer:
        parameters = [parameter for _, parameter in named_parameters]
        return with_initial_lr(Forgetful(parameters, lr=0.1, momentum=0.9))


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (NoInitialRate, "it_trains_every_parameter_once"),
        (Uphill, "the_first_step_goes_downhill"),
        (HiddenDecay, "zero_gradient_and_zero_decay_move_nothing"),
        (LosesState, "its_state_goes_through_a_checkpoint"),
    ],
)
def test_a_faulty_optimizer_is_caught(fault: Any, law: str) -> None:
    with pytest.raises(AssertionError):
        optimizer_laws(fault())[law]()


@attrs.frozen(kw_only=True)
class Undershoots:
    def __call__(self, step: int, total_steps: int) -> float:
        return 1.0 - 2.0 * step / total_steps


@attrs.define(kw_only=True)
class Counting:
    calls: int = 0

    def __call__(self, step: int, total_steps: int) -> float:
        self.calls += 1
        return 1.0 / self.calls


@attrs.frozen(kw_only=True)
class Never:
    def __call__(self, step: int, total_steps: int) -> float:
        return 0.0


@pytest.mark.usefixtures("no_shrinking")
@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (Undershoots, "it_is_finite_and_not_negative"),
        (Counting, "it_depends_on_its_arguments_alone"),
        (Never, "some_step_moves_the_weights"),
    ],
)
def test_a_faulty_schedule_is_caught(fault: Any, law: str) -> None:
    with pytest.raises(AssertionError):
        lr_schedule_laws(fault())[law]()
