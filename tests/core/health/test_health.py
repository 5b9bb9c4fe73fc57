"""Health figures, against golden numbers and at the edges."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import RunFailed
from limite.core.health.conditional import conditional_health
from limite.core.health.contrast import contrast_shares, is_flat, mixed_group_probability
from limite.core.health.gates import GateVerdict, all_passed, ratio_gates
from limite.core.health.limits import HealthLimits
from limite.core.health.numerics import check_gradient_norm, check_loss
from limite.core.health.ratios import RatioSums, ratio_health
from limite.core.types import Answer, Group, Problem

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "objectives.json").read_text())
CASES = {
    kind: [case for case in GOLDEN["cases"] if case["kind"] == kind]
    for kind in ("is_health", "conditional_health", "mixed_group_probability")
}
TIGHT = GOLDEN["tolerances"]["float64"]


def each(kind: str) -> Any:
    return pytest.mark.parametrize("case", CASES[kind], ids=[case["id"] for case in CASES[kind]])


def close(actual: float | None, expected: float | None) -> None:
    if expected is None:
        assert actual is None
    else:
        assert actual == pytest.approx(expected, rel=TIGHT["rtol"], abs=TIGHT["atol"])


def test_every_case_is_covered() -> None:
    counts = Counter(case["kind"] for case in GOLDEN["cases"])
    assert {kind: len(cases) for kind, cases in CASES.items()} == {
        "is_health": 5,
        "conditional_health": 2,
        "mixed_group_probability": 1,
    }
    assert all(counts[kind] == len(cases) for kind, cases in CASES.items())


@each("is_health")
def test_ratio_health_matches(case: dict[str, Any]) -> None:
    inputs, expected = case["inputs"], case["expected"]
    logp = torch.tensor(inputs["train_logp"], dtype=torch.float64)
    behavior = torch.tensor(inputs["behaviour_logp"], dtype=torch.float64)
    health = ratio_health(logp, behavior, torch.tensor(inputs["mask"]))
    for name in (
        "tokens",
        "clipped_token_fraction",
        "effective_sample_fraction",
        "mean_weight",
        "min_ratio",
        "max_ratio",
    ):
        close(getattr(health, name), expected[name])
    assert all_passed(ratio_gates(health, HealthLimits())) is expected["passed"]


@each("is_health")
def test_parts_of_a_batch_add_up(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    columns = [
        torch.tensor(inputs[name], dtype=torch.float64).flatten()
        for name in ("train_logp", "behaviour_logp", "mask")
    ]
    sums = RatioSums()
    for start in range(0, columns[0].numel(), 37):
        sums = sums + RatioSums.of(*(column[start : start + 37] for column in columns))
    health = sums.health()
    for name in ("tokens", "clipped_token_fraction", "effective_sample_fraction", "mean_weight"):
        close(getattr(health, name), case["expected"][name])


def test_one_enormous_ratio_cannot_overflow() -> None:
    logp = torch.tensor([0.0, -1.0, -2.0])
    behavior = torch.tensor([-1000.0, -1.0, -2.0])
    health = ratio_health(logp, behavior, torch.ones(3))
    assert health.effective_sample_fraction == pytest.approx(1 / 3)
    assert health.max_ratio == math.inf
    assert not all_passed(ratio_gates(health, HealthLimits()))


@given(poison=st.sampled_from([math.nan, math.inf, -math.inf, 1e30]))
def test_masked_tokens_stay_out_of_health(poison: float) -> None:
    logp = torch.tensor([[-1.0, poison], [poison, -2.0]])
    behavior = torch.tensor([[-1.1, -0.3], [poison, -2.0]])
    mask = torch.tensor([[1, 0], [0, 1]])
    clean = ratio_health(torch.tensor([-1.0, -2.0]), torch.tensor([-1.1, -2.0]), torch.ones(2))
    assert ratio_health(logp, behavior, mask) == clean


def test_a_figure_that_is_not_a_number_never_passes() -> None:
    health = ratio_health(torch.tensor([math.nan]), torch.tensor([-1.0]), torch.ones(1))
    verdicts = ratio_gates(health, HealthLimits(effective_sample_fraction=0.0))
    assert [verdict.passed for verdict in verdicts[1:]] == [False, False]


@each("conditional_health")
def test_conditional_health_matches(case: dict[str, Any]) -> None:
    behavior, learner = (
        torch.tensor(case["inputs"][name], dtype=torch.float64)
        for name in ("behaviour_probs", "train_probs")
    )
    health, expected = conditional_health(behavior, learner), case["expected"]
    for actual, name in (
        (health.mass_behavior, "mass_behaviour_per_position"),
        (health.mass_learner, "mass_learner_per_position"),
        (health.effective_sample_fraction, "ess_per_position"),
    ):
        torch.testing.assert_close(
            actual, torch.tensor(expected[name], dtype=torch.float64), **TIGHT
        )
    figures = {verdict.name: verdict.figure for verdict in health.gates()}
    close(figures["conditional/mean_mass_behavior"], expected["mean_mass_behaviour"])
    close(figures["conditional/mean_mass_learner"], expected["mean_mass_learner"])
    close(figures["conditional/min_effective_sample_fraction"], expected["min_ess"])
    close(figures["conditional/largest_sum_error"], expected["max_norm_error"])
    assert all_passed(health.gates()) is expected["passed"]


def test_a_token_that_could_not_be_sampled_fails_the_conditional_check() -> None:
    health = conditional_health(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.99, 0.01]]))
    assert float(health.effective_sample_fraction) == 0.0
    assert float(health.mass_learner) == pytest.approx(0.01)
    assert not all_passed(health.gates())
    nothing = conditional_health(torch.ones(0, 2), torch.ones(0, 2))
    assert not any(verdict.passed for verdict in nothing.gates())


@each("mixed_group_probability")
def test_mixed_group_probability_matches(case: dict[str, Any]) -> None:
    for size, row in zip(
        case["inputs"]["group_size"], case["expected"]["probability"], strict=True
    ):
        for rate, expected in zip(case["inputs"]["pass_rate"], row, strict=True):
            close(mixed_group_probability(rate, size), expected)


def group(rewards: list[float | None], correct: list[bool]) -> Group:
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    return Group(problem=problem, responses=[], rewards=rewards, correct=correct)


def test_contrast_goes_by_reward_and_extremes_by_accuracy() -> None:
    shares = contrast_shares(
        [
            group([1.0, 0.0], [True, False]),
            group([-0.5, -0.1], [False, False]),  # shaped: contrast although all wrong
            group([1.0, 1.0], [True, True]),
            group([0.0, None], [False, False]),
            group([None, None], [False, False]),
        ]
    )
    assert shares.groups == 5
    assert shares.reward_contrast_share == pytest.approx(0.4)
    assert shares.no_contrast_share == pytest.approx(0.6)
    assert shares.all_correct_share == pytest.approx(0.2)
    assert shares.all_wrong_share == pytest.approx(0.4)
    assert shares.unscored_share == pytest.approx(0.3)
    assert contrast_shares([]).reward_contrast_share is None


def test_rounding_is_not_contrast() -> None:
    assert is_flat([0.1 + 0.2, 0.3])
    assert is_flat([1.0, None])
    assert not is_flat([1.0, 1.00001])
    assert is_flat([1e9, 1e9 + 1e-4])


def test_a_gate_says_its_limit() -> None:
    health = ratio_health(torch.tensor([-1.0]), torch.tensor([-1.0]), torch.ones(1))
    assert [verdict.as_dict() for verdict in ratio_gates(health, HealthLimits())] == [
        {
            "gate": "ratio/clipped_token_fraction",
            "figure": 0.0,
            "limit": "<= 0.05",
            "passed": True,
        },
        {
            "gate": "ratio/effective_sample_fraction",
            "figure": 1.0,
            "limit": ">= 0.95",
            "passed": True,
        },
        {"gate": "ratio/mean_weight", "figure": 1.0, "limit": "0.5 .. 2.0", "passed": True},
    ]
    assert not GateVerdict(name="x/y", figure=0.05, below=0.05).passed
    assert GateVerdict(name="x/y", figure=0.05, high=0.05).passed
    assert not GateVerdict(name="x/y", figure=None, high=0.05).passed


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_end_the_run(value: float) -> None:
    with pytest.raises(RunFailed, match="loss of update 3"):
        check_loss(value, where="update 3")
    with pytest.raises(RunFailed, match="gradient norm"):
        check_gradient_norm(value)
    check_loss(1e30)
    check_gradient_norm(0.0)
