"""Objectives, aggregation and advantages against numbers from other implementations.

The cases run as ``limite golden`` runs them. Every case of every kind is accounted for, so one that
nobody runs is a failure.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch

from limite.core.discover import load_registry
from limite.core.registry import Registry
from limite.core.train.columns import token_batch, totals_of
from limite.plugins.golden import KINDS, Case, read_vectors
from limite.plugins.golden.policy import Played, play
from limite.plugins.golden.run import DTYPES, IN_FLOAT64, run_case
from limite.plugins.objectives.cispo import CISPO
from limite.plugins.objectives.dapo import DAPO
from limite.plugins.objectives.dppo import DPPO
from limite.plugins.objectives.dr_grpo import DrGRPO
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.gspo import GSPO
from limite.plugins.objectives.reinforce import Reinforce

GOLDEN = read_vectors(Path(__file__).parents[2] / "golden" / "objectives.json")
COUNTS = {
    "group_advantage": 14,
    "overlong_penalty": 2,
    "aggregate": 10,
    "policy": 76,
    "is_weights": 9,
    "kl": 1,
    "gae": 8,
    "value_loss": 3,
    "dpo": 4,
    "topk_kd": 6,
    "is_health": 5,
    "conditional_health": 2,
    "mixed_group_probability": 1,
    "pass_at_k": 1,
    "wilson": 1,
    "paired_bootstrap_exact": 1,
    "first_finisher_share": 1,
    "soup": 2,
    "must_raise": 10,
}
NOT_INSTALLED = {"first_finisher_share"}
SPLIT = [case for case in GOLDEN["cases"] if case["id"].endswith("split_me")]
RUNS = [
    pytest.param(case, dtype, id=f"{case['id']}-{str(dtype).removeprefix('torch.')}")
    for case in GOLDEN["cases"]
    if case["kind"] not in NOT_INSTALLED
    for dtype in (DTYPES[:1] if case["kind"] in IN_FLOAT64 else DTYPES)
]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


def test_every_case_is_accounted_for() -> None:
    assert Counter(case["kind"] for case in GOLDEN["cases"]) == COUNTS
    assert sum(COUNTS.values()) == 157
    assert set(KINDS) | NOT_INSTALLED == set(COUNTS)
    assert not set(KINDS) & NOT_INSTALLED
    run = {case.id.rpartition("-")[0] for case in RUNS if case.id}
    told = {case["id"] for case in GOLDEN["cases"] if case["kind"] in NOT_INSTALLED}
    assert run | told == {case["id"] for case in GOLDEN["cases"]}


@pytest.mark.parametrize(("case", "dtype"), RUNS)
def test_it_is_reproduced(case: dict[str, Any], dtype: torch.dtype, registry: Registry) -> None:
    outcome = run_case(case, dtype, GOLDEN["tolerances"], registry)
    assert outcome.failures == ()
    assert outcome.worst is None or outcome.worst <= 1.0
    # A refusal is one thing; every number of any other case has been looked at.
    assert outcome.compared >= (1 if case["kind"] == "must_raise" else len(case["expected"]))
    if case["kind"] == "policy":
        told = len(case["expected"]["metrics"]) + len(case["expected"]) - 1
        assert outcome.compared == told


def played(case: dict[str, Any], registry: Registry) -> Played:
    running = Case(
        id=case["id"],
        kind=case["kind"],
        params=case["params"],
        inputs=case["inputs"],
        expected=case["expected"],
        dtype=torch.float64,
        tolerances=GOLDEN["tolerances"],
    )
    return play(running, registry)


def close(found: Any, wanted: Any) -> None:
    limits = GOLDEN["tolerances"]["float64"]
    wanted = torch.tensor(wanted, dtype=torch.float64)
    torch.testing.assert_close(torch.as_tensor(found, dtype=torch.float64), wanted, **limits)


@pytest.mark.parametrize("case", SPLIT, ids=[case["id"] for case in SPLIT])
def test_any_partition_of_the_rows_adds_up(case: dict[str, Any], registry: Registry) -> None:
    whole = played(case, registry)
    batch, objective, count = whole.batch, whole.objective, whole.batch.mask.shape[0]
    for parts in ([[0], [1]], [[2, 0], [1]], [[row] for row in range(count)]):
        rows = sorted({row for part in parts for row in part})
        parts = [*parts, [row for row in range(count) if row not in rows]]
        logp = batch.logp.detach().clone().requires_grad_()
        total = 0.0
        metrics: dict[str, Any] = {}
        for part in filter(None, parts):
            columns = {name: column[part] for name, column in batch.columns.items()}
            micro = token_batch(batch.mask[part], columns | {"logp": logp[part]}, batch.totals)
            loss = objective(micro)
            loss.value.backward()
            total += float(loss.value.detach())
            for name, metric in loss.metrics.items():
                metrics[name] = metrics[name].combine(metric) if name in metrics else metric
        close(total, case["expected"]["loss"])
        close(logp.grad, case["expected"]["grad_logp"])
        figure = metrics["ratio/log_ratio_saturated"].result()
        assert figure == objective(batch).metrics["ratio/log_ratio_saturated"].result()


def test_there_are_cases_to_split() -> None:
    assert len(SPLIT) == 4


def test_effective_thresholds_follow_the_divergence() -> None:
    assert DPPO().thresholds == (0.15, 0.15)
    assert DPPO(divergence="binary-kl").thresholds == (0.05, 0.05)
    assert attrs.evolve(DPPO(), delta=0.3, delta_low=0.1).thresholds == (0.1, 0.3)


def test_a_small_cap_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="rare tokens"):
        DPPO(ratio_cap=4.9)
    DPPO(ratio_cap=5.0)


def test_overflow_can_be_an_error() -> None:
    mask = torch.ones(1, 1, dtype=torch.bool)
    columns = {
        "logp": torch.zeros(1, 1),
        "behavior_logp": torch.full((1, 1), -21.0),
        "advantage": torch.ones(1),
    }
    batch = token_batch(mask, columns, totals_of(mask, response_tokens=1))
    for objective in (GRPO, DrGRPO, DAPO, DPPO, GSPO, CISPO, Reinforce):
        assert math.isfinite(objective()(batch).value)
        with pytest.raises(FloatingPointError, match="1 log-ratio"):
            objective(overflow="raise")(batch)
