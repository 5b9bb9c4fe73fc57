"""Somebody's function that cannot be called as its operation is, is told so before it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.core.kernels.backends import NATIVE
from limite.core.kernels.dispatch import BUILT_IN, Case, Implementation, KernelError, choose, survey
from limite.core.kernels.signatures import misfit

SCAN = Case("linear_scan", "cpu", torch.float32)
FORM = "it is called with (a, b, *, reverse, carry): "


@pytest.fixture
def mine() -> Iterator[Callable[..., None]]:
    """``mine(function, refuses)`` registers an implementation ``mine`` of ``linear_scan``."""

    def add(function: Any, refuses: Any = lambda case: None) -> None:
        dispatch.forget("linear_scan", "mine")
        dispatch.register(Implementation("linear_scan", "mine", lambda: function, refuses))

    yield add
    dispatch.forget("linear_scan", "mine")


def never(*_arguments: Any, **_options: Any) -> Any:
    raise AssertionError("called")


def without_carry(a: Tensor, b: Tensor, *, reverse: bool) -> Any:
    never()


def by_name_only(*, a: Tensor, b: Tensor, reverse: bool, carry: Tensor | None) -> Any:
    never()


def of_one(a: Tensor, *, reverse: bool, carry: Tensor | None) -> Any:
    never()


def with_more(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None, blocks: int) -> Any:
    never()


class Callee:
    def __call__(self, a: Tensor, b: Tensor, reverse: bool) -> Any:
        never()


WRONG: list[tuple[Any, str]] = [
    (without_carry, FORM + "got an unexpected keyword argument 'carry'"),
    (by_name_only, FORM + "too many positional arguments"),
    (of_one, FORM + "too many positional arguments"),
    (with_more, FORM + "missing a required argument: 'blocks'"),
    (Callee(), FORM + "got an unexpected keyword argument 'carry'"),
    (None, "None cannot be called"),
    ("linear_scan", "'linear_scan' cannot be called"),
]


@pytest.mark.parametrize(("function", "why"), WRONG, ids=[why[-30:] for _, why in WRONG])
def test_what_cannot_be_called_is_told_before_it_is(
    function: Any, why: str, mine: Callable[..., None]
) -> None:
    mine(function)
    expected = f"LIMITE_KERNELS=linear_scan=mine: 'mine' cannot run {SCAN}: {why}"
    with pytest.raises(KernelError) as told:
        choose(SCAN, "linear_scan=mine")
    assert str(told.value).startswith(expected)
    (fault,) = survey([SCAN], "linear_scan=mine").faults
    assert why in fault
    ones = torch.ones(1, 3)
    with dispatch.use("linear_scan=mine"), pytest.raises(ValueError, match="cannot run"):
        ops.linear_scan(ones, ones)


@pytest.mark.parametrize("refuses", [lambda: None, lambda case, more: None, None, "never"])
def test_what_cannot_be_asked_is_told_before_it_is(refuses: Any, mine: Callable[..., None]) -> None:
    mine(never, refuses)
    with pytest.raises(KernelError, match=r"'mine' cannot run linear_scan .* refuses is "):
        choose(SCAN, "linear_scan=mine")


@pytest.mark.parametrize(
    "function",
    [
        never,
        partial(with_more, blocks=3),
        lambda a, b, reverse=False, carry=None, more=None: never(),
        lambda first, second, **options: never(),
        type("Callee", (), {"__call__": never})(),
        torch.add,  # written in C: what it takes is not known
    ],
)
def test_what_can_be_called_is(function: Any, mine: Callable[..., None]) -> None:
    mine(function)
    assert choose(SCAN, "linear_scan=mine").function is function


@pytest.mark.parametrize("op", dispatch.MODULES)
def test_limites_own_can_be_called(op: str) -> None:
    for name in BUILT_IN:
        if name != "triton" and (name != "native" or op in NATIVE):
            function = choose(Case(op, "cpu", torch.float32, 32), name).function
            assert misfit(op, function) is None
            with pytest.raises(TypeError):
                inspect.signature(function).bind()
