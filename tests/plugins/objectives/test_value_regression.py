"""What a critic is fitted by: stored numbers of another implementation, kinds, and metrics."""

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

from limite.core.explained_variance import ExplainedVariance
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Loss, Metric
from limite.plugins.conformance.objective import objective_laws
from limite.plugins.conformance.strategies import cells
from limite.plugins.objectives.value_regression import ValueRegression

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "objectives.json").read_text())
CASES = [case for case in GOLDEN["cases"] if case["kind"] == "value_loss"]


def batch_of(mask: Any, value: Tensor, **columns: Any) -> Any:
    active = torch.as_tensor(mask)
    whole = {"value": value, **{name: torch.as_tensor(each) for name, each in columns.items()}}
    return token_batch(active, whole, totals_of(active, response_tokens=8))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_golden(case: dict[str, Any], dtype: torch.dtype) -> None:
    params, inputs, expected = case["params"], case["inputs"], case["expected"]
    close = GOLDEN["tolerances"][str(dtype).removeprefix("torch.")]
    value = torch.tensor(inputs["values"], dtype=dtype, requires_grad=True)
    objective = ValueRegression(
        clip=params["clip"], aggregation=params["aggregation"].replace("_", "-")
    )
    batch = batch_of(
        inputs["mask"],
        value,
        value_target=torch.tensor(inputs["targets"], dtype=dtype),
        old_value=torch.tensor(inputs["old_values"], dtype=dtype),
    )
    loss = objective(batch)
    torch.autograd.backward(loss.value)
    assert loss.value.dtype == dtype
    wanted = torch.tensor(expected["loss"], dtype=dtype)
    torch.testing.assert_close(loss.value.detach(), wanted, **close)
    gradient = torch.tensor(expected["grad_pred"], dtype=dtype)
    torch.testing.assert_close(value.grad, gradient, **close)
    explained = loss.metrics["value/explained_variance"].result()
    if expected["explained_variance"] is None:
        assert explained is None
    else:
        assert explained == pytest.approx(
            expected["explained_variance"], rel=close["rtol"], abs=close["atol"]
        )


def test_every_golden_case_is_there() -> None:
    assert len(CASES) == 3


LISTS = {
    "value": lambda rows, width: cells(rows, width * 5, st.sampled_from((0.0, -2.0, 3.5, 0.7))).map(
        lambda flat: flat.reshape(rows, width, 5)
    )
}
KINDS: dict[str, tuple[ValueRegression, dict[str, Any]]] = {
    "clip": (ValueRegression(clip=0.2), {}),
    "bce": (ValueRegression(kind="bce"), {}),
    "bins": (ValueRegression(kind="bins", bins=5, high=1.5), LISTS),
    "rows": (ValueRegression(aggregation="sequence-mean-token-mean"), {}),
}
LAWS = [
    pytest.param(law, id=f"{kind}-{name}")
    for kind, (objective, columns) in KINDS.items()
    for name, law in objective_laws(objective, columns).items()
]


@pytest.mark.parametrize("law", LAWS)
def test_every_kind_keeps_the_laws(law: Any) -> None:
    law()


def outcome(objective: ValueRegression, output: Tensor, targets: list[float]) -> Loss:
    mask = torch.ones(1, len(targets))
    loss: Loss = objective(batch_of(mask, output, value_target=[targets]))
    return loss


def test_the_cross_entropy_of_a_logit_is_the_textbook_one() -> None:
    logits = torch.tensor([[-3.0, 0.0, 0.5, 80.0, -80.0]], dtype=torch.float64, requires_grad=True)
    targets = [0.0, 1.0, 0.25, 1.0, 0.0]
    loss = outcome(ValueRegression(kind="bce"), logits, targets)
    torch.autograd.backward(loss.value)
    chances = logits.detach().sigmoid()[0]
    by_hand = [
        -(t * math.log(p) if t else 0.0) - ((1 - t) * math.log1p(-p) if t < 1 else 0.0)
        for p, t in zip(chances.tolist(), targets, strict=True)
    ]
    assert loss.value.item() == pytest.approx(sum(by_hand) / 5, rel=1e-12)
    assert logits.grad is not None
    expected = (chances - torch.tensor(targets, dtype=torch.float64)) / 5
    torch.testing.assert_close(logits.grad[0], expected, rtol=1e-12, atol=1e-15)
    assert loss.metrics["value/mean"].result() == pytest.approx(chances.mean().item())


