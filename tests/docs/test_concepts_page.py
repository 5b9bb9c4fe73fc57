"""The page on concepts shows the house as ``lint-imports`` holds it."""

from __future__ import annotations

import re
import tomllib

from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = PROJECT["tool"]["importlinter"]["contracts"]


def first_cells(title: str) -> list[list[str]]:
    """The names in the first cells of a part's table, its head left out."""
    part = PAGE.partition(f"# {title}\n")[2].partition("\n#")[0]
    rows = [line for line in part.splitlines() if line.startswith("| ")][2:]
    return [re.findall(r"`([\w/]+)`", row.split(" | ")[0]) for row in rows]


def test_the_four_folders_are_those_of_the_contract() -> None:
    (layers,) = [
        contract["layers"]
        for contract in CONTRACTS
        if contract["type"] == "layers" and "containers" not in contract
    ]
    from_below = [[layer.replace(".", "/")] for layer in reversed(layers)]
    assert first_cells("The house") == from_below
    assert layers == [f"limite.{name}" for name in ("plugins", "evaluate", "problems", "core")]


def test_the_floors_are_those_of_the_contract() -> None:
    (floors,) = [contract["layers"] for contract in CONTRACTS if "containers" in contract]
    expected = [
        [name for name in floor.split(" : ") if not name.startswith("config_")] for floor in floors
    ]
    assert first_cells("The floors of core") == expected
