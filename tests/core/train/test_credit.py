"""Credit from a critic: stored numbers of another implementation, a plain loop, and laws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.train.credit import (
    Credit,
    FixedLambda,
    HalfLife,
    Lambda,
    LengthAdaptive,
    at_last_active,
    generalised_advantages,
    whitened,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "objectives.json").read_text())
CASES = [case for case in GOLDEN["cases"] if case["kind"] == "gae"]
EXACT = GOLDEN["tolerances"]["float64"]


def table(nested: Any) -> Tensor:
    return torch.tensor([[float(each) for each in row] for row in nested], dtype=torch.float64)


def lambda_of(said: float | str) -> float | Lambda:
    if isinstance(said, float):
        return said
    name, _, alpha = said.partition(":")
    return HalfLife() if name == "half_life" else LengthAdaptive(alpha=float(alpha))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_golden(case: dict[str, Any], dtype: torch.dtype) -> None:
    inputs, expected, params = case["inputs"], case["expected"], case["params"]
    values, rewards = (table(inputs[each]).to(dtype) for each in ("values", "rewards"))
    lam = lambda_of(params["lam"])
    close = GOLDEN["tolerances"][str(dtype).removeprefix("torch.")]

    def credit(of_values: float | Lambda) -> Credit:
        mask = table(inputs["mask"])
        return generalised_advantages(
            values,
            rewards,
            mask,
            gamma=params["gamma"],
            lambda_policy=lam,
            lambda_value=of_values,
        )

    found = credit(1.0)
    used = torch.tensor(expected["lambda_used"], dtype=torch.float64)
    torch.testing.assert_close(found.lambda_policy, used, **EXACT)
    torch.testing.assert_close(found.advantages, table(expected["advantages"]), **close)
    torch.testing.assert_close(found.targets, table(expected["monte_carlo_returns"]), **close)
    coupled = credit(lam)
    torch.testing.assert_close(coupled.targets, table(expected["returns"]), **close)
    assert torch.equal(coupled.advantages, found.advantages)
    assert found.advantages.dtype == found.targets.dtype == torch.float64


def plain(
    values: list[float], rewards: list[float], mask: list[int], gamma: float, lam: float, end: float
) -> tuple[list[float], list[float]]:
    """Advantages and returns of one row, token by token from its end."""
    advantages, targets = [0.0] * len(mask), [0.0] * len(mask)
    following, advantage = end, 0.0
    for token in reversed(range(len(mask))):
        if mask[token]:
            delta = rewards[token] + gamma * following - values[token]
            advantage = delta + gamma * lam * advantage
            following = values[token]
            advantages[token], targets[token] = advantage, advantage + values[token]
    return advantages, targets


numbers = st.sampled_from((0.0, 1.0, -1.0, 0.5, 3.25, -20.0))


@st.composite
def steps(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Values, rewards and mask ``[B, T]``, and the values after the rows ``[B]``."""
    rows, tokens = draw(st.integers(1, 3)), draw(st.integers(1, 8))

    def drawn(of: st.SearchStrategy[float], count: int) -> Tensor:
        return torch.tensor(draw(st.lists(of, min_size=count, max_size=count))).double()

    whole = [drawn(numbers, rows * tokens).view(rows, tokens) for _ in range(2)]
    mask = drawn(st.sampled_from((0.0, 1.0)), rows * tokens).view(rows, tokens)
    return whole[0], whole[1], mask, drawn(numbers, rows)


shares = st.sampled_from((0.0, 0.5, 0.99, 1.0))


@given(steps(), shares, shares, shares)
def test_advantages_and_targets_follow_the_recursion(
    step: tuple[Tensor, Tensor, Tensor, Tensor], gamma: float, policy: float, value: float
) -> None:
    values, rewards, mask, after = step
    found = generalised_advantages(
        values,
        rewards,
        mask,
        gamma=gamma,
        lambda_policy=policy,
        lambda_value=FixedLambda(value=value),
        after=after,
    )
    for row in range(len(mask)):
        own, earned, active = (each[row].tolist() for each in (values, rewards, mask))
        advantages, targets = table(
            [
                plain(own, earned, active, gamma, lam, after[row].item())[which]
                for which, lam in enumerate((policy, value))
            ]
        )
        torch.testing.assert_close(found.advantages[row], advantages, rtol=1e-12, atol=1e-10)
        torch.testing.assert_close(found.targets[row], targets, rtol=1e-12, atol=1e-10)


@given(steps(), st.sampled_from((float("nan"), float("inf"), -1e300)))
def test_what_is_inactive_is_not_read(
    step: tuple[Tensor, Tensor, Tensor, Tensor], junk: float
) -> None:
    values, rewards, mask, _ = step
    rules: dict[str, Any] = {"gamma": 0.9, "lambda_policy": HalfLife(), "lambda_value": 0.7}
    clean = generalised_advantages(values, rewards, mask, **rules)
    spoilt = [torch.where(mask == 1, each, junk) for each in (values, rewards)]
    found = generalised_advantages(spoilt[0], spoilt[1], mask, **rules)
    assert torch.equal(found.advantages, clean.advantages)
    assert torch.equal(found.targets, clean.targets)
    assert not clean.advantages[mask == 0].any()
    assert not clean.targets[mask == 0].any()
    wide = [torch.nn.functional.pad(each, (2, 3)) for each in (values, rewards, mask)]
    padded = generalised_advantages(wide[0], wide[1], wide[2], **rules)
    torch.testing.assert_close(padded.advantages[:, 2:-3], clean.advantages, rtol=1e-12, atol=1e-12)