def test_bins_draw_towards_the_two_around_a_target() -> None:
    objective = ValueRegression(kind="bins", bins=5, low=-1.0, high=1.0)
    output = torch.zeros(1, 2, 5, dtype=torch.float64, requires_grad=True)
    loss = outcome(objective, output, [0.25, 1.0])
    torch.autograd.backward(loss.value)
    assert loss.value.item() == pytest.approx(math.log(5))
    # 0.25 lies half way between 0 and 0.5; 1 is a bin of its own.
    shares = torch.tensor([[0, 0, 0.5, 0.5, 0], [0, 0, 0, 0, 1.0]], dtype=torch.float64)
    assert output.grad is not None
    torch.testing.assert_close(output.grad[0], (0.2 - shares) / 2)
    assert objective.value_of(output).abs().max() < 1e-12
    best = shares[0].log().clamp(min=-200.0)
    assert objective.value_of(best).item() == pytest.approx(0.25)


@pytest.mark.parametrize("value", [0.0, 0.02, 0.5, 0.97, 1.0])
@pytest.mark.parametrize("kind", ["mse", "bce", "bins"])
def test_first_outputs_stand_for_a_value(kind: str, value: float) -> None:
    objective = ValueRegression(kind=kind)
    first = torch.tensor(objective.first_outputs(value), dtype=torch.float64)
    assert len(first) == objective.outputs
    assert bool(first.isfinite().all())
    said = objective.value_of(first if kind == "bins" else first[0])
    assert said.item() == pytest.approx(value, abs=1e-9 if 0 < value < 1 else 2e-3)


@pytest.mark.parametrize("kind", ["bce", "bins"])
def test_returns_out_of_range_are_refused(kind: str) -> None:
    objective = ValueRegression(kind=kind, bins=3)
    shape = (1, 2, 3) if kind == "bins" else (1, 2)
    with pytest.raises(ValueError, match=f"kind '{kind}' takes returns from 0 to 1: 1 are not"):
        outcome(objective, torch.zeros(shape), [0.5, -0.25])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "bce", "clip": 0.2}, "'clip' is for kind 'mse', not for 'bce'"),
        ({"low": 1.0, "high": 1.0}, "'low' must be below 'high'"),
        ({"kind": "mae"}, "'kind' must be one of 'mse', 'bce', 'bins'"),
        ({"clip": 0.0}, "clip"),
    ],
)
def test_contradictions_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ValueRegression(**settings)


numbers = st.lists(
    st.tuples(*[st.sampled_from((0.0, 1.0, -3.0, 0.1, 1e6, 1e6 + 1))] * 2), max_size=9
)


@given(numbers, st.lists(st.integers(0, 2), min_size=9, max_size=9))
def test_explained_variance_of_parts_is_that_of_the_whole(
    pairs: list[tuple[float, float]], labels: list[int]
) -> None:
    def of(some: list[tuple[float, float]]) -> ExplainedVariance:
        table = torch.tensor(some, dtype=torch.float64).reshape(-1, 2)
        return ExplainedVariance.of(table[:, 0], table[:, 1])

    whole = of(pairs)
    parts = [
        of([pair for pair, label in zip(pairs, labels, strict=False) if label == part])
        for part in range(3)
    ]
    together = parts[0].combine(parts[1]).combine(parts[2])
    for name in ("count", "value", "weight", "mean_error", "mean_target"):
        assert getattr(together, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-9)
    targets = {target for _, target in pairs}
    if len(targets) < 2:
        assert whole.result() is together.result() is None
    else:
        table = torch.tensor(pairs, dtype=torch.float64)
        error = table[:, 1] - table[:, 0]
        plain = 1 - error.var(correction=0) / table[:, 1].var(correction=0)
        assert whole.result() == pytest.approx(plain.item(), rel=1e-6, abs=1e-9)


def test_explained_variance_combines_with_its_own_kind_alone() -> None:
    own = ExplainedVariance.of(torch.zeros(2), torch.ones(2))
    with pytest.raises(ValueError, match="explained variance with a sum"):
        own.combine(Metric(how="sum", value=1.0))
