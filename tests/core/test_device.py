from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from limite.core.device import (
    SMALL_PARAMETERS,
    choose_device,
    default_dtype,
    deterministic,
    threads_for,
)
from limite.core.errors import LimiteError


def settings() -> tuple[object, ...]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.get_num_threads(),
        torch.backends.cudnn.benchmark,
        torch.utils.deterministic.fill_uninitialized_memory,
        os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
    )


def test_determinism_holds_within_and_everything_is_as_before_after() -> None:
    before = settings()
    with deterministic(threads=2):
        assert settings()[:3] == (True, False, 2)
        with deterministic(threads=1):
            assert torch.get_num_threads() == 1
        assert settings()[:3] == (True, False, 2)
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"]
    assert settings() == before
    with pytest.raises(KeyError), deterministic():
        raise KeyError
    assert settings() == before


ALONE = """
import os
import sys
import torch
from limite.core.device import COMPILER, deterministic
with deterministic():
    print(torch.are_deterministic_algorithms_enabled(), os.environ[COMPILER])
print(torch.are_deterministic_algorithms_enabled(), COMPILER in os.environ)
print("torch._inductor" in sys.modules)
"""

LATE = """
from limite.core.device import deterministic
with deterministic():
    import torch._inductor.config as late
    print(late.deterministic)
    with deterministic():
        print(late.deterministic)
    print(late.deterministic)
print(late.deterministic)
"""


def said_by(program: str) -> list[str]:
    words = [sys.executable, "-c", program]
    ended = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    return ended.stdout.split()


def test_the_compiler_is_not_imported() -> None:
    assert said_by(ALONE) == ["True", "1", "False", "False", "False"]


@pytest.mark.nightly
def test_a_compiler_that_is_imported_knows() -> None:
    assert said_by(LATE) == ["True", "True", "True", "False"]


def test_threads_are_at_least_one() -> None:
    with pytest.raises(LimiteError, match="threads must be at least 1, got 0"), deterministic(0):
        raise AssertionError("unreachable")


def test_small_models_run_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads_for(SMALL_PARAMETERS - 1) == 1
    assert 1 <= threads_for(SMALL_PARAMETERS) <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("said", "threads"), [("1", 1), ("3", 3), (" 2,4 ", 2), ("64", 8), ("", 8), ("  ", 8)]
)
def test_the_environment_limits_threads(
    monkeypatch: pytest.MonkeyPatch, said: str, threads: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(8)), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert threads_for(SMALL_PARAMETERS) == threads
    assert threads_for(SMALL_PARAMETERS - 1) == 1


@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5", ",2"])
def test_a_number_of_threads_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    for parameters in (1, SMALL_PARAMETERS):
        with pytest.raises(LimiteError, match="OMP_NUM_THREADS: expected a number of threads"):
            threads_for(parameters)


def test_a_device_is_chosen_or_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert choose_device() == torch.device("cpu")
    assert choose_device("cpu") == torch.device("cpu")
    with pytest.raises(LimiteError, match="'cuda' was asked for, and torch finds no such GPU"):
        choose_device("cuda")
    with pytest.raises(LimiteError, match="'gpu' is no device"):
        choose_device("gpu")
    with pytest.raises(LimiteError, match="not on 'meta'"):
        choose_device("meta")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device() == torch.device("cuda")
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(LimiteError, match="'cuda:2' was asked for"):
        choose_device("cuda:2")


def test_weights_are_float32() -> None:
    assert default_dtype(torch.device("cpu")) is torch.float32
