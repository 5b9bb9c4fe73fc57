"""Somebody's own implementations, and everything that is wrong with a choice at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from limite.core.kernels import dispatch, ops
from limite.core.kernels.dispatch import (
    BUILT_IN,
    Case,
    Implementation,
    KernelError,
    choose,
    survey,
    use,
)

SCAN = Case("linear_scan", "cpu", torch.float32)


def one(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None) -> Tensor:
    return torch.ones_like(b)


def two(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None) -> Tensor:
    return torch.full_like(b, 2.0)


def scan() -> float:
    """What ``linear_scan`` gives now: 0 from limite's own, 1 and 2 from those above."""
    zeros = torch.zeros(1, 1)
    return ops.linear_scan(zeros, zeros).item()


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(dispatch.VARIABLE, raising=False)


def test_nothing_uses_one_that_is_not_named(own: None) -> None:
    assert scan() == 0
    assert dispatch.names("linear_scan") == (*BUILT_IN, "one", "two")
    assert dispatch.names("rms_norm") == BUILT_IN


def test_one_is_of_its_operation_alone(own: None) -> None:
    with pytest.raises(KernelError, match="unknown kernel 'one'"):
        choose(Case("rms_norm", "cpu", torch.float32), "rms_norm=one")
    with pytest.raises(KernelError, match="no such backend 'one'"):
        choose(SCAN, "one")


def test_registering_and_forgetting_count_at_once(own: None) -> None:
    with use("linear_scan=one"):
        assert scan() == 1
        dispatch.forget("linear_scan", "one")
        with pytest.raises(KernelError, match=r"use\('linear_scan=one'\): unknown .* two"):
            scan()
        dispatch.register(Implementation("linear_scan", "one", lambda: two))
        assert scan() == 2
    dispatch.forget("linear_scan", "never-there")


def test_names_do_not_clash(own: None) -> None:
    same = Implementation("linear_scan", "twice", lambda: one)
    dispatch.register(same)
    dispatch.register(same)
    dispatch.forget("linear_scan", "twice")
    with pytest.raises(KernelError, match="linear_scan has an implementation 'one' already"):
        dispatch.register(Implementation("linear_scan", "one", lambda: two))
    with use("linear_scan=one"):
        assert scan() == 1


@pytest.mark.parametrize(
    ("op", "name", "reason"),
    [
        ("linear_scn", "mine", "no operation 'linear_scn'; did you mean 'linear_scan'"),
        ("linear_scan", "cpu", "'cpu' is the name of one of limite's own"),
        ("linear_scan", "", "no space, comma or '=', got ''"),
        ("linear_scan", "a,b", "no space, comma or '='"),
        ("linear_scan", "a=b", "no space, comma or '='"),
        ("linear_scan", "a b", "no space, comma or '='"),
    ],
)
def test_what_cannot_be_registered(op: str, name: str, reason: str) -> None:
    with pytest.raises(KernelError, match=reason):
        dispatch.register(Implementation(op, name, lambda: one))


def test_one_that_refuses_is_an_error_and_never_another(own: None) -> None:
    def refuses(case: Case) -> str | None:
        return None if case.dtype == torch.float64 else "float64 alone"

    loaded: list[str] = []

    def load() -> Callable[..., Any]:
        loaded.append("now")
        return one

    dispatch.register(Implementation("linear_scan", "picky", load, refuses))
    try:
        with use("linear_scan=picky"):
            with pytest.raises(KernelError, match=r"'picky' cannot run .* float32: float64 alone"):
                scan()
            assert not loaded
            wide = torch.zeros(1, 1, dtype=torch.float64)
            assert ops.linear_scan(wide, wide).item() == 1
            assert loaded == ["now"]
    finally:
        dispatch.forget("linear_scan", "picky")


def test_threads_choose_and_register_at_once() -> None:
    def work(number: int) -> float:
        name = f"mine-{number}"
        dispatch.register(Implementation("linear_scan", name, lambda: one if number % 2 else two))
        with use(f"linear_scan={name}"):
            found = {scan() for _ in range(20)}
        dispatch.forget("linear_scan", name)
        (result,) = found
        return result

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(64))) == [1 if number % 2 else 2 for number in range(64)]
    assert dispatch.names("linear_scan") == BUILT_IN


# All at once


def test_a_survey_tells_one_thing_once(own: None) -> None:
    cases = [Case(op, "cpu", torch.float32, 32) for op in ("rms_norm", "swiglu", "linear_scan")]
    assert str(survey(cases[2:])) == "cpu (tensors on cpu)"
    assert str(survey(cases[:2])) == "native (compiled for this processor)"
    told = survey(cases, "linear_scan=one")
    assert not told.faults
    assert {op: choice.name for op, choice in told.choices.items()} == {
        "rms_norm": "native", "swiglu": "native", "linear_scan": "one",
    }  # fmt: skip
    assert str(told) == (
        "linear_scan: one (LIMITE_KERNELS=linear_scan=one); "
        "rms_norm, swiglu: native (compiled for this processor)"
    )


def test_a_survey_finds_every_fault(own: None) -> None:
    cases = [Case(op, "cpu", torch.float32, 32) for op in ("rms_norm", "swiglu", "linear_scan")]
    told = survey(cases, "triton,linear_scan=noe")
    assert not told.choices
    unknown, impossible = told.faults
    assert "linear_scan has reference, cpu, native, interpret, triton, one, two" in unknown
    assert "unknown kernel 'noe'; did you mean 'one'" in unknown
    assert impossible == (
        "LIMITE_KERNELS=triton,linear_scan=noe: 'triton' cannot run rms_norm, swiglu: "
        "compiled kernels need tensors on a GPU, these are on cpu"
    )
    (unneeded,) = survey(cases[:1], "linear_scan=noe").faults
    assert "unknown kernel 'noe'; did you mean 'one'" in unneeded
    assert survey(cases, "cpuu").faults == (
        "LIMITE_KERNELS=cpuu: no such backend 'cpuu'; did you mean 'cpu'?; there are "
        "reference, cpu, native, interpret, triton, and OPERATION=NAME for one of a plugin's",
    )
