"""The page on the kernel core says what is so: operations, backends, tolerances, commands."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from limite.core.cli.main import main
from limite.core.kernels import ops
from limite.core.kernels.dispatch import BUILT_IN, MODULES
from limite.plugins.conformance.kernels.measure import GRADIENT, OUTPUT

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")


def part(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The cells of a part's table, its head left out."""
    lines = [line for line in part(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[2:]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def call(op: str) -> str:
    """An operation as one writes its call: names and defaults."""
    signature = inspect.signature(getattr(ops, op))
    bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    return f"`{op}{text.replace(repr(ops.EPSILON), '2**-23')}`"


def test_every_operation_stands_in_the_table_as_it_is_called() -> None:
    assert [row[0] for row in rows("Operations")] == [call(op) for op in MODULES]
    assert ops.EPSILON == 2.0**-23


def test_every_backend_stands_in_the_table() -> None:
    assert [row[0] for row in rows("Backends")] == [f"`{name}`" for name in BUILT_IN]


def test_the_tolerances_are_those_of_the_laws() -> None:
    told = [
        [str(dtype).removeprefix("torch.")]
        + [
            f"{number:.2g}"
            for tolerance in (OUTPUT[dtype], GRADIENT[dtype])
            for number in (tolerance.relative, tolerance.absolute)
        ]
        for dtype in OUTPUT
    ]
    assert rows("Numerics") == told


def test_names_of_the_page_are_there() -> None:
    for module in re.findall(r"python -m ([\w.]+)", PAGE):
        assert (ROOT / f"{module.replace('.', '/')}.py").exists(), module
    for script in re.findall(r"^benchmarks/[\w./]+", "\n".join(LINES), re.MULTILINE):
        assert (ROOT / script).exists(), script
    for name in re.findall(r"`ops\.(\w+)`", PAGE):
        assert hasattr(ops, name), name


@pytest.mark.parametrize("block", blocks("python"))
def test_the_examples_run(block: str) -> None:
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["out"].shape == names["q"].shape


LINES = [line for block in blocks("sh") for line in block.splitlines()]


@pytest.mark.parametrize("line", [line for line in LINES if "limite " in line])
def test_the_commands_run(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    settings, _, words = line.rpartition("limite ")
    name, _, value = settings.strip().partition("=")
    if name:
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert f"(LIMITE_KERNELS={value})" in told if name else "kernel" in told
