"""The advantage from a critic's values: what a group of responses gets of it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import torch

from limite.core.errors import LimiteError
from limite.core.recipe.runners.rl import rows_of
from limite.core.train.credit import HalfLife, LengthAdaptive, generalised_advantages, whitened
from limite.core.types import Group
from limite.plugins.advantages.gae import GeneralisedAdvantage
from limite.plugins.conformance.advantage import advantage_laws
from limite.plugins.conformance.strategies import group_of

SAID = [0.5, 0.25, 0.75, -0.1, 1.25, 0.0, 0.4]
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"lam": "half-life"},
    {"lam": "length-adaptive:0.5", "gamma": 0.9},
    {"lam": 0.0, "lam_value": 0.5, "bootstrap_truncated": True},
)
LAWS = [
    pytest.param(law, id=f"{settings.get('lam')}-{name}")
    for settings in SETTINGS
    for name, law in advantage_laws(GeneralisedAdvantage(**settings)).items()
]


@pytest.mark.parametrize("law", LAWS)
def test_it_keeps_the_laws_of_advantages(law: Any) -> None:
    law()


def group(*rewards: float | None) -> Group:
    return group_of(rewards, [3, 1, 4, 2][: len(rewards)], SAID)


def table(group: Group) -> torch.Tensor:
    assert group.values is not None
    width = max(map(len, group.values))
    rows = [[*row, *[0.0] * (width - len(row))] for row in group.values]
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize(
    ("lam", "rule"),
    [
        (0.95, 0.95),
        (1, 1.0),
        ("half-life", HalfLife()),
        ("length-adaptive:0.4", LengthAdaptive(alpha=0.4)),
        ("length-adaptive", LengthAdaptive(alpha=0.05)),
    ],
)
def test_credit_follows_the_estimator(lam: Any, rule: Any) -> None:
    found = group(1.0, 0.0, None, 0.5)
    mask = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]])
    advantage = GeneralisedAdvantage(lam=lam, lam_value=0.5, gamma=0.9)
    expected = generalised_advantages(
        table(found),
        torch.tensor([1.0, 0.0, 0.0, 0.5], dtype=torch.float64),
        mask,
        gamma=0.9,
        lambda_policy=rule,
        lambda_value=0.5,
    )
    assert torch.equal(advantage(found), expected.advantages)
    assert torch.equal(advantage.targets(found), expected.targets)
    assert advantage(found).dtype == torch.float64


def test_the_critic_learns_what_was_earned() -> None:
    targets = GeneralisedAdvantage(lam=0.3).targets(group(1.0, 0.1, None))
    assert targets.tolist() == [[1.0, 1.0, 1.0, 0.0], [0.1, 0.0, 0.0, 0.0], [0.0] * 4]


def test_what_was_cut_may_count_as_going_on() -> None:
    found = group(0.0, 0.0)
    cut = attrs.evolve(found.responses[0], finish_reason="length")
    found = attrs.evolve(found, responses=[cut, *found.responses[1:]], values_after=[0.8, 0.8])
    ended = GeneralisedAdvantage(lam=0.0)(found)
    going_on = GeneralisedAdvantage(lam=0.0, bootstrap_truncated=True)(found)
    gained = torch.tensor([[0.0, 0.0, 0.8], [0.0, 0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(going_on - ended, gained)
    with pytest.raises(LimiteError, match="values after the last tokens"):
        GeneralisedAdvantage(bootstrap_truncated=True)(attrs.evolve(found, values_after=None))


def test_a_batch_is_whitened_as_a_whole() -> None:
    advantage = GeneralisedAdvantage(whiten=True)
    groups = [group(1.0, 0.0, None), group(0.0, 1.0, 1.0, 0.0)]
    plain = [advantage(each) for each in groups]
    found = advantage.over_batch(groups, plain)
    active = [torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()]
    active.append(torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0]]).bool())
    scaled = torch.cat([each[mask] for each, mask in zip(found, active, strict=True)])
    assert scaled.mean().item() == pytest.approx(0.0, abs=1e-12)
    assert scaled.std().item() == pytest.approx(1.0, abs=1e-6)
    together, masks = torch.cat(plain), torch.cat(active)
    torch.testing.assert_close(torch.cat(list(found)), whitened(together, masks))
    assert not torch.cat(list(found))[~masks].any()
    assert GeneralisedAdvantage().over_batch(groups, plain) is plain


def test_responses_that_are_not_learned_from_have_no_part_in_whitening() -> None:
    advantage = GeneralisedAdvantage(whiten=True)
    groups = [group(1.0, 0.0, None), group(0.0, 1.0, 1.0, 0.0)]
    groups[1] = attrs.evolve(groups[1], learned=(True, False, True, True))
    found = advantage.over_batch(groups, [advantage(each) for each in groups])
    masks = [torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()]
    masks.append(torch.tensor([[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0]]).bool())
    mask = torch.cat(masks)
    plain = torch.cat([advantage(each) for each in groups])
    torch.testing.assert_close(torch.cat(list(found)), whitened(plain, mask), rtol=0, atol=0)
    assert not torch.cat(list(found))[~mask].any()


def test_whitening_knows_what_mask_truncated_leaves_out() -> None:
    kept, cut = group(1.0, 0.0, 1.0), group(0.0, 1.0, 1.0, 0.0)
    responses = [
        attrs.evolve(each, finish_reason="length" if number == 2 else "eos")
        for number, each in enumerate(cut.responses)
    ]
    groups = [kept, attrs.evolve(cut, responses=responses)]
    advantage = GeneralisedAdvantage(whiten=True)
    rows = rows_of(groups, advantage, mask_truncated=True)
    assert [row.counts for row in rows] == [True] * 5 + [False, True]
    scaled = [each for row in rows if row.counts for each in row.advantage]
    learned = torch.tensor(scaled, dtype=torch.float64)
    assert learned.mean().item() == pytest.approx(0.0, abs=1e-12)
    assert learned.std().item() == pytest.approx(1.0, abs=1e-6)
    everything = rows_of(groups, advantage)
    assert [row.counts for row in everything] == [True] * 7
    assert everything[0].advantage != rows[0].advantage


def test_without_values_there_is_no_credit() -> None:
    with pytest.raises(LimiteError, match="needs a critic"):
        GeneralisedAdvantage()(group_of([1.0, 0.0]))


@pytest.mark.parametrize(
    "lam",
    [1.5, -0.1, float("nan"), "half", "length-adaptive:", "length-adaptive:-1", "half-life:2"],
)
def test_another_lambda_is_refused(lam: Any) -> None:
    with pytest.raises(ValueError, match="'lam' must be a number from 0 to 1, 'half-life', or"):
        GeneralisedAdvantage(lam=lam)
