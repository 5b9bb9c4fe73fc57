"""The pages of objectives tell settings, metrics and advantages as they are, and leave none out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import pytest
import torch

from limite.core.cli.plugins import fields_of
from limite.core.discover import load_registry
from limite.core.train.columns import token_batch, totals_of
from limite.core.types import DIFFERENTIABLE
from limite.plugins.objectives.policy import PolicyObjective

DOCS = Path(__file__).parents[2] / "docs"
INDEX = (DOCS / "objectives.md").read_text(encoding="utf-8")
ENTRIES = {entry.name: entry for entry in load_registry().entries("objective")}
PARTS = ["Equation", "Settings", "Metrics", "What differs"]


def page(name: str) -> str:
    return (DOCS / "objectives" / f"{name}.md").read_text(encoding="utf-8")


def part(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def settings(cls: type[Any]) -> str:
    """A row for every setting."""
    rows = ["| setting | type | default | unit | meaning |", "| --- | --- | --- | --- | --- |"]
    for field in fields_of(cls):
        choices = ", ".join(f"`{choice}`" for choice in field["choices"])
        meaning = "; ".join(filter(None, (field["help"], choices)))
        cells = [f"`{field['name']}`", f"`{field['type']}`", f"`{field['default']}`"]
        cells += [field["unit"], meaning]
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n" if len(rows) > 2 else "None.\n"


def reported(objective: Any) -> list[str]:
    """The metrics of an objective on a small batch of whatever it reads."""
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]]).bool()
    columns: dict[str, torch.Tensor] = {"logp": torch.full((2, 3), -0.5)}
    outputs = getattr(objective, "outputs", 1)
    for name in objective.needs:
        if "topk" in name:
            columns[name] = torch.full((2, 3, 4), -1.5)
        elif name == "value" and outputs > 1:
            columns[name] = torch.zeros(2, 3, outputs)
        elif name in ("advantage", "value_target"):
            columns[name] = torch.tensor([0.25, 0.5])
        else:
            columns[name] = torch.full((2, 3), -0.25)
    for name in DIFFERENTIABLE:
        if name in columns:
            columns[name] = columns[name].requires_grad_()
    together = getattr(objective, "rows_together", 1)
    totals = totals_of(mask, response_tokens=3, rows_together=together)
    return list(objective(token_batch(mask, columns, totals)).metrics)


@pytest.mark.parametrize("name", ENTRIES)
def test_settings_are_told_as_they_are(name: str) -> None:
    expected = settings(ENTRIES[name].load())
    assert part(page(name), "Settings").strip() == expected.strip(), expected


@pytest.mark.parametrize("name", ENTRIES)
def test_every_metric_is_told_and_no_other(name: str) -> None:
    cls = ENTRIES[name].load()
    told = part(page(name), "Metrics")
    rows = re.findall(r"^\| `([\w/]+)` \| .{10,} \|$", told, re.MULTILINE)
    assert sorted(rows) == sorted(reported(cls()))
    optional = set(re.findall(r"`(\w+/\w+)`", told)) - set(rows)
    known = {field.name for field in attrs.fields(cls)}
    more: set[str] = set()
    for setting, value in (
        ({"beta": 0.1, "kl": "k2"}, "beta"),
        ({"beta": 0.1, "kl": "k3"}, "beta"),
        ({"entropy_weight": 0.1}, "entropy_weight"),
        ({"ce_weight": 0.5}, "ce_weight"),
        ({"clip": 0.2}, "clip"),
    ):
        if value in known:
            chosen = {key: each for key, each in setting.items() if key in known}
            more |= set(reported(cls(**chosen)))
    assert optional == more - set(rows)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_page_has_its_parts(name: str) -> None:
    text = page(name)
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert titles[: len(PARTS)] == PARTS
    assert titles[len(PARTS) :] in ([], ["A run"])
    assert all(part(text, title).strip() for title in titles)
    assert text.startswith(f"# {name}\n")


def test_the_index_names_every_objective_once_with_its_advantage_and_sum() -> None:
    rows = re.findall(r"^\| \[(.+?)\]\(objectives/(.+?)\.md\) \| (.*) \|$", INDEX, re.MULTILINE)
    assert sorted(row[0] for row in rows) == sorted(ENTRIES)
    for name, file, cells in rows:
        assert name == file
        cls = ENTRIES[name].load()
        advantage, aggregation = (cell.strip() for cell in cells.split(" | ")[1:3])
        paired = getattr(cls, "paired_advantage", None)
        said = ", ".join(f"{key} {value}" for key, value in (paired or {}).items() if key != "type")
        assert advantage == (f"`{paired['type']}`: {said}" if paired else "-")
        is_policy = issubclass(cls, PolicyObjective)
        assert aggregation == (f"`{cls().aggregation}`" if is_policy else "-")


def test_there_is_no_page_of_what_is_not_there() -> None:
    assert sorted(file.stem for file in (DOCS / "objectives").glob("*.md")) == sorted(ENTRIES)
