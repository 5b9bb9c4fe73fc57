"""What a batch guarantees to every objective."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Metric, TokenBatch, Totals

MASK = torch.tensor([[1, 1, 0], [0, 1, 0]])
TOTALS = Totals(tokens=3, active_rows=2, rows=2, response_tokens=3)


def make(**columns: torch.Tensor) -> TokenBatch:
    return token_batch(MASK, columns, TOTALS)


@given(poison=st.sampled_from([math.nan, math.inf, -math.inf, 1e30, 5.0]))
def test_inactive_positions_are_replaced_and_get_no_gradient(poison: float) -> None:
    logp = torch.full((2, 3), -1.0).masked_fill(MASK == 0, poison).requires_grad_()
    batch = make(logp=logp, behavior_logp=logp.detach(), advantage=torch.tensor([1.0, 2.0]))
    assert batch.logp[MASK == 0].tolist() == [0.0, 0.0, 0.0]
    batch.logp.exp().log().square().sum().backward()
    assert logp.grad is not None
    assert logp.grad[MASK == 0].tolist() == [0.0, 0.0, 0.0]
    assert logp.grad[MASK == 1].tolist() == [-2.0, -2.0, -2.0]


def test_an_advantage_of_each_row_reaches_its_tokens() -> None:
    batch = make(logp=torch.zeros(2, 3), advantage=torch.tensor([2.0, -1.0]))
    assert batch.advantage.tolist() == [[2.0, 2.0, 2.0], [-1.0, -1.0, -1.0]]
    assert batch.advantage.stride() == (1, 0)  # seen at every token, held once


@pytest.mark.parametrize("value", [math.nan, math.inf, 3.0])
def test_what_a_row_without_tokens_has_is_replaced(value: float) -> None:
    given = {"logp": torch.zeros(2, 3), "advantage": torch.tensor([2.0, value])}
    batch = token_batch(torch.tensor([[1, 0, 0], [0, 0, 0]]), given, TOTALS)
    assert batch.advantage.tolist() == [[2.0] * 3, [0.0] * 3]


def test_a_value_for_each_row_keeps_its_gradient() -> None:
    value = torch.tensor([1.0, 2.0], requires_grad=True)
    batch = make(value=value)
    assert batch.value.tolist() == [[1.0, 1.0, 0.0], [0.0, 2.0, 0.0]]
    batch.value.sum().backward()
    assert value.grad is not None
    assert value.grad.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("name", ["logp", "behavior_logp", "reference_logp"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_broken_log_probability_is_named(name: str, value: float) -> None:
    column = torch.full((2, 3), -1.0)
    column[1, 1] = value
    with pytest.raises(FloatingPointError, match=rf"'{name}'.*: 1 are not.*\(row 1, position 1\)"):
        make(**{name: column})


def test_a_positive_log_probability_is_named() -> None:
    column = torch.full((2, 3), -1.0)
    column[0] = 0.5
    with pytest.raises(ValueError, match=r"'logp' must be at most 0.*: 2 are not.*position 0"):
        make(logp=column)
    assert float(make(logp=torch.full((2, 3), 9e-6)).logp.max()) > 0


def test_a_broken_advantage_is_named() -> None:
    message = r"'advantage' must be finite.*: 2 are not, the first at \(row 0, position 0\) is nan"
    with pytest.raises(ValueError, match=message):
        make(logp=torch.zeros(2, 3), advantage=torch.tensor([math.nan, 1.0]))
    with pytest.raises(ValueError, match=r"1 are not, the first at \(row 1, position 1\) is inf"):
        make(logp=torch.zeros(2, 3), advantage=torch.tensor([1.0, math.inf]))


def test_shapes_and_masks_must_fit() -> None:
    with pytest.raises(ValueError, match=r"'logp' has shape \(2, 2\)"):
        make(logp=torch.zeros(2, 2))
    with pytest.raises(ValueError, match="only 0 and 1"):
        token_batch(torch.tensor([[0.5]]), {}, TOTALS)
    with pytest.raises(ValueError, match="shape"):
        token_batch(torch.tensor([1.0]), {}, TOTALS)


def test_columns_share_one_precision() -> None:
    half = make(
        logp=torch.zeros(2, 3, dtype=torch.bfloat16),
        behavior_logp=torch.zeros(2, 3, dtype=torch.float16),
        advantage=torch.zeros(2, dtype=torch.float64),
    )
    assert {column.dtype for column in half.columns.values()} == {torch.float32}
    double = make(logp=torch.zeros(2, 3).double(), behavior_logp=torch.zeros(2, 3))
    assert {column.dtype for column in double.columns.values()} == {torch.float64}


def test_inputs_are_left_alone() -> None:
    logp, mask = torch.full((2, 3), math.nan), MASK * 0
    token_batch(mask, {"logp": logp}, TOTALS)
    assert bool(logp.isnan().all())
    assert not mask.any()


def test_a_missing_column_is_named() -> None:
    with pytest.raises(LimiteError, match=r"'entropy'.*it has logp"):
        make(logp=torch.zeros(2, 3)).entropy  # noqa: B018


def test_totals_count_the_mask() -> None:
    mask = torch.tensor([[1, 1, 0], [0, 0, 0], [0, 1, 0]])
    totals = totals_of(mask, response_tokens=9)
    assert totals == Totals(tokens=3, active_rows=2, rows=3, response_tokens=9)


def test_metrics_are_weighted_means() -> None:
    batch = make(logp=torch.zeros(2, 3))
    values = torch.tensor([[1.0, 2.0, math.nan], [math.inf, 6.0, 7.0]], requires_grad=True)
    metric = batch.metrics({"a/b": values})["a/b"]
    assert metric == Metric(how="mean", value=9.0, weight=3.0)
    assert batch.metrics({}) == {}


def test_an_aggregation_must_be_known_and_its_constant_positive() -> None:
    batch = make(logp=torch.zeros(2, 3))
    with pytest.raises(ValueError, match="unknown aggregation 'mean'"):
        batch.aggregate(batch.logp, "mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive"):
        batch.aggregate(batch.logp, "constant", constant=0)


@pytest.mark.parametrize("width", [0, 1, 7, 8, 16, 2040, 2048, 4096])
def test_lengths_count_every_kind_of_mask(width: int) -> None:
    generator = torch.Generator().manual_seed(width)
    drawn = torch.rand(4, 2 * width + 3, generator=generator) < 0.7
    for mask in (
        torch.ones(3, width).bool(),
        drawn[:, :width].contiguous(),
        drawn[:, 3 : width + 3],
        drawn[:1, 3 : width + 3],
        drawn[:, : 2 * width : 2],
        drawn[:, :width].T.contiguous().T,
        drawn[0, :width].expand(4, width),
    ):
        totals = Totals(tokens=0, active_rows=0, rows=len(mask), response_tokens=1)
        lengths = TokenBatch(mask=mask, columns={}, totals=totals).lengths
        assert lengths.tolist() == [sum(row) for row in mask.tolist()]
