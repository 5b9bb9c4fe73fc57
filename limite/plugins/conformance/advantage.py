"""Laws of advantages: credit belongs to responses, whatever their order."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable

import attrs
import torch
from hypothesis import strategies as st
from torch import Tensor

from limite.core.kinds import Advantage
from limite.core.types import Group
from limite.plugins.conformance.strategies import REWARDS, drawn, groups, rewards

some_unscored = rewards | st.none()
same_reward = st.sampled_from(REWARDS)


def advantage_laws(component: Advantage) -> dict[str, Callable[[], None]]:
    """A test per law of advantages, by name.

    An advantage without a baseline gives equal rewards something other than 0 and says so by an
    attribute ``centred`` that is False. One whose ``needs_values`` is True gets groups with values.
    One with settings ``baseline``, ``scale`` and ``std_ddof`` means by them what ``group`` does.
    """
    laws: list[Callable[[Advantage], None]] = [
        one_finite_value_for_each_response,
        it_permutes_with_its_rows,
        unscored_responses_get_nothing,
        the_same_group_gives_the_same_bits,
    ]
    if getattr(component, "centred", True):
        laws.append(equal_rewards_give_nothing)
    if getattr(component, "baseline", None) in ("mean", "leave-one-out"):
        laws.append(rewards_count_from_their_baseline)
    if reads_values(component):
        laws += [values_that_know_the_end_leave_no_credit, credit_knows_nothing_of_earlier_values]
    return {law.__name__: functools.partial(law, component) for law in laws}


def reads_values(component: Advantage) -> bool:
    """Whether the component credits tokens by the values of a critic."""
    return bool(getattr(component, "needs_values", False))


def values_of(component: Advantage, group: Group) -> Tensor:
    """The advantages of ``group``, their form checked."""
    values = component(group)
    count, longest = len(group.responses), max(len(r.completion_ids) for r in group.responses)
    assert isinstance(values, Tensor), f"an advantage is a tensor, not a {type(values).__name__}"
    assert tuple(values.shape) in {(count,), (count, longest)}, (
        f"advantages of {count} responses of at most {longest} tokens have shape "
        f"{tuple(values.shape)}, not [G] or [G, T]"
    )
    return values


def one_finite_value_for_each_response(component: Advantage) -> None:
    @drawn(group=groups(some_unscored, critic=reads_values(component)))
    def check(group: Group) -> None:
        values = values_of(component, group)
        assert bool(values.isfinite().all()), f"rewards {group.rewards} give {values.tolist()}"
        assert not values.requires_grad, "an advantage carries no gradient"

    check()


def it_permutes_with_its_rows(component: Advantage) -> None:
    @drawn(
        group=groups(some_unscored, critic=reads_values(component)), order=st.permutations(range(6))
    )
    def check(group: Group, order: list[int]) -> None:
        rows = [row for row in order if row < len(group.responses)]
        moved = values_of(component, pick(group, rows))
        torch.testing.assert_close(
            moved.double(),
            values_of(component, group).double()[rows],
            rtol=1e-6,  # sums in another order; a component may compute in float32
            atol=1e-9,
            msg=lambda detail: f"another order of responses changes the advantages\n{detail}",
        )

    check()


def unscored_responses_get_nothing(component: Advantage) -> None:
    @drawn(group=groups(some_unscored, critic=reads_values(component)))
    def check(group: Group) -> None:
        values = values_of(component, group)
        unscored = [row for row, reward in enumerate(group.rewards) if reward is None]
        assert not values[unscored].any(), "a response whose reward is None has an advantage"
        scored = [row for row, reward in enumerate(group.rewards) if reward is not None]
        if len(scored) >= 2:
            alone = values_of(component, pick(group, scored))
            if alone.ndim == 1 and values.ndim == 1:
                torch.testing.assert_close(
                    values[scored].double(),
                    alone.double(),
                    rtol=1e-6,
                    atol=1e-9,
                    msg=lambda detail: f"unscored responses change the others\n{detail}",
                )

    check()


def equal_rewards_give_nothing(component: Advantage) -> None:
    @drawn(reward=same_reward, group=groups(critic=reads_values(component)))
    def check(reward: float, group: Group) -> None:
        flat = attrs.evolve(group, rewards=[reward] * len(group.rewards))
        values = values_of(component, flat)
        assert not values.any(), f"equal rewards of {reward} give {values.tolist()}, not 0"

    check()


def rewards_count_from_their_baseline(component: Advantage) -> None:
    """``(R - baseline) / (spread + std_eps)``, the spread with its own ddof."""
    others = getattr(component, "baseline", "mean") == "leave-one-out"
    scaled = getattr(component, "scale", "none") == "std"
    ddof = getattr(component, "std_ddof", 1)

    @drawn(group=groups(st.sampled_from((0.0, 1.0, 0.5, -1.0))))
    def check(group: Group) -> None:
        rewards = [float(reward) for reward in group.rewards if reward is not None]
        if min(rewards) == max(rewards):
            return
        count, total = len(rewards), sum(rewards)
        base = [(total - r) / (count - 1) if others else total / count for r in rewards]
        expected = torch.tensor(rewards).double() - torch.tensor(base).double()
        if scaled:
            mean = total / count
            spread = (sum((r - mean) ** 2 for r in rewards) / (count - ddof)) ** 0.5
            expected = expected / (spread + getattr(component, "std_eps", 1e-6))
        found = values_of(component, group).double()
        torch.testing.assert_close(
            found if found.ndim == 1 else found[:, 0],
            expected,
            rtol=1e-6,
            atol=1e-9,
            msg=lambda detail: f"rewards {rewards} are not measured as its settings say\n{detail}",
        )

    check()


def values_that_know_the_end_leave_no_credit(component: Advantage) -> None:
    """A critic that expects of every state what is earned in the end: nothing comes unexpected."""
    undiscounted = component
    if getattr(component, "gamma", 1.0) != 1.0:
        undiscounted = attrs.evolve(component, gamma=1.0)  # type: ignore[misc]

    @drawn(group=groups(st.sampled_from((0.0, 1.0, 0.5, -1.0)), critic=True))
    def check(group: Group) -> None:
        known = [
            (float(reward or 0.0),) * len(response.completion_ids)
            for reward, response in zip(group.rewards, group.responses, strict=True)
        ]
        values = values_of(undiscounted, attrs.evolve(group, values=known))
        assert float(values.abs().max()) < 1e-6, (
            f"rewards {group.rewards}, which the critic knew, leave credits {values.tolist()}"
        )

    check()


def credit_knows_nothing_of_earlier_values(component: Advantage) -> None:
    """What a critic said of earlier states is no credit or blame of later tokens."""

    @drawn(group=groups(critic=True), place=st.integers(0, 3), change=st.sampled_from((0.5, -2.0)))
    def check(group: Group, place: int, change: float) -> None:
        assert group.values is not None
        moved = [
            [value + change * (index <= place) for index, value in enumerate(row)]
            for row in group.values
        ]
        before = values_of(component, group)
        after = values_of(component, attrs.evolve(group, values=moved))
        if before.ndim == 2:
            later = slice(place + 1, None)
            assert torch.equal(before[:, later], after[:, later]), (
                f"values up to token {place} change the credit of later ones"
            )

    check()


def the_same_group_gives_the_same_bits(component: Advantage) -> None:
    @drawn(group=groups(some_unscored, critic=reads_values(component)))
    def check(group: Group) -> None:
        before = copy.deepcopy(group)
        first = values_of(component, group).clone()
        assert group == before, "the group was changed in place"
        assert torch.equal(values_of(component, group), first), "one group gave two answers"

    check()


def pick(group: Group, rows: list[int]) -> Group:
    """A group of some of the responses."""
    return attrs.evolve(
        group,
        responses=[group.responses[row] for row in rows],
        rewards=[group.rewards[row] for row in rows],
        correct=[group.correct[row] for row in rows],
        verdicts=[group.verdicts[row] for row in rows] if group.verdicts else (),
        values=None if group.values is None else [group.values[row] for row in rows],
        values_after=None
        if group.values_after is None
        else [group.values_after[row] for row in rows],
    )
