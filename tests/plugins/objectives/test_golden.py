"""Objectives, aggregation and advantages against numbers from other implementations.

Every case of the kinds named here must be reproduced, so one that nobody runs is a failure.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch

from limite.core.health.contrast import contrast_shares, is_flat
from limite.core.train.columns import token_batch, totals_of
from limite.plugins.advantages.group import GroupAdvantage
from limite.plugins.objectives.cispo import CISPO
from limite.plugins.objectives.dapo import DAPO
from limite.plugins.objectives.dppo import DPPO
from limite.plugins.objectives.dr_grpo import DrGRPO
from limite.plugins.objectives.grpo import GRPO
from limite.plugins.objectives.gspo import GSPO
from limite.plugins.objectives.kl import ESTIMATORS, kl_estimate
from limite.plugins.objectives.reinforce import Reinforce

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "objectives.json").read_text())
PRESETS = {
    "grpo": GRPO,
    "dapo": DAPO,
    "dr_grpo": DrGRPO,
    "gspo": GSPO,
    "cispo": CISPO,
    "dppo_binary_tv": DPPO,
    "dppo_binary_kl": DPPO,
}
AGGREGATIONS = {
    "token_mean": "token-mean",
    "seq_mean_token_mean": "sequence-mean-token-mean",
    "seq_mean_token_sum": "sequence-mean-token-sum",
    "constant": "constant",
    "token_sum": "token-sum",
}
METRICS = {"mean_ratio": "ratio/mean", "approx_kl_k1": "kl/behavior_nats"}
COUNTS = {
    "tokens": lambda batch: batch.totals.tokens,
    "sequences": lambda batch: batch.totals.active_rows,
}
CASES = {
    kind: [case for case in GOLDEN["cases"] if case["kind"] == kind]
    for kind in ("policy", "aggregate", "group_advantage", "must_raise", "kl")
}
DTYPES = [torch.float64, torch.float32]


def each(kind: str) -> Any:
    return pytest.mark.parametrize("case", CASES[kind], ids=[case["id"] for case in CASES[kind]])


def tensor(values: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    def number(value: Any) -> Any:
        return [number(item) for item in value] if isinstance(value, list) else float(value)

    return torch.tensor(number(values), dtype=torch.float64).to(dtype)


def check(actual: Any, expected: Any, dtype: torch.dtype = torch.float64) -> None:
    limits = GOLDEN["tolerances"][str(dtype).removeprefix("torch.")]
    torch.testing.assert_close(
        torch.as_tensor(actual, dtype=torch.float64).detach(), tensor(expected), **limits
    )


SETTINGS = (
    "eps_low",
    "eps_high",
    "dual_clip",
    "delta_low",
    "delta_high",
    "ratio_cap",
    "ratio_min",
    "ratio_max",
)


def advantage_of(params: dict[str, Any]) -> GroupAdvantage:
    return GroupAdvantage(
        baseline=params["baseline"].replace("_", "-"),
        scale=params["scale"],
        std_ddof=params.get("std_ddof", 1),
        std_eps=params.get("std_eps", 1e-6),
    )


def objective_of(params: dict[str, Any]) -> Any:
    settings: dict[str, Any] = {}
    for name in SETTINGS:
        if name in params:
            settings[name] = params[name]
    if "constant" in params:
        settings["constant_tokens"] = params["constant"]
    if "divergence" in params:
        settings["divergence"] = params["divergence"].replace("_", "-")
    kind = PRESETS[params["preset"]]
    if "aggregation" in params:
        settings["aggregation"] = AGGREGATIONS[params["aggregation"]]
    small_cap = params.get("ratio_cap", 20.0) < 5.0
    with pytest.warns(UserWarning, match="rare tokens") if small_cap else contextlib.nullcontext():
        return kind(**settings)


def run_policy(case: dict[str, Any], make_group: Any, dtype: torch.dtype) -> Any:
    params, inputs = case["params"], case["inputs"]
    advantage = advantage_of(params)
    advantages = torch.cat([advantage(make_group(tensor(r).tolist())) for r in inputs["rewards"]])
    mask = tensor(inputs["mask"])
    logp = tensor(inputs["logp"], dtype).requires_grad_()
    columns = {
        "logp": logp,
        "behavior_logp": tensor(inputs["behaviour_logp"], dtype),
        "advantage": advantages,
    }
    if "topk_logp" in inputs:
        columns["topk_logp"] = tensor(inputs["topk_logp"], dtype)
        columns["behavior_topk_logp"] = tensor(inputs["behaviour_topk_logp"], dtype)
    objective = objective_of(params)
    batch = token_batch(mask, columns, totals_of(mask, response_tokens=1))
    return advantages, batch, objective, objective(batch), logp


def test_every_case_is_covered() -> None:
    assert {case["params"].get("preset") for case in CASES["policy"]} == set(PRESETS)
    assert {case["params"]["preset"] for case in CASES["must_raise"]} <= set(PRESETS)
    counts = Counter(case["kind"] for case in GOLDEN["cases"])
    assert len(CASES["aggregate"]) == counts["aggregate"] == 10
    assert len(CASES["group_advantage"]) == counts["group_advantage"] == 14
    assert len(CASES["must_raise"]) == counts["must_raise"] == 10
    assert len(CASES["policy"]) == counts["policy"] == 76
    assert len(CASES["kl"]) == counts["kl"] == 1


@each("group_advantage")
def test_advantages_match(case: dict[str, Any], make_group: Any) -> None:
    expected = case["expected"]
    groups = [make_group(rewards) for rewards in case["inputs"]["rewards"]]
    advantage = advantage_of(case["params"])
    for index, group in enumerate(groups):
        check(advantage(group), expected["advantages"][index])
        assert is_flat(group.rewards) is not expected["contrast"][index]
    shares = contrast_shares(groups)
    assert shares.reward_contrast_share == pytest.approx(expected["contrast_share"], rel=1e-12)
    assert shares.no_contrast_share == pytest.approx(expected["no_contrast_share"], rel=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@each("aggregate")
def test_aggregation_matches(case: dict[str, Any], dtype: torch.dtype) -> None:
    params, mask = case["params"], tensor(case["inputs"]["mask"])
    values = tensor(case["inputs"]["per_token_loss"], dtype).requires_grad_()
    batch = token_batch(mask, {}, totals_of(mask, response_tokens=1))
    loss = batch.aggregate(
        values,
        AGGREGATIONS[params["mode"]],  # type: ignore[arg-type]
        constant=params["constant"],
        rows=params["rows"] or "active",
    )
    loss.backward()
    check(loss, case["expected"]["loss"], dtype)
    check(values.grad, case["expected"]["weights"], dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@each("policy")
def test_objective_matches(case: dict[str, Any], dtype: torch.dtype, make_group: Any) -> None:
    expected = case["expected"]
    advantages, batch, objective, loss, logp = run_policy(case, make_group, dtype)
    loss.value.backward()
    check(advantages, expected["advantages"])
    assert loss.value.dtype == dtype
    check(loss.value, expected["loss"], dtype)
    check(logp.grad, expected["grad_logp"], dtype)
    assert not logp.grad[~batch.mask].any()
    if isinstance(objective, DPPO):
        check(objective.keep(batch) & batch.mask, expected["keep"])
        distance = objective.distance(batch)
        check(distance.masked_fill(~batch.mask, 0.0), expected["divergence"], dtype)
    for name, value in expected["metrics"].items():
        if name in COUNTS:
            assert value == COUNTS[name](batch)
            continue
        figure = loss.metrics[METRICS.get(name, f"ratio/{name}")].result()
        if value is None:
            assert figure is None
        else:
            check(figure, value, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@each("kl")
def test_kl_estimators_match(case: dict[str, Any], dtype: torch.dtype) -> None:
    mask = tensor(case["inputs"]["mask"]).bool()
    logp, reference = (tensor(case["inputs"][name], dtype) for name in ("logp", "reference_logp"))
    for name in ESTIMATORS:
        estimate = kl_estimate(logp, reference, name).masked_fill(~mask, 0.0)
        check(estimate, case["expected"][name], dtype)


@each("must_raise")
def test_invalid_input_raises(case: dict[str, Any], make_group: Any) -> None:
    with pytest.raises((ValueError, FloatingPointError)):
        run_policy(case, make_group, torch.float64)


@pytest.mark.parametrize("case", [c for c in CASES["policy"] if c["id"].endswith("split_me")])
def test_any_partition_of_the_rows_adds_up(case: dict[str, Any], make_group: Any) -> None:
    advantages, whole, objective, _, _ = run_policy(case, make_group, torch.float64)
    for parts in ([[0], [1]], [[2, 0], [1]], [[row] for row in range(len(advantages))]):
        rows = sorted({row for part in parts for row in part})
        parts = [*parts, [row for row in range(len(advantages)) if row not in rows]]
        logp = whole.logp.detach().clone().requires_grad_()
        total = 0.0
        metrics: dict[str, Any] = {}
        for part in filter(None, parts):
            columns = {name: column[part] for name, column in whole.columns.items()}
            micro = token_batch(whole.mask[part], columns | {"logp": logp[part]}, whole.totals)
            loss = objective(micro)
            loss.value.backward()
            total += float(loss.value.detach())
            for name, metric in loss.metrics.items():
                metrics[name] = metrics[name].combine(metric) if name in metrics else metric
        check(total, case["expected"]["loss"])
        check(logp.grad, case["expected"]["grad_logp"])
        figure = metrics["ratio/log_ratio_saturated"].result()
        assert figure == objective(whole).metrics["ratio/log_ratio_saturated"].result()


def test_effective_thresholds_follow_the_divergence() -> None:
    assert DPPO().thresholds == (0.15, 0.15)
    assert DPPO(divergence="binary-kl").thresholds == (0.05, 0.05)
    assert attrs.evolve(DPPO(), delta=0.3, delta_low=0.1).thresholds == (0.1, 0.3)


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