@given(steps())
def test_at_lambda_1_and_0(step: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    values, rewards, mask, _ = step
    whole = generalised_advantages(values, rewards, mask)
    own = torch.where(mask == 1, values, 0.0)
    torch.testing.assert_close(whole.advantages, whole.targets - own, rtol=1e-12, atol=1e-9)
    short = generalised_advantages(values, rewards, mask, lambda_policy=0.0, lambda_value=0.0)
    for row, active in enumerate(mask.bool()):
        mine = [each[row][active] for each in (values, rewards, short.advantages)]
        following = torch.cat((mine[0][1:], torch.zeros(1)))[: len(mine[0])]
        torch.testing.assert_close(mine[2], mine[1] + following - mine[0])


def test_a_reward_at_the_end_is_the_target_everywhere() -> None:
    """To the bit, whatever the critic says: nothing is added to a value and taken off again."""
    mask = torch.tensor([[1, 1, 0, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]])
    values = torch.full((4, 5), 1 / 3)
    found = generalised_advantages(values, torch.tensor([0.1, 1.0, 7.0, -2.5]), mask)
    expected = torch.tensor([0.1, 1.0, 0.0, -2.5])[:, None] * mask
    assert torch.equal(found.targets, expected.double())


def test_a_row_that_was_cut_short_may_go_on() -> None:
    values, mask = torch.tensor([[0.5, 0.25], [0.5, 0.25]]), torch.ones(2, 2)
    nothing, after = torch.zeros(2), torch.tensor([0.0, 0.75])
    found = generalised_advantages(values, nothing, mask, lambda_policy=0.0, after=after)
    assert found.advantages.tolist() == [[-0.25, -0.25], [-0.25, 0.5]]
    assert found.targets.tolist() == [[0.0, 0.0], [0.75, 0.75]]


@pytest.mark.parametrize(
    ("length", "half", "adaptive"),
    [(1, 0.5, 0.0), (100, 0.993092, 0.8), (1000, 0.999307, 0.98), (65536, 0.99998942, 0.99969482)],
)
def test_lambdas_of_lengths(length: int, half: float, adaptive: float) -> None:
    lengths = torch.tensor([length, 0])
    assert HalfLife()(lengths)[0].item() == pytest.approx(half, abs=1e-6)
    assert LengthAdaptive()(lengths)[0].item() == pytest.approx(adaptive, abs=1e-8)
    for each in (HalfLife(), LengthAdaptive(), FixedLambda(value=0.3)):
        found = each(lengths)
        assert found.dtype == torch.float64
        assert bool(((found >= 0) & (found < 1)).all()), "of a row without tokens too"


def test_a_half_life_halves_over_the_longest_rows() -> None:
    length = 65_536
    mask, rewards = torch.ones(1, length), torch.ones(1)
    found = generalised_advantages(
        torch.zeros(1, length), rewards, mask, lambda_policy=HalfLife()
    ).advantages
    assert found[0, -1].item() == 1.0
    assert found[0, 0].item() == pytest.approx(0.5, rel=1e-4)


@given(steps())
def test_a_reward_is_put_on_the_last_active_token(
    step: tuple[Tensor, Tensor, Tensor, Tensor],
) -> None:
    _, _, mask, rewards = step
    found = at_last_active(rewards, mask)
    for row, active in enumerate(mask.bool().tolist()):
        expected = [0.0] * len(active)
        if any(active):
            expected[max(place for place, each in enumerate(active) if each)] = rewards[row].item()
        assert found[row].tolist() == expected


@given(steps())
def test_whitening_is_over_all_active_tokens(step: tuple[Tensor, Tensor, Tensor, Tensor]) -> None:
    values, _, mask, _ = step
    found = whitened(torch.where(mask == 1, values, torch.nan), mask)
    assert not found[mask == 0].any()
    picked = found[mask == 1]
    spread = values[mask == 1]
    if len(spread) < 2 or spread.max() == spread.min():
        assert picked.abs().sum() < 1e-6
    else:
        assert picked.mean().item() == pytest.approx(0.0, abs=1e-9)
        assert picked.std().item() == pytest.approx(1.0, abs=1e-6)


GOOD: dict[str, Any] = {
    "values": torch.zeros(2, 3),
    "rewards": torch.zeros(2, 3),
    "mask": torch.tensor([[1, 1, 0], [1, 0, 0]]),
}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"values": torch.zeros(2, 4)}, r"values must be \[2, 3\], got \[2, 4\]"),
        ({"rewards": torch.zeros(3)}, r"rewards must be \[2\], got \[3\]"),
        ({"rewards": torch.zeros(2, 2)}, r"rewards must be \[2, 3\], got \[2, 2\]"),
        ({"after": torch.zeros(3)}, r"after must be \[2\], got \[3\]"),
        ({"mask": torch.full((2, 3), 2)}, "only 0 and 1"),
        ({"mask": torch.ones(3)}, r"\[rows, tokens\]"),
        ({"values": torch.full((2, 3), torch.nan)}, r"values must be finite.*3 are not.*row 0"),
        ({"rewards": torch.tensor([0.0, torch.inf])}, r"rewards.*\(row 1, position 0\) is inf"),
        ({"after": torch.tensor([torch.nan, 0.0])}, r"after must be finite.*\(row 0\) is nan"),
        ({"gamma": 1.5}, "gamma: expected a number from 0 to 1"),
        ({"lambda_policy": -0.1}, "'value' must be >= 0"),
        ({"lambda_value": 1.1}, "'value' must be <= 1"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        generalised_advantages(**(GOOD | change))


def test_settings_are_checked_and_nothing_has_a_gradient() -> None:
    with pytest.raises(ValueError, match="alpha"):
        LengthAdaptive(alpha=0.0)
    values = torch.zeros(2, 3, requires_grad=True)
    found = generalised_advantages(values, torch.ones(2), GOOD["mask"])
    assert not found.advantages.requires_grad
    assert not found.targets.requires_grad
