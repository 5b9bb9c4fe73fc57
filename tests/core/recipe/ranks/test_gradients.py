"""Sums of gradients over ranks, here threads that meet in one process."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from limite.core.recipe.ranks import gradients
from limite.core.recipe.ranks.gradients import sum_gradients


class Meeting:
    """A reduction over threads, in order of rank."""

    def __init__(self, ranks: int) -> None:
        self.barrier = threading.Barrier(ranks)
        self.given: list[Tensor | None] = [None] * ranks
        self.calls = 0

    def of(self, rank: int) -> Callable[[Tensor, str], None]:
        def reduce(tensor: Tensor, how: str) -> None:
            self.given[rank] = tensor.clone()
            self.calls += rank == 0
            self.barrier.wait(timeout=30)
            everything = torch.stack([each for each in self.given if each is not None])
            self.barrier.wait(timeout=30)
            tensor.copy_(everything.sum(0) if how == "sum" else everything.amax(0))

        return reduce


def summed(modules: list[nn.ParameterList]) -> tuple[list[int], int]:
    meeting = Meeting(len(modules))
    given = [0] * len(modules)

    def go(rank: int) -> None:
        given[rank] = sum_gradients(modules[rank], meeting.of(rank))

    threads = [threading.Thread(target=go, args=(rank,)) for rank in range(len(modules))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return given, meeting.calls


def module() -> nn.ParameterList:
    made = nn.ParameterList(
        [
            torch.zeros(3, 2),
            torch.zeros(()),
            torch.zeros(4, dtype=torch.float64),
            torch.zeros(5),
            torch.zeros(6),
        ]
    )
    made[4].requires_grad_(False)
    return made


def test_every_gradient_is_the_sum_and_what_nobody_has_stays_none() -> None:
    torch.manual_seed(0)
    modules = [module() for _ in range(3)]
    for rank, each in enumerate(modules):
        each[0].grad = torch.randn(3, 2)
        if rank == 1:
            each[1].grad = torch.randn(())
        each[2].grad = torch.randn(4, dtype=torch.float64)
    wanted = [
        sum(each[index].grad for each in modules if each[index].grad is not None)
        for index in range(3)
    ]
    given, calls = summed(modules)
    for each in modules:
        for index in range(3):
            torch.testing.assert_close(each[index].grad, wanted[index])
            assert each[index].grad.dtype == each[index].dtype
        assert each[3].grad is None
        assert each[4].grad is None
    # Who has a gradient, one byte each; then 7 numbers of float32 and 4 of float64.
    assert given == [4 + 4 * 7 + 8 * 4] * 3
    assert calls == 3


def test_large_gradients_travel_in_several_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "BUCKET_BYTES", 40)
    modules = [nn.ParameterList([torch.zeros(7) for _ in range(4)]) for _ in range(2)]
    for rank, each in enumerate(modules):
        for index, parameter in enumerate(each):
            parameter.grad = torch.full((7,), float(rank + index))
    given, calls = summed(modules)
    assert calls == 1 + 4
    assert given == [4 + 4 * 28] * 2
    assert [float(parameter.grad[0]) for parameter in modules[0]] == [1.0, 3.0, 5.0, 7.0]


def test_a_rank_without_any_gradient_gets_the_others() -> None:
    modules = [nn.ParameterList([torch.zeros(2)]) for _ in range(2)]
    modules[1][0].grad = torch.tensor([1.0, -2.0])
    summed(modules)
    assert modules[0][0].grad is not None
    assert modules[0][0].grad.tolist() == [1.0, -2.0]


def test_without_parameters_nothing_is_exchanged() -> None:
    assert summed([nn.ParameterList(), nn.ParameterList()]) == ([0, 0], 0)
