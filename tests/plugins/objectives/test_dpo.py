"""DPO against numbers from another implementation, and what it does beyond them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Loss, Totals
from limite.plugins.conformance.strategies import COLUMNS, Tokens, cells, tokens
from limite.plugins.objectives.dpo import DPO
from tests.plugins.objectives.differences import require_gradient

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "objectives.json").read_text())
CASES = [case for case in GOLDEN["cases"] if case["kind"] == "dpo"]
COLUMNS_READ = {name: COLUMNS[name] for name in ("logp", "reference_logp")}
SETTINGS = [
    DPO(),
    DPO(label_smoothing=0.1),
    DPO(length_normalised=True),
    DPO(variant="ipo", beta=0.3),
]


def loss_of(objective: DPO, mask: Tensor, logp: Tensor, reference: Tensor) -> Loss:
    totals = totals_of(mask, response_tokens=9, rows_together=2)
    return objective(token_batch(mask, {"logp": logp, "reference_logp": reference}, totals))


def sides(chosen: list[float], rejected: list[float], dtype: torch.dtype) -> Tensor:
    """Summed log-probabilities as rows of one token, ``[2 P, 1]``, pairs one after the other."""
    return torch.tensor([chosen, rejected], dtype=torch.float64).T.reshape(-1, 1).to(dtype)


def test_there_are_four_cases() -> None:
    assert len(CASES) == 4


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_it_matches(case: dict[str, Any], dtype: torch.dtype) -> None:
    limits = GOLDEN["tolerances"][str(dtype).removeprefix("torch.")]
    inputs, expected = case["inputs"], case["expected"]
    logp = sides(inputs["chosen_logp"], inputs["rejected_logp"], dtype).requires_grad_()
    reference = sides(inputs["ref_chosen_logp"], inputs["ref_rejected_logp"], dtype)

    def check(actual: Any, wanted: Any) -> None:
        torch.testing.assert_close(
            torch.as_tensor(actual, dtype=torch.float64).detach(),
            torch.tensor(wanted, dtype=torch.float64),
            **limits,
        )

    objective = DPO(**case["params"])
    mask = torch.ones(logp.shape, dtype=torch.bool)
    loss = loss_of(objective, mask, logp, reference)
    torch.autograd.backward(loss.value)
    assert loss.value.dtype == dtype
    assert logp.grad is not None
    check(loss.value, expected["loss"])
    check(logp.grad[0::2, 0], expected["grad_chosen_logp"])
    check(logp.grad[1::2, 0], expected["grad_rejected_logp"])
    totals = totals_of(mask, response_tokens=1, rows_together=2)
    batch = token_batch(mask, {"logp": logp, "reference_logp": reference}, totals)
    chosen, rejected, whole = objective.rewards(batch)
    assert bool(whole.all())
    check(chosen, expected["chosen_reward"])
    check(rejected, expected["rejected_reward"])
    check(objective.pair_loss(chosen - rejected), expected["per_pair"])
    found = {name: metric.result() for name, metric in loss.metrics.items()}
    check(found["pair/accuracy"], expected["accuracy"])
    check(found["pair/margin"], expected["margin"])
    pairs = len(expected["chosen_reward"])
    check(found["pair/chosen_reward"], sum(expected["chosen_reward"]) / pairs)
    check(found["pair/rejected_reward"], sum(expected["rejected_reward"]) / pairs)
    assert found["pair/dropped"] == 0


@given(given_tokens=tokens(COLUMNS_READ, 2))
@pytest.mark.parametrize("objective", SETTINGS)
def test_it_is_the_mean_of_the_formula_over_whole_pairs(
    objective: DPO, given_tokens: Tokens
) -> None:
    mask, logp = given_tokens.mask, given_tokens.columns["logp"]
    reference = given_tokens.columns["reference_logp"]
    losses, rewards = [], []
    for pair in range(mask.shape[0] // 2):
        sums = []
        for row in (2 * pair, 2 * pair + 1):
            active = [t for t in range(mask.shape[1]) if mask[row, t]]
            total = sum(float(logp[row, t] - reference[row, t]) for t in active)
            sums.append(
                total / max(len(active), 1) if objective.length_normalised else total,
            )
        if not mask[2 * pair].any() or not mask[2 * pair + 1].any():
            continue
        gap = sums[0] - sums[1]
        h = objective.beta * gap
        rewards.append(h)
        if objective.variant == "ipo":
            losses.append((gap - 1 / (2 * objective.beta)) ** 2)
            continue

        def softplus(x: float) -> float:
            return max(x, 0.0) + math.log1p(math.exp(-abs(x)))

        s = objective.label_smoothing
        losses.append((1 - s) * softplus(-h) + s * softplus(h))
    loss = loss_of(objective, mask, logp.clone().requires_grad_(), reference)
    count = len(losses)
    assert float(loss.value.detach()) == pytest.approx(sum(losses) / max(count, 1), rel=1e-12)
    found = {name: metric.result() for name, metric in loss.metrics.items()}
    assert found["pair/dropped"] == mask.shape[0] // 2 - count
    if not count:
        assert found["pair/accuracy"] is found["pair/margin"] is None
        return
    assert found["pair/margin"] == pytest.approx(sum(rewards) / count, rel=1e-12, abs=1e-12)


smooth = st.sampled_from((-0.5, -0.55, -0.8, -1.3, -2.0))


@given(logp=cells(4, 3, smooth), reference=cells(4, 3, smooth))
@pytest.mark.parametrize("objective", SETTINGS)
def test_gradients_match_finite_differences(
    objective: DPO, logp: Tensor, reference: Tensor
) -> None:
    mask = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 1]]).bool()
    require_gradient(lambda at: loss_of(objective, mask, at, reference).value, logp)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_margins_of_thousands_keep_loss_and_gradient_finite(dtype: torch.dtype) -> None:
    mask = torch.ones(4, 1).bool()
    for smoothing in (0.0, 0.3):
        logp = torch.tensor([[-5.0], [-9e3], [-9e3], [-5.0]], dtype=dtype).requires_grad_()
        loss = loss_of(
            DPO(beta=1.0, label_smoothing=smoothing), mask, logp, torch.zeros(4, 1, dtype=dtype)
        )
        torch.autograd.backward(loss.value)
        assert float(loss.value.detach()) == pytest.approx(8995.0 / 2, rel=1e-6)
        assert logp.grad is not None
        slopes = [smoothing, -smoothing, smoothing - 1, 1 - smoothing]
        assert logp.grad[:, 0].tolist() == pytest.approx([slope / 2 for slope in slopes])


def test_ties_are_not_right() -> None:
    mask = torch.ones(4, 1).bool()
    logp = torch.tensor([[-1.0], [-1.0], [-1.0], [-2.0]]).requires_grad_()
    loss = loss_of(DPO(), mask, logp, torch.full((4, 1), -1.0))
    assert loss.metrics["pair/accuracy"].result() == 0.5


def test_a_pair_without_a_side_is_left_out_and_counted() -> None:
    mask = torch.tensor([[1, 1], [0, 0], [1, 0], [1, 1]]).bool()
    logp = torch.full((4, 2), -1.0).requires_grad_()
    reference = torch.full((4, 2), -2.0)
    loss = loss_of(DPO(), mask, logp, reference)
    torch.autograd.backward(loss.value)
    alone = torch.full((2, 2), -1.0).requires_grad_()
    expected = loss_of(DPO(), mask[2:], alone, reference[2:])
    torch.autograd.backward(expected.value)
    assert logp.grad is not None
    assert alone.grad is not None
    assert float(loss.value.detach()) == float(expected.value.detach()) > 0
    assert loss.metrics["pair/dropped"].result() == 1
    assert not logp.grad[:2].any()
    assert torch.equal(logp.grad[2:], alone.grad)


def test_rows_and_totals_that_make_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="pairs, got 3"):
        totals_of(torch.ones(3, 1).bool(), response_tokens=1, rows_together=2)
    columns = {"logp": torch.zeros(3, 1), "reference_logp": torch.zeros(3, 1)}
    totals = Totals(tokens=3, active_rows=3, rows=3, response_tokens=1, pairs=1)
    with pytest.raises(ValueError, match="a preferred and another one, got 3"):
        DPO()(token_batch(torch.ones(3, 1), columns, totals))
    mask = torch.ones(2, 1).bool()
    columns = {name: column[:2] for name, column in columns.items()}
    with pytest.raises(ValueError, match="1 whole pairs and its totals say 0"):
        DPO()(token_batch(mask, columns, totals_of(mask, response_tokens=1)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 0.0}, "beta"),
        ({"beta": float("inf")}, "beta"),
        ({"label_smoothing": 0.5}, "label_smoothing"),
        ({"label_smoothing": -0.1}, "label_smoothing"),
        ({"variant": "ipp"}, "did you mean 'ipo'"),
        ({"variant": "ipo", "label_smoothing": 0.1}, "belongs to the variant 'sigmoid'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DPO(**settings)
