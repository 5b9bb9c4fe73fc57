"""The house is in order: type checkers see the kinds, and the checks run what the README says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

PLUGIN = """
from typing import Any
from limite.core.hookspecs import Registrar
from limite.core.types import Group, Loss, TokenBatch


class AnObjective:
    def __call__(self, batch: TokenBatch) -> Loss:
        raise NotImplementedError


class AnAdvantage:
    def __call__(self, group: Group) -> Any: ...


def limite_register(registry: Registrar) -> None:
    registry.objective("by-class", AnObjective)
    registry.objective("by-name", "package.module:Class")
    registry.advantage("by-class", AnAdvantage)
    registry.objective("wrong", AnAdvantage)
    registry.advantage("wrong", AnObjective)
"""


def test_a_type_checker_refuses_a_component_of_the_wrong_kind(tmp_path: Path) -> None:
    module = tmp_path / "plugin.py"
    module.write_text(PLUGIN)
    # Following torch's own types would take a minute; the kinds do not depend on them.
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n")
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", tmp_path, module],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    errors = [line for line in ended.stdout.splitlines() if "error:" in line]
    wrong = [PLUGIN.splitlines().index(line) + 1 for line in PLUGIN.splitlines() if "wrong" in line]
    assert [int(line.split(":")[1]) for line in errors] == wrong, ended.stdout


def test_ci_runs_the_commands_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "grep -m1 '&& pytest$' README.md" in script
    for command in ("ruff check", "ruff format --check", "mypy", "lint-imports", "limite check"):
        assert f"{command}" in script
    assert "limite run recipes/smoke.toml" in script
