"""Which implementation runs, why, and what is said when the one asked for cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from limite.core.errors import LimiteError
from limite.core.kernels import dispatch, ops
from limite.core.kernels.dispatch import (
    BUILT_IN,
    MODULES,
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


@pytest.fixture
def own() -> Iterator[None]:
    """Implementations ``one`` and ``two`` of ``linear_scan``."""
    dispatch.register(Implementation("linear_scan", "one", lambda: one))
    dispatch.register(Implementation("linear_scan", "two", lambda: two))
    yield
    dispatch.forget("linear_scan", "one")
    dispatch.forget("linear_scan", "two")


def in_a_new_process(code: str, **environment: str) -> str:
    """What a Python that has imported nothing prints."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("TRITON_INTERPRET", dispatch.VARIABLE)
    }
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**clean, "OMP_NUM_THREADS": "1", **environment},
        check=False,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


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


def test_on_a_gpu_it_is_triton() -> None:
    told = in_a_new_process(
        "import torch; from limite.core.kernels.dispatch import Case, choose\n"
        "print(choose(Case('linear_scan', 'cuda', torch.float32)))\n"
        "print(choose(Case('linear_scan', 'cuda', torch.float64)))"
    )
    assert told.splitlines() == [
        "triton (there is a GPU)",
        "cpu (not triton: the kernels take float32, float16 and bfloat16, not torch.float64)",
    ]


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
        ("zzz", "no such backend 'zzz'; there are reference, cpu, interpret, triton, and OPERAT"),
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
        ("", "cpu", "cpu"),
        (" , ", "cpu", "cpu"),
        ("reference", "reference", "reference"),
        ("linear_scan=reference", "reference", "cpu"),
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


# Other people's


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
    assert choose(SCAN, "linear_scan=one").function is one


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
    assert str(survey(cases)) == "cpu (tensors on cpu)"
    told = survey(cases, "linear_scan=one")
    assert not told.faults
    assert {op: choice.name for op, choice in told.choices.items()} == {
        "rms_norm": "cpu", "swiglu": "cpu", "linear_scan": "one",
    }  # fmt: skip
    assert str(told) == (
        "linear_scan: one (LIMITE_KERNELS=linear_scan=one); rms_norm, swiglu: cpu (tensors on cpu)"
    )


def test_a_survey_finds_every_fault(own: None) -> None:
    cases = [Case(op, "cpu", torch.float32, 32) for op in ("rms_norm", "swiglu", "linear_scan")]
    told = survey(cases, "triton,linear_scan=noe")
    assert not told.choices
    unknown, impossible = told.faults
    assert "linear_scan has reference, cpu, interpret, triton, one, two" in unknown
    assert "unknown kernel 'noe'; did you mean 'one'" in unknown
    assert impossible == (
        "LIMITE_KERNELS=triton,linear_scan=noe: 'triton' cannot run rms_norm, swiglu: "
        "compiled kernels need tensors on a GPU, these are on cpu"
    )
    (unneeded,) = survey(cases[:1], "linear_scan=noe").faults
    assert "unknown kernel 'noe'; did you mean 'one'" in unneeded
    assert survey(cases, "cpuu").faults == (
        "LIMITE_KERNELS=cpuu: no such backend 'cpuu'; did you mean 'cpu'?; there are "
        "reference, cpu, interpret, triton, and OPERATION=NAME for one of a plugin's",
    )


# Imports


def test_what_is_imported_when() -> None:
    told = in_a_new_process(
        "import sys\n"
        "import limite.core.kernels.dispatch\n"
        "print({'torch', 'triton', 'numpy', 'pluggy'} & set(sys.modules))\n"
        "import limite.core.kernels.ops as ops, torch\n"
        "ops.linear_scan(torch.ones(1, 3), torch.ones(1, 3))\n"
        "print({'triton', 'pluggy', 'limite.core.registry'} & set(sys.modules))"
    )
    assert told.splitlines() == ["set()", "set()"]


def test_interpret_needs_no_other_variable() -> None:
    code = (
        "import torch; from limite.core.kernels import ops\n"
        "print(ops.linear_scan(torch.ones(1, 3), torch.ones(1, 3)).tolist())"
    )
    assert in_a_new_process(code, LIMITE_KERNELS="interpret") == "[[1.0, 2.0, 3.0]]"


def test_interpret_comes_too_late_after_triton_was_imported() -> None:
    attempt = (
        "try:\n    ops.linear_scan(torch.ones(1, 3), torch.ones(1, 3))\n"
        "except ValueError as error:\n    print(error)\n"
    )
    told = in_a_new_process(
        "import os, torch, triton\nfrom limite.core.kernels import ops\n"
        f"{attempt}os.environ['TRITON_INTERPRET'] = '1'\n{attempt}",
        LIMITE_KERNELS="interpret",
    )
    reason = (
        "LIMITE_KERNELS=interpret: 'interpret' cannot run linear_scan on cpu in float32: Triton "
        "was imported for compiled kernels before; set TRITON_INTERPRET=1 from the start"
    )
    # The variable alone changes nothing once Triton is there.
    assert told.splitlines() == [reason, reason]
