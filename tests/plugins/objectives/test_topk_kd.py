"""Distillation from lists against numbers from another implementation, and what it promises."""

from __future__ import annotations

import itertools
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.train.columns import token_batch, totals_of
from limite.core.types import Loss
from limite.plugins.conformance.strategies import cells
from limite.plugins.objectives import topk_kd
from limite.plugins.objectives.sft import CrossEntropy
from limite.plugins.objectives.topk_kd import TopKDistill, remaining
from tests.plugins.objectives.differences import require_gradient

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "objectives.json").read_text())
CASES = [case for case in GOLDEN["cases"] if case["kind"] == "topk_kd"]
TAILS = ("bucket", "renormalize", "ignore")


def numbers(values: Any) -> Tensor:
    def number(value: Any) -> Any:
        return [number(item) for item in value] if isinstance(value, list) else float(value)

    return torch.tensor(number(values), dtype=torch.float64)


def loss_of(
    objective: TopKDistill | CrossEntropy,
    logits: Tensor,
    ids: Tensor,
    teacher: Tensor,
    mask: Tensor,
) -> Loss:
    """From a student's logits ``[B, T, V]``; the text's token is the first of the list."""
    logp = logits.log_softmax(-1).gather(-1, ids)  # [B, T, K]
    columns = {"logp": logp[..., 0], "topk_logp": logp, "teacher_topk_logp": teacher}
    return objective(token_batch(mask, columns, totals_of(mask, response_tokens=9)))


@pytest.mark.parametrize(("listed", "taught"), [(4, 3), (0, 0)])
def test_lists_that_do_not_fit_are_refused(listed: int, taught: int) -> None:
    mask = torch.ones(2, 3, dtype=torch.bool)
    columns = {
        "topk_logp": torch.full((2, 3, listed), -2.0, requires_grad=True),
        "teacher_topk_logp": torch.full((2, 3, taught), -2.0),
    }
    batch = token_batch(mask, columns, totals_of(mask, response_tokens=3))
    with pytest.raises(ValueError, match=rf"got shapes \(2, 3, {taught}\) and \(2, 3, {listed}\)"):
        TopKDistill()(batch)


def test_it_is_the_same_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    lists = torch.randn(2, 5, 9, 4, generator=generator, dtype=torch.float64).log_softmax(-1)
    student, teacher = lists[..., :3]
    mask = torch.rand(5, 9, generator=generator) < 0.7

    def found(objective: TopKDistill) -> tuple[Tensor, Tensor]:
        leaf = student.clone().requires_grad_()
        columns = {"topk_logp": leaf, "teacher_topk_logp": teacher}
        batch = token_batch(mask, columns, totals_of(mask, response_tokens=9))
        value = objective(batch).value
        torch.autograd.backward(value)
        assert leaf.grad is not None
        return value.detach(), leaf.grad

    for direction, tail in itertools.product(("forward", "reverse"), TAILS):
        objective = TopKDistill(direction=direction, tail=tail)
        whole = found(objective)
        with monkeypatch.context() as patch:
            patch.setattr(topk_kd, "BLOCK", 21)  # seven positions of the 45
            parts = found(objective)
        torch.testing.assert_close(parts, whole, rtol=1e-13, atol=0.0)


def test_there_are_six_cases() -> None:
    assert len(CASES) == 6


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_it_matches(case: dict[str, Any], dtype: torch.dtype) -> None:
    limits = GOLDEN["tolerances"][str(dtype).removeprefix("torch.")]

    def check(actual: Any, wanted: Any) -> None:
        found = torch.as_tensor(actual, dtype=torch.float64).detach()
        torch.testing.assert_close(found, numbers(wanted), **limits)

    inputs, expected = case["inputs"], case["expected"]
    logits = numbers(inputs["student_logits"]).to(dtype).requires_grad_()
    ids = numbers(inputs["teacher_ids"]).long()
    teacher = numbers(inputs["teacher_logp"]).to(dtype)
    mask = numbers(inputs["mask"]).bool()
    objective = TopKDistill(**case["params"])
    loss = loss_of(objective, logits, ids, teacher, mask)
    torch.autograd.backward(loss.value)
    assert loss.value.dtype == dtype
    check(loss.value, expected["loss"])
    check(logits.grad, expected["grad_logits"])
    count = int(mask.sum())
    for name in ("teacher_mass", "student_mass"):
        total = float(numbers(expected[name])[mask].sum())
        check(loss.metrics[f"kd/{name}"].result(), total / count)
    for row, position in mask.nonzero().tolist():
        alone = torch.zeros_like(mask)
        alone[row, position] = True
        one = loss_of(objective, logits, ids, teacher, alone)
        check(one.value, expected["per_token"][row][position])


distributions = cells(2, 7, st.floats(-6.0, 6.0)).map(lambda logits: logits.log_softmax(-1))


def kl(sure: Tensor, other: Tensor) -> float:
    return float((sure.exp() * (sure - other)).sum())


def over_list(objective: TopKDistill, student: Tensor, teacher: Tensor, listed: int) -> Tensor:
    """The loss of one position from whole distributions ``[V]``."""
    ids = teacher.topk(listed).indices
    mask = torch.ones(1, 1).bool()
    return loss_of(
        objective, student[None, None], ids[None, None], teacher[ids][None, None], mask
    ).value


