"""Which compiler is taken, what it makes for whom, and what is told where there is none."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from limite.core.kernels import dispatch, ops
from limite.core.kernels.native import compiler, library
from limite.core.kernels.native.compiler import CannotCompile

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty cache, and a process that has loaded nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("LIMITE_KERNELS", raising=False)
    monkeypatch.setattr(library, "_functions", None)
    dispatch._start_over()
    yield tmp_path / "limite" / "kernels"
    dispatch._start_over()


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def choice() -> dispatch.Choice:
    return dispatch.choose(dispatch.Case("swiglu", "cpu", torch.float32))


def test_it_is_compiled_once_and_found_again(fresh: Path) -> None:
    path = compiler.library()
    made = path.stat().st_mtime_ns
    assert list(fresh.iterdir()) == [path]
    assert compiler.library() == path
    assert path.stat().st_mtime_ns == made
    assert str(choice()) == "native (compiled for this processor)"


def test_the_compiler_may_be_named_with_arguments(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = compiler.library()
    monkeypatch.setenv("CC", f"{shutil.which('env')} LANG=C '{COMPILER}'")
    named = compiler.library()
    assert named != plain
    assert {plain, named} == set(fresh.iterdir())


@pytest.mark.usefixtures("fresh")
def test_another_processor_or_source_has_a_library_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = ["cc", *compiler.FLAGS]
    names = {compiler._name(arguments), compiler._name([*arguments, "-g"])}
    monkeypatch.setattr(compiler, "_processor", lambda: ("another",))
    names.add(compiler._name(arguments))
    sources = tmp_path / "source"
    shutil.copytree(compiler.SOURCE, sources)
    with (sources / "vectors.h").open("a") as file:
        file.write("\n")
    monkeypatch.setattr(compiler, "SOURCE", sources)
    names.add(compiler._name(arguments))
    assert len(names) == 4


def test_a_processor_is_known_where_the_system_does_not_describe_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "read_text", no_such_file)
    found = compiler._processor.__wrapped__()
    assert found[-1] == platform.node()


def no_such_file(self: Path, **_: object) -> str:
    raise FileNotFoundError(self)


@pytest.mark.usefixtures("fresh")
def test_without_a_compiler_the_cpu_kernels_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = choice()
    assert found.name == "cpu"
    assert found.reason == (
        "tensors on cpu; not native: there is no C compiler (cc, gcc or clang, or what CC names)"
    )
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(library, "_functions", None)
    assert "no-such-compiler could not be run" in choice().reason
    with pytest.raises(dispatch.CannotRun, match="could not be run"), ops.use("swiglu=native"):
        ops.swiglu(torch.ones(2), torch.ones(2))


def test_a_compiler_that_fails_is_told_of(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = script(
        fresh.parents[1],
        "failing",
        "import sys; sys.exit('In file a.c\\na.c:1: error: no such flag\\nmore')",
    )
    monkeypatch.setenv("CC", str(failing))
    found = choice()
    assert found.name == "cpu"
    assert found.reason.endswith(f"not native: {failing} failed: a.c:1: error: no such flag")
    assert list(fresh.iterdir()) == []  # nothing half-written stays


@pytest.mark.usefixtures("fresh")
def test_a_place_where_nothing_can_be_kept_is_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert "not native: no place to keep them: " in choice().reason
    monkeypatch.setattr(library, "_functions", None)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert "not native: no place to keep them: no home" in choice().reason


def homeless(self: Path) -> Path:
    raise RuntimeError("no home")


def test_a_library_that_is_no_library_is_told_of(fresh: Path) -> None:
    path = compiler.library()
    path.write_bytes(b"not a library")
    found = choice()
    assert found.name == "cpu"
    assert f"{path} cannot be loaded" in found.reason
    assert found.reason.endswith("delete it")


def test_a_compiler_that_never_ends_is_ended(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = script(fresh.parents[1], "slow", "import time; time.sleep(60)")
    monkeypatch.setenv("CC", str(slow))
    monkeypatch.setattr(compiler, "SECONDS", 0.2)
    with pytest.raises(CannotCompile, match="took more than"):
        compiler.library()
    assert os.listdir(fresh) == []
