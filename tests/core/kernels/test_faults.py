"""Laws must be able to fail: each planted fault makes the law fail that is there to find it.

``faults/<file>.py`` lists them as ``(file within limite, text, faulty text, operation, law)``.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest
from triton.runtime.errors import InterpreterError

import limite
from limite.core.kernels import dispatch
from limite.core.kernels.dispatch import Implementation
from limite.plugins.conformance.kernel import laws_of
from limite.plugins.conformance.kernels import run

Fault = tuple[str, str, str, str, str]

FOLDER = Path(__file__).parent / "faults"
PACKAGE = Path(limite.__file__).parent
KERNELS = "limite.core.kernels"
BACKENDS = {"reference": run.REFERENCE, "cpu": run.CPU, "triton": run.INTERPRET}
LONG = "core/kernels/cpu/simplicial_attention.py"  # laws are too small for what stands in it
SHARED = f"{KERNELS}.triton.runtime"  # laws hold the one that is loaded


def _load(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _listed() -> list[tuple[str, Fault]]:
    found = []
    for file in sorted(FOLDER.glob("*.py")):
        module = _load(f"limite_listed_faults_{file.stem}", file)
        found += [(file.stem, tuple(fault)) for fault in module.FAULTS]
    return found


FAULTS = _listed()


def _ids() -> list[str]:
    return [
        f"{stem}-{place}-{Path(fault[0]).parts[-2]}-{fault[4]}"
        for place, (stem, fault) in enumerate(FAULTS)
    ]


def test_there_are_enough_and_no_two_are_the_same() -> None:
    assert len({fault[:3] for _, fault in FAULTS}) == len(FAULTS)
    assert len(FAULTS) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("fault", [fault for _, fault in FAULTS], ids=_ids())
def test_a_law_finds_the_fault(fault: Fault, tmp_path: Path) -> None:
    path, old, new, op, law = fault
    source = (PACKAGE / path).read_text()
    assert source.count(old) == 1, f"{path} has {old!r} {source.count(old)} times"
    mutant = tmp_path / Path(path).name
    mutant.write_text(source.replace(old, new))
    compile(mutant.read_text(), str(mutant), "exec")
    backend = BACKENDS[Path(path).parts[-2]]
    find = laws_of(op)[law]
    with _planted(path, mutant, op) as function:
        dispatch.register(Implementation(op, "fault", lambda: function))
        try:
            with pytest.raises((AssertionError, InterpreterError)) as found:
                _searched(find, attrs.evolve(backend, name="fault", op=op))
            if isinstance(found.value, InterpreterError):
                # A wrong kernel may also compute a number that numpy warns of. Nothing else counts:
                # a fault that is no Triton at all would find itself.
                assert isinstance(_first_cause(found.value), (RuntimeWarning, ArithmeticError))
        finally:
            dispatch.forget(op, "fault")


def _first_cause(error: BaseException) -> BaseException:
    """What went wrong in the innermost function of a kernel."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _searched(find: Callable[[Any], None], backend: Any) -> None:
    """Runs a law, and once more with more cases where it finds nothing.

    Which cases Hypothesis draws depends on the modules that a process has loaded, and so on the
    tests that ran in it before.
    """
    find(backend)
    with run.more_examples(10):
        find(backend)


@contextlib.contextmanager
def _planted(path: str, mutant: Path, op: str) -> Iterator[Callable[..., Any]]:
    """The operation as it is with the mutant in place of its file.

    All implementations are loaded anew, so that whatever builds on the faulty file does so here.
    """
    importlib.import_module(SHARED)
    name = "limite." + ".".join(Path(path).with_suffix("").parts)
    folders = [f"{KERNELS}.{folder}" for folder in BACKENDS]
    before = {
        module: sys.modules.pop(module)
        for module in list(sys.modules)
        if module.startswith(tuple(f"{folder}." for folder in folders)) and module != SHARED
    }
    packages = {folder: importlib.import_module(folder) for folder in folders}
    names = {folder: dict(vars(package)) for folder, package in packages.items()}
    try:
        for folder in folders:
            for module in before:
                if module.startswith(f"{folder}."):
                    vars(packages[folder]).pop(module.rpartition(".")[2], None)
        parent, _, child = name.rpartition(".")
        setattr(packages[parent], child, _load(name, mutant))
        home = importlib.import_module(f"{parent}.{dispatch.MODULES[op]}")
        if path == LONG:
            vars(home)["short_rows"].FEW = vars(home)["short_rows"].MOST = 0
        yield getattr(home, op)
    finally:
        for module in list(sys.modules):
            if module.startswith(tuple(f"{folder}." for folder in folders)) and module != SHARED:
                del sys.modules[module]
        sys.modules.update(before)
        for folder, package in packages.items():
            vars(package).clear()
            vars(package).update(names[folder])