@given(both=distributions)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_bucket_is_never_negative_nor_above_the_whole_and_grows_with_the_list(
    direction: str, both: Tensor
) -> None:
    student, teacher = both
    objective = TopKDistill(direction=direction)
    losses = [float(over_list(objective, student, teacher, listed)) for listed in range(1, 8)]
    whole = kl(teacher, student) if direction == "forward" else kl(student, teacher)
    slack = 1e-9 * (1 + whole)
    assert losses[0] >= -slack
    for fewer, more in pairwise(losses):
        assert fewer <= more + slack
    assert losses[-1] == pytest.approx(whole, rel=1e-6, abs=1e-8)


@given(both=distributions, listed=st.integers(1, 6))
def test_the_gradient_of_a_bucket_is_the_difference_of_probabilities(
    both: Tensor, listed: int
) -> None:
    student, teacher = both[0].clone().requires_grad_(), both[1]
    torch.autograd.backward(over_list(TopKDistill(), student, teacher, listed))
    ids = teacher.topk(listed).indices
    s, p = student.detach().exp(), teacher.exp()
    outside = torch.ones(7).bool()
    outside[ids] = False
    scale = 1 - p[outside].sum() / s[outside].sum()
    expected = torch.where(outside, s * scale, s - p)
    assert student.grad is not None
    torch.testing.assert_close(student.grad, expected, rtol=1e-6, atol=1e-9)


@given(both=distributions, listed=st.integers(1, 6))
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("tail", TAILS)
def test_gradients_match_finite_differences(
    tail: str, direction: str, both: Tensor, listed: int
) -> None:
    student, teacher = both
    objective = TopKDistill(tail=tail, direction=direction, ce_weight=0.25)
    require_gradient(lambda at: over_list(objective, at, teacher, listed), student)


@given(teacher=distributions, listed=st.integers(1, 7))
@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("tail", ["bucket", "renormalize"])
def test_agreement_costs_nothing_and_pulls_nowhere(
    tail: str, direction: str, teacher: Tensor, listed: int
) -> None:
    for dtype in (torch.float64, torch.float32):
        student = teacher[0].to(dtype).requires_grad_()
        loss = over_list(
            TopKDistill(tail=tail, direction=direction),
            student,
            student.detach().log_softmax(-1),
            listed,
        )
        torch.autograd.backward(loss)
        assert student.grad is not None
        assert abs(float(loss.detach())) < 1e-6
        assert float(student.grad.abs().max()) < 1e-6


def test_a_sure_student_is_told_from_a_surer_one_in_float32() -> None:
    """The rest of a list is not lost where one token has nearly everything."""
    for rest in (1e-3, 1e-6, 1e-9):
        # One token has all but twice the rest, another has half of what is left.
        probabilities = torch.tensor([[[1 - 2 * rest, rest]]], dtype=torch.float64)
        listed = torch.cat(
            [torch.log1p(probabilities[..., :1] - 1), probabilities[..., 1:].log()], -1
        )
        found = float(remaining(listed.float(), listed.float().exp()))
        assert found == pytest.approx(rest, rel=1e-5)


@given(both=distributions, listed=st.integers(1, 5), tail=st.sampled_from(TAILS))
def test_entries_that_are_not_there_change_nothing(both: Tensor, listed: int, tail: str) -> None:
    student, teacher = both
    ids = teacher.topk(listed + 2).indices[None, None]
    short = teacher[ids].clone()
    short[..., listed:] = -torch.inf
    mask = torch.ones(1, 1).bool()
    for direction in ("forward", "reverse"):
        objective = TopKDistill(tail=tail, direction=direction)
        padded = loss_of(objective, student[None, None], ids, short, mask)
        plain = loss_of(
            objective, student[None, None], ids[..., :listed], short[..., :listed], mask
        )
        assert float(padded.value) == pytest.approx(float(plain.value), rel=1e-12, abs=1e-12)
        # A list with nothing in it says nothing.
        leaf = student.clone().requires_grad_()
        empty = loss_of(objective, leaf[None, None], ids, torch.full_like(short, -torch.inf), mask)
        torch.autograd.backward(empty.value)
        assert leaf.grad is not None
        assert float(empty.value.detach()) == 0
        assert not leaf.grad.any()


def test_cross_entropy_is_mixed_in_by_its_weight() -> None:
    logits = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(1)).double()
    teacher = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(2)).double()
    teacher, ids = teacher.log_softmax(-1).topk(4)
    mask = torch.tensor([[1, 1, 0], [0, 1, 1]]).bool()
    pure = loss_of(TopKDistill(), logits, ids, teacher, mask).value
    text = loss_of(CrossEntropy(), logits, ids, teacher, mask).value
    mixed = loss_of(TopKDistill(ce_weight=0.25), logits, ids, teacher, mask)
    assert float(mixed.value) == pytest.approx(0.75 * float(pure) + 0.25 * float(text))
    assert mixed.metrics["kd/cross_entropy_nats"].result() == pytest.approx(float(text))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tail": "bukket"}, "did you mean 'bucket'"),
        ({"direction": "backward"}, "direction"),
        ({"ce_weight": 1.0}, "ce_weight"),
        ({"ce_weight": -0.1}, "ce_weight"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TopKDistill(**settings)
