"""Group advantages: properties, unscored responses and errors."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.health.contrast import is_flat
from limite.core.types import Group
from limite.plugins.advantages.group import GroupAdvantage
from limite.plugins.conformance.strategies import group_of

rewards = st.lists(st.sampled_from((0.0, 1.0, -1.0, 0.5, 1e-3)), min_size=2, max_size=6)
Make = Callable[..., Group]


@given(values=rewards, shift=st.sampled_from((-1.0, 0.5, 100.0)), scale=st.sampled_from((0.1, 3.0)))
def test_shifting_changes_nothing_and_scaling_scales(
    values: list[float], shift: float, scale: float
) -> None:
    plain, scaled = GroupAdvantage(), GroupAdvantage(scale="std", std_eps=1e-12)
    other = group_of([value + shift for value in values])
    larger = group_of([value * scale for value in values])
    group = group_of(values)
    torch.testing.assert_close(plain(other), plain(group), rtol=0, atol=1e-12)
    torch.testing.assert_close(plain(larger), scale * plain(group), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(scaled(larger), scaled(group), rtol=1e-7, atol=1e-7)


def test_an_unscored_response_takes_no_part(make_group: Make) -> None:
    for advantage in (GroupAdvantage(), GroupAdvantage(scale="std", baseline="leave-one-out")):
        values = advantage(make_group([1.0, None, 0.0, 0.0]))
        assert values[1] == 0.0
        assert torch.equal(values[[0, 2, 3]], advantage(make_group([1.0, 0.0, 0.0])))
        assert not advantage(make_group([1.0, None])).any()
        assert not advantage(make_group([None, None])).any()


def test_only_without_a_baseline_may_a_group_be_one(make_group: Make) -> None:
    with pytest.raises(ValueError, match="at least two"):
        GroupAdvantage()(make_group([1.0]))
    assert GroupAdvantage(baseline="none")(make_group([1.0])).tolist() == [1.0]
    assert GroupAdvantage(baseline="none")(make_group([1.0, None, 1.0])).tolist() == [1.0, 0.0, 1.0]


def test_rewards_must_be_finite_and_cover_the_rows(make_group: Make) -> None:
    with pytest.raises(ValueError, match="reward 1 of the group is nan"):
        GroupAdvantage()(make_group([1.0, math.nan]))
    group = make_group([1.0, 0.0])
    short = Group(
        problem=group.problem, responses=group.responses, rewards=[1.0], correct=[True, False]
    )
    with pytest.raises(ValueError, match="2 responses but 1 rewards"):
        GroupAdvantage()(short)


@pytest.mark.parametrize(
    "settings",
    [{"baseline": "mode"}, {"scale": "batch"}, {"std_ddof": 2}, {"std_eps": 0.0}],
)
def test_settings_are_checked(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        GroupAdvantage(**settings)  # type: ignore[arg-type]


@given(batch=st.lists(rewards, min_size=1, max_size=4), scale=st.sampled_from((0.25, 4.0)))
def test_a_batch_is_scaled_by_the_spread_of_all_its_rewards(
    batch: list[list[float]], scale: float
) -> None:
    advantage = GroupAdvantage(scale="batch-std")
    groups = [group_of(values) for values in batch]
    plain = [GroupAdvantage()(group) for group in groups]
    found = advantage.over_batch(groups, [advantage(group) for group in groups])
    flat = [reward for values in batch for reward in values]
    spread = statistics.stdev(flat)
    for group, before, after in zip(groups, plain, found, strict=True):
        torch.testing.assert_close(after, before / (spread + 1e-6), rtol=1e-9, atol=1e-12)
        if is_flat(group.rewards):
            assert not after.any()
    larger = [group_of([reward * scale for reward in values]) for values in batch]
    again = advantage.over_batch(larger, [advantage(group) for group in larger])
    for before, after in zip(found, again, strict=True):
        torch.testing.assert_close(after, before, rtol=1e-2, atol=1e-2 if spread < 1e-3 else 1e-3)


def test_a_batch_without_differences_stays_zero_and_other_scales_stay_as_they_are() -> None:
    groups = [group_of([1.0, 1.0, None]), group_of([1.0, 1.0])]
    advantage = GroupAdvantage(scale="batch-std")
    credits = [advantage(group) for group in groups]
    assert not any(credit.any() for credit in advantage.over_batch(groups, credits))
    differing = [group_of([1.0, 0.0])]
    scaled = GroupAdvantage(scale="std")
    (credit,) = scaled.over_batch(differing, [scaled(differing[0])])
    assert torch.equal(credit, scaled(differing[0]))
