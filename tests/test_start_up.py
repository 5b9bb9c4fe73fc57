"""What the first commands may cost: no torch, and nothing else that is heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import limite
from limite.core.discover import load_registry
from limite.problems.procedural.areas import families

# What the start-up commands have no use for; each costs more than all they do use.
HEAVY = {"torch", "numpy", "triton", "matplotlib", "sympy", "hypothesis", "cattrs", "rich"}


def modules_after(code: str) -> set[str]:
    """The top-level modules that a new interpreter has imported after ``code``."""
    code += "\nimport sys\nprint('MODULES', *sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    last = ended.stdout.splitlines()[-1].split()
    assert last[0] == "MODULES"
    return {name.partition(".")[0] for name in last[1:]}


@pytest.mark.parametrize(
    "arguments",
    [[], ["--help"], ["--version"], ["plugins"], ["plugins", "--json"], ["recipes"]],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_start_up_commands_import_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
from limite.core.cli.main import main
try:
    main({arguments!r})
except SystemExit as ended:
    assert ended.code in (0, 2), ended.code
"""
    assert not HEAVY & modules_after(code)


def test_importing_the_facade_imports_nothing_heavy() -> None:
    assert not (HEAVY | {"attrs", "click", "pluggy"}) & modules_after("import limite")


def test_recipes_can_be_written_without_torch() -> None:
    code = "from limite import RL, SFT, Eval, Mix, ModelSpec, Recipe, hookimpl"
    assert not HEAVY & modules_after(code)


@pytest.mark.parametrize("name", limite.__all__)
def test_every_public_name_is_there(name: str) -> None:
    value = getattr(limite, name)
    assert name in dir(limite)
    if isinstance(value, type):
        assert value.__name__ == name


def test_every_built_in_is_public_by_the_name_of_its_class() -> None:
    """But the families of the areas: there are many, and they are asked for by name."""
    by_name = {name for name, _ in families()}
    for entry in load_registry().entries():
        if entry.kind == "generator" and entry.name in by_name:
            continue
        assert getattr(limite, entry.address.partition(":")[2]) is entry.load()


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(limite.__file__).read_text())
    (checking,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (alias.asname, node.module)
        for node in checking.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == set(limite._HOME.items())


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Recipie'; did you mean 'Recipe'"):
        limite.Recipie  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Zzz'"):
        exec("from limite import Zzz")
