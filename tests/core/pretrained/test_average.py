"""Averages of tensors: the exact sum rounded once, in every dtype, whatever the values."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.pretrained.average import average, checked_weights, rounded, uniform

GOLDEN = Path(__file__).parents[2] / "golden" / "objectives.json"
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
TELLING = [0.0, -0.0, 1.0, -1.0, 1e-30, 3.0e-8, 0.1, 1.0078125, 255.5, 65504.0, -6.1e-5, 1 / 3]


def values(dtype):
    if dtype == torch.float16:
        return st.one_of(st.sampled_from(TELLING), st.floats(-65504, 65504, width=16))
    return st.one_of(st.sampled_from(TELLING), st.floats(-(2.0**100), 2.0**100, width=32))


@st.composite
def mixtures(draw, dtype):
    """Up to five tensors of one shape, and weights of hundredths that sum to 1."""
    count, size = draw(st.integers(1, 5)), draw(st.integers(1, 7))
    cuts = sorted(draw(st.lists(st.integers(0, 100), min_size=count - 1, max_size=count - 1)))
    shares = [b - a for a, b in zip([0, *cuts], [*cuts, 100], strict=True)]
    rows = [
        torch.tensor(draw(st.lists(values(dtype), min_size=size, max_size=size)), dtype=dtype)
        for _ in range(count)
    ]
    return rows, [share / 100 for share in shares]


def nearest(value: float, dtype: torch.dtype) -> float:
    """The float64 ``value`` rounded once to ``dtype``, by whole numbers: halves to even."""
    bits, smallest = {
        torch.float32: (24, -149), torch.bfloat16: (8, -133), torch.float16: (11, -24),
    }[dtype]  # fmt: skip
    if not value:
        return value
    unit = max(math.frexp(value)[1] - bits, smallest)
    scaled = Fraction(value) / Fraction(2) ** unit
    return math.copysign(float(round(scaled) * Fraction(2) ** unit), value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(data=st.data())
def test_it_is_the_float64_average_rounded_once(dtype, data):
    rows, weights = data.draw(mixtures(dtype))
    expected = np.zeros(len(rows[0]))
    for row, weight in zip(rows, weights, strict=True):
        if weight:
            expected = expected + row.double().numpy() * weight
    found = average(rows, weights, dtype)
    assert found.dtype == dtype
    for number, value in enumerate(expected.tolist()):
        column = [row[number].item() for row, weight in zip(rows, weights, strict=True) if weight]
        if all(each == column[0] for each in column):
            assert found[number].item() == column[0]
        elif dtype == torch.float64:
            assert found[number].item() == value
        else:
            assert found[number].item() == nearest(value, dtype)


@pytest.mark.parametrize("dtype", DTYPES[1:], ids=str)
@given(value=st.floats(-60000, 60000))
@example(value=1 + 2**-8 + 2**-40)  # torch, by way of float32, rounds it down to 1 in bfloat16
@example(value=1 + 3 * 2**-8 - 2**-40)
@example(value=2.0**-149 * 0.75)
@example(value=-0.0)
def test_a_number_is_rounded_once(value, dtype):
    found = rounded(torch.tensor([value], dtype=torch.float64), dtype).item()
    assert found == nearest(value, dtype)
    assert math.copysign(1, found) == math.copysign(1, value)


def test_torch_itself_rounds_twice():
    value = torch.tensor([1 + 2**-8 + 2**-40], dtype=torch.float64)
    assert value.to(torch.bfloat16).item() == 1.0
    assert rounded(value, torch.bfloat16).item() == 1 + 2**-7


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(data=st.data())
def test_equal_tensors_give_themselves_bit_for_bit(dtype, data):
    count = data.draw(st.integers(1, 9))
    row = torch.tensor(data.draw(st.lists(values(dtype), min_size=1, max_size=9)), dtype=dtype)
    found = average([row] * count, uniform(count), dtype)
    assert torch.equal(found.view(torch.uint8), row.view(torch.uint8))


@given(data=st.data())
def test_an_average_lies_between_its_tensors(data):
    rows, weights = data.draw(mixtures(torch.float32))
    found = average(rows, weights, torch.float32)
    taken = torch.stack([row for row, weight in zip(rows, weights, strict=True) if weight])
    assert (found >= taken.min(0).values).all()
    assert (found <= taken.max(0).values).all()


def test_what_has_no_weight_is_not_read():
    rows = [torch.tensor([1.0, 2.0]), torch.tensor([math.nan, math.inf])]
    assert average(rows, (1.0, 0.0), torch.float32).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8])
def test_integers_must_be_equal(dtype):
    ones = torch.ones(3, dtype=dtype)
    assert torch.equal(average([ones, ones.clone()], (0.5, 0.5), dtype), ones)
    with pytest.raises(LimiteError, match="must be equal"):
        average([ones, torch.zeros(3, dtype=dtype)], (0.5, 0.5), dtype)


def test_golden_averages():
    cases = [each for each in json.loads(GOLDEN.read_text())["cases"] if each["kind"] == "soup"]
    assert [each["id"] for each in cases] == ["soup/uniform", "soup/weighted"]
    for case in cases:
        rows = [torch.tensor(each, dtype=torch.float64) for each in case["inputs"]["checkpoints"]]
        weights = case["params"]["weights"] or uniform(len(rows))
        expected = torch.tensor(case["expected"]["average"], dtype=torch.float64)
        found = average(rows, weights, torch.float64)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_weights():
    assert checked_weights([0.5, 0.3, 0.2], 3, "--weights") == (0.5, 0.3, 0.2)
    near = checked_weights([0.3333333, 0.3333333, 0.3333333], 3, "--weights")
    assert near == pytest.approx((1 / 3,) * 3, abs=1e-15)
    for weights, told in {
        (0.5, 0.5): "expected 3, one for each model, got 2",
        (0.5, 0.4, 0.2): r"these sum to 1\.1; in the same proportions that is 0\.4545",
        (1.5, -0.5, 0.0): r"at least 0, got -0\.5 \(number 2\)",
        (math.nan, 0.5, 0.5): r"at least 0, got nan \(number 1\)",
        (0.0, 0.0, 0.0): "got none above 0",
    }.items():
        with pytest.raises(LimiteError, match=told):
            checked_weights(weights, 3, "--weights")
