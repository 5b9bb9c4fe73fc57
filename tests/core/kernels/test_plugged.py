"""Kernels of plugins: found by name, loaded when asked for, never used otherwise."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
import torch

from limite.core import discover
from limite.core.errors import LimiteError
from limite.core.hookspecs import Registrar
from limite.core.kernels import dispatch, ops
from limite.core.kernels.dispatch import Case, KernelError, choose
from limite.core.registry import Registry
from limite.plugins.conformance import kernel_laws, laws_for
from limite.plugins.conformance.kernel import FILES, laws_of

GUIDE = (Path(__file__).parents[3] / "docs" / "plugins.md").read_text(encoding="utf-8")
HOOK, KERNEL = (
    block
    for block in re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    if "loop-scan" in block or "class LoopScan" in block
)
SCAN = Case("linear_scan", "cpu", torch.float32)
NAMED = "linear_scan=loop-scan"

Plug = Callable[..., Registry]


@pytest.fixture
def plug(install: Any, monkeypatch: pytest.MonkeyPatch) -> Plug:
    """``plug("limite-a", code)`` makes dispatch see the plugins installed so far."""

    def add(distribution: str, code: str, **more: str) -> Registry:
        registry = discover.build_registry(install(distribution, code, **more))
        monkeypatch.setattr(discover, "load_registry", lambda: registry)
        return registry

    return add


@pytest.fixture
def loop_scan(plug: Plug) -> Registry:
    """The example of the guide, installed."""
    return plug("limite-loop-scan", HOOK, limite_loop_scan_kernel=KERNEL)


def scanned(names: str) -> list[float]:
    with dispatch.use(names):
        return ops.linear_scan(torch.full((1, 3), 2.0), torch.ones(1, 3))[0].tolist()


def test_the_example_is_short() -> None:
    assert len((HOOK + KERNEL).splitlines()) <= 35


def test_it_is_loaded_only_when_asked_for(loop_scan: Registry) -> None:
    entry = loop_scan.get("kernel", "loop-scan")
    assert entry.qualified_name == "limite-loop-scan/loop-scan"
    assert entry.summary.startswith("The linear scan as a loop")
    assert scanned("") == [1.0, 3.0, 7.0]
    assert choose(SCAN).name == "cpu"
    assert "limite_loop_scan_kernel" not in sys.modules
    for name in ("loop-scan", "limite-loop-scan/loop-scan", "Limite_Loop.Scan/loop-scan"):
        choice = choose(SCAN, f"linear_scan={name}")
        assert type(choice.function).__name__ == "LoopScan"
        assert choice.name == name
        assert scanned(f"linear_scan={name}") == [1.0, 3.0, 7.0]
    assert "limite_loop_scan_kernel" in sys.modules


def test_it_keeps_the_laws(loop_scan: Registry) -> None:
    component = loop_scan.get("kernel", "loop-scan").load()
    laws = laws_for("kernel", component)
    assert laws.keys() == laws_of("linear_scan").keys() == kernel_laws(component()).keys()
    for law in laws.values():
        law()
    assert dispatch.names("linear_scan") == dispatch.BUILT_IN


def test_laws_find_a_fault(plug: Plug) -> None:
    wrong = KERNEL.replace("a[:, step] * y", "a[:, step].detach() * y")
    registry = plug("limite-loop-scan", HOOK, limite_loop_scan_kernel=wrong)
    laws = laws_for("kernel", registry.get("kernel", "loop-scan").load())
    with pytest.raises(AssertionError, match="da: off by"):
        laws["equals_the_reference"]()


def test_laws_do_not_ask_what_is_refused(plug: Plug) -> None:
    narrow = KERNEL.replace('case.device == "cpu"', "case.dtype.itemsize == 8").replace(
        "y = b.new_zeros", "assert b.dtype.itemsize == 8\n        y = b.new_zeros"
    )
    registry = plug("limite-loop-scan", HOOK, limite_loop_scan_kernel=narrow)
    laws = laws_for("kernel", registry.get("kernel", "loop-scan").load())
    laws["equals_the_reference"]()
    nothing = KERNEL.replace('if case.device == "cpu"', "if False")
    registry = plug("limite-never", HOOK.replace("loop", "no"), limite_no_scan_kernel=nothing)
    with pytest.raises(LimiteError, match="LoopScan refuses every dtype: it is made for the CPU"):
        laws_for("kernel", registry.get("kernel", "no-scan").load())


def test_laws_of_a_gpu_kernel_need_a_gpu(
    loop_scan: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    component = loop_scan.get("kernel", "loop-scan").load()
    monkeypatch.setattr(component, "device", "cuda", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(LimiteError, match="the laws of LoopScan need a GPU"):
        laws_for("kernel", component)


def test_every_operation_has_laws() -> None:
    assert FILES.keys() == dispatch.MODULES.keys()
    for op in FILES:
        assert len(laws_of(op)) >= 3, op


@pytest.mark.parametrize("op", FILES)
def test_limites_own_would_do_as_somebody_elses(op: str) -> None:
    module = importlib.import_module(f"limite.core.kernels.cpu.{dispatch.MODULES[op]}")
    own, refuse = getattr(module, op), getattr(module, "refuses", lambda case: None)

    @attrs.frozen(kw_only=True)
    class Borrowed:
        op: ClassVar[str]

        def refuses(self, case: Case) -> str | None:
            reason: str | None = refuse(case)
            return reason

        def __call__(self, *arguments: Any, **options: Any) -> Any:
            return own(*arguments, **options)

    Borrowed.op = op
    for law in kernel_laws(Borrowed()).values():
        law()


def test_every_file_of_laws_is_of_an_operation() -> None:
    import limite.plugins.conformance.kernels as folder

    files = {place.stem for path in folder.__path__ for place in Path(path).glob("*.py")}
    with_laws = {
        file
        for file in files
        if hasattr(__import__(f"{folder.__name__}.{file}", fromlist=["LAWS"]), "LAWS")
    }
    assert with_laws == set(FILES.values())


def test_two_plugins_with_one_name(plug: Plug, loop_scan: Registry) -> None:
    plug("limite-other", HOOK.replace("_loop_scan_", "_other_"), limite_other_kernel=KERNEL)
    with pytest.raises(KernelError, match=r"say '.*' or '.*'") as told:
        choose(SCAN, NAMED)
    for name in ("'limite-loop-scan/loop-scan'", "'limite-other/loop-scan'"):
        assert name in str(told.value)
    assert scanned("linear_scan=limite-other/loop-scan") == [1.0, 3.0, 7.0]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("import attrs", "import attrs, limite_nowhere", "ModuleNotFoundError: No module named"),
        ('"linear_scan"', '"linear_scn"', "op must name an operation, got 'linear_scn'; did you"),
        ("    op: ", "    other: ", "op must name an operation, got None; there are rms_norm"),
        ('"linear_scan"', '"swiglu"', "kernel 'loop-scan' runs swiglu, not linear_scan"),
        ("@attrs.frozen(kw_only=True)\n", "", "is not a frozen attrs class"),
        ("__call__", "call", "has no __call__"),
        (
            '    op: ClassVar[str] = "linear_scan"\n',
            '    op: ClassVar[str] = "linear_scan"\n    block: int\n',
            "kernel 'loop-scan' cannot be made without settings: .*block",
        ),
        (
            'case.device == "cpu"',
            'case.device == "moon"',
            "'loop-scan' cannot run linear_scan on cpu in float32: it is made for the CPU, not",
        ),
    ],
)
def test_what_cannot_serve_says_why(before: str, after: str, reason: str, plug: Plug) -> None:
    assert before in KERNEL
    plug("limite-loop-scan", HOOK, limite_loop_scan_kernel=KERNEL.replace(before, after))
    with pytest.raises(KernelError, match=rf"LIMITE_KERNELS={NAMED}: .*{reason}"):
        choose(SCAN, NAMED)


def test_an_unknown_name_gets_a_suggestion(loop_scan: Registry) -> None:
    with pytest.raises(KernelError, match="unknown kernel 'lop-scan'; did you mean 'loop-scan'"):
        choose(SCAN, "linear_scan=lop-scan")
    with pytest.raises(KernelError, match="did you mean 'reference'"):
        choose(SCAN, "linear_scan=refrence")


def test_a_broken_plugin_says_why(plug: Plug) -> None:
    plug("limite-bad", "import limite_nowhere")
    with pytest.raises(KernelError, match="limite-bad, which is broken: ModuleNotF"):
        choose(SCAN, "linear_scan=limite-bad/scan")


@pytest.mark.parametrize("name", dispatch.BUILT_IN)
def test_limites_own_names_are_taken(name: str) -> None:
    with pytest.raises(LimiteError, match=f"kernel '{name}': that is one of limite's own"):
        Registrar().kernel(name, "package.module:Class")


def test_plain_use_of_the_library_finds_it(loop_scan: Registry, tmp_path: Path) -> None:
    code = (
        "import sys, torch; from limite.core.kernels import ops\n"
        "print(ops.linear_scan(torch.ones(1, 2), torch.ones(1, 2)).tolist(), "
        "'limite_loop_scan_kernel' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={
            **{key: value for key, value in os.environ.items() if not key.startswith("LIMITE_")},
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
            "LIMITE_KERNELS": NAMED,
        },
        check=False,
        timeout=120,
    )
    assert ended.stdout == "[[1.0, 2.0]] True\n", ended.stderr
