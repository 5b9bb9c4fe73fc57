"""Which implementation runs, why, and what is said when the one asked for cannot."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.kernels import dispatch, ops
from limite.core.kernels.dispatch import (
    BUILT_IN,
    MODULES,
    Case,
    KernelError,
    choose,
    use,
)

SCAN = Case("linear_scan", "cpu", torch.float32)


def scan() -> float:
    """What ``linear_scan`` gives now: 0 from limite's own, 1 and 2 from those above."""
    zeros = torch.zeros(1, 1)
    return ops.linear_scan(zeros, zeros).item()


@pytest.fixture(autouse=True)
def nothing_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(dispatch.VARIABLE, raising=False)


# By itself


@pytest.mark.parametrize("op", MODULES)
def test_every_operation_has_its_implementations(op: str) -> None:
    for name in ("reference", "cpu", "interpret"):
        case = Case(op, "cpu", torch.float32, 32)
        choice = choose(case, name)
        assert (choice.name, choice.reason) == (name, f"LIMITE_KERNELS={name}")
        assert choice.function.__name__ == op
        assert choice.function.__module__.startswith("limite.core.kernels.")
    assert getattr(ops, op)


@pytest.mark.parametrize("device", ["cpu", "meta", "mps"])
def test_without_a_gpu_it_is_cpu(device: str) -> None:
    choice = choose(Case("linear_scan", device, torch.float32))
    assert str(choice) == f"cpu (tensors on {device})"


def test_on_a_gpu_without_triton_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    choice = choose(Case("linear_scan", "cuda", torch.float32))
    assert str(choice) == "cpu (not triton: Triton is not installed)"
    with pytest.raises(KernelError, match=r"'interpret' cannot run .*: Triton is not ins"):
        choose(SCAN, "interpret")


def test_a_process_that_interprets_has_no_compiled_kernels() -> None:
    # As this one does, from conftest.
    choice = choose(Case("linear_scan", "cuda", torch.float32))
    assert choice.name == "cpu"
    assert "Triton runs interpreted in this process" in choice.reason


def test_what_cpu_refuses_goes_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    from limite.core.kernels.cpu import linear_scan

    monkeypatch.setattr(linear_scan, "refuses", lambda case: "not today", raising=False)
    assert str(choose(SCAN)) == "reference (tensors on cpu; not cpu: not today)"


def test_nothing_runs_integers() -> None:
    with pytest.raises(KernelError, match=r"nothing can run linear_scan on cpu in int64: .*int64"):
        choose(Case("linear_scan", "cpu", torch.int64))


def test_a_case_tells_all_that_matters() -> None:
    case = Case("simplicial_attention", "cuda", torch.bfloat16, 24, "determinant")
    assert str(case) == "simplicial_attention on cuda in bfloat16, width 24, determinant"


# What LIMITE_KERNELS says


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("refrence", "no such backend 'refrence'; did you mean 'reference'"),
        ("zzz", "no such backend 'zzz'; there are reference, cpu, native, interpret, triton"),
        ("cpu,reference", "both 'cpu' and 'reference' for every operation"),
        ("linear_scn=cpu", "no operation 'linear_scn'; did you mean 'linear_scan'"),
        ("zzz=cpu", "no operation 'zzz'; there are rms_norm, "),
        ("linear_scan=", "linear_scan= names no implementation"),
        ("linear_scan=cpu,linear_scan=reference", "both 'cpu' and 'reference' for linear_scan"),
        ("linear_scan=refrence", "unknown kernel 'refrence'; did you mean 'reference'"),
        (
            "linear_scan=zzz",
            "unknown kernel 'zzz'; beside those of plugins linear_scan has reference, cpu",
        ),
        ("triton", "'triton' cannot run linear_scan on cpu in float32: compiled kernels need"),
        ("linear_scan=triton", "compiled kernels need tensors on a GPU, these are on cpu"),
    ],
)
def test_what_cannot_be_is_refused_with_a_word_of_help(
    asked: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(dispatch.VARIABLE, asked)
    with pytest.raises(KernelError) as told:
        scan()
    assert f"LIMITE_KERNELS={asked}: " in str(told.value)
    assert reason in str(told.value)
    assert isinstance(told.value, (LimiteError, ValueError))


def test_interpret_takes_no_gpu_tensors() -> None:
    with pytest.raises(KernelError, match="the interpreter takes tensors on the CPU, these are on"):
        choose(Case("linear_scan", "cuda", torch.float32), "interpret")


@pytest.mark.parametrize(
    ("asked", "scan_by", "norm_by"),
    [
        ("", "cpu", "native"),
        (" , ", "cpu", "native"),
        ("reference", "reference", "reference"),
        ("linear_scan=reference", "reference", "native"),
        (" linear_scan = reference , interpret ", "reference", "interpret"),
        ("reference,linear_scan=cpu", "cpu", "reference"),
    ],
)
def test_single_operations_can_differ(asked: str, scan_by: str, norm_by: str) -> None:
    assert choose(SCAN, asked).name == scan_by
    assert choose(Case("rms_norm", "cpu", torch.float32), asked).name == norm_by


@given(st.text(alphabet="cpu,=ref linear_scan", max_size=20))
def test_any_text_is_read_or_refused(asked: str) -> None:
    try:
        choice = choose(SCAN, asked)
    except KernelError as error:
        assert asked in str(error)  # noqa: PT017
    else:
        assert choice.name in BUILT_IN


def test_the_variable_counts_from_the_moment_it_changes(
    own: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scan() == 0
    monkeypatch.setenv(dispatch.VARIABLE, "linear_scan=one")
    assert scan() == 1
    monkeypatch.setenv(dispatch.VARIABLE, "linear_scan=two")
    assert scan() == 2
    monkeypatch.delenv(dispatch.VARIABLE)
    assert scan() == 0


# Blocks


def test_blocks_nest_and_end_with_exceptions(own: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(dispatch.VARIABLE, "linear_scan=two")
    with use("linear_scan=one"):
        assert scan() == 1
        with use(""):
            assert scan() == 0
        with pytest.raises(ZeroDivisionError), use("linear_scan=two"):
            _ = scan() / 0
        assert scan() == 1
        assert choose(SCAN).reason == "use('linear_scan=one')"
    assert scan() == 2


def test_a_block_refuses_before_it_begins() -> None:
    entered = False
    with pytest.raises(KernelError, match=r"use\('cpuu'\): no such backend"), use("cpuu"):
        entered = True
    assert not entered


@pytest.mark.parametrize("names", [None, 3, ["cpu"], b"cpu", torch.float32])
def test_a_block_is_told_in_text(names: Any) -> None:
    with pytest.raises(KernelError, match=r"^use: names: expected text as '.*', got "), use(names):
        pass


def test_a_block_is_of_its_thread_alone(own: None) -> None:
    inside, seen = threading.Barrier(2), []

    def other() -> None:
        with use("linear_scan=two"):
            inside.wait()
            seen.append(scan())
            inside.wait()

    thread = threading.Thread(target=other)
    with use("linear_scan=one"):
        thread.start()
        inside.wait()
        seen.append(scan())
        inside.wait()
    thread.join()
    assert sorted(seen) == [1, 2]
    assert scan() == 0
