"""Weights against a mismatch of learner and sampler: golden numbers, bounds, statistics."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.train.correction import Correction

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "objectives.json").read_text())
CASES = [case for case in GOLDEN["cases"] if case["kind"] == "is_weights"]
nats = st.floats(-40.0, 40.0)


def test_every_golden_case_is_here() -> None:
    assert len(CASES) == 9


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_weights_match(case: dict[str, Any]) -> None:
    params = case["params"]
    correction = Correction(
        level=params["level"].replace("_", "-"),
        mode=params["mode"],
        upper=params["upper"],
        lower=params["lower"],
    )
    mask = torch.tensor(case["inputs"]["mask"]).bool()
    ratio = torch.tensor(case["inputs"]["log_ratio"], dtype=torch.float64)
    raw = correction.raw(ratio.masked_fill(~mask, torch.nan), mask)
    torch.testing.assert_close(
        correction.applied(raw),
        torch.tensor(case["expected"]["weights"], dtype=torch.float64),
        rtol=1e-9,
        atol=1e-12,
    )


@given(
    ratio=st.lists(nats, min_size=6, max_size=6),
    lower=st.floats(0.1, 1.0),
    upper=st.floats(1.0, 10.0),
    level=st.sampled_from(["token", "sequence", "sequence-mean"]),
)
def test_weights_are_finite_bounded_and_one_where_nothing_differs(
    ratio: list[float], lower: float, upper: float, level: str
) -> None:
    mask = torch.tensor([[1, 1, 0], [1, 0, 1]]).bool()
    values = torch.tensor(ratio).reshape(2, 3)
    truncated = Correction(level=level, upper=upper)
    masked = Correction(level=level, mode="mask", lower=lower, upper=upper)
    raw = truncated.raw(values, mask)
    assert bool(raw.isfinite().all())
    assert not raw[~mask].any()
    assert float(truncated.applied(raw).max()) <= upper
    kept = masked.applied(raw)
    assert bool(((kept == 0) | ((kept >= lower) & (kept <= upper))).all())
    assert torch.equal(truncated.applied(truncated.raw(values * 0, mask)), mask.double())
    if level != "token":
        assert all(
            len(set(row[active].tolist())) == 1 for row, active in zip(raw, mask, strict=True)
        )


def test_statistics_tell_raw_from_applied_weights() -> None:
    correction = Correction(mode="mask", lower=0.5, upper=2.0)
    mask = torch.tensor([[1, 1, 1, 0]]).bool()
    raw = correction.raw(torch.tensor([[math.log(4.0), 0.0, math.log(0.25), 9.0]]), mask)
    applied = correction.applied(raw)
    found = {
        name: metric.result() for name, metric in correction.metrics(raw, applied, mask).items()
    }
    assert found == pytest.approx(
        {
            "correction/raw_mean": 1.75,
            "correction/raw_min": 0.25,
            "correction/raw_max": 4.0,
            "correction/applied_mean": 1 / 3,
            "correction/applied_min": 0.0,
            "correction/applied_max": 1.0,
            "correction/above_share": 1 / 3,
            "correction/below_share": 1 / 3,
        }
    )
    nothing = torch.zeros(1, 4).bool()
    empty = correction.metrics(raw, applied, nothing)
    assert {metric.result() for metric in empty.values()} == {None}


def test_the_mean_counts_tokens_or_responses() -> None:
    rows = [[2.0, 2.0, 2.0], [0.5], []]
    assert Correction().mean(rows) == pytest.approx(6.5 / 4)
    assert Correction(level="sequence").mean(rows) == pytest.approx(1.25)
    assert Correction().mean([[]]) == 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "mask"}, "'lower' must be given"),
        ({"lower": 0.5}, "for mode 'mask'"),
        ({"mode": "mask", "lower": 3.0}, "'lower' must be at most 'upper', got 3.0 and 2.0"),
        ({"upper": 0.0}, "upper"),
        ({"level": "row"}, "must be one of 'token', 'sequence', 'sequence-mean'"),
    ],
)
def test_contradictions_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Correction(**settings)
