"""``limite-gen list``: the families of problems there are."""

from __future__ import annotations

import inspect
from typing import Any, cast

import attrs
import click

from limite.core.cli.table import show_json, show_table
from limite.core.discover import load_registry
from limite.core.kinds import Generator
from limite.problems.gen.families import area_of, families_in, samples, tags_of

SAMPLES = 4


@click.command("list")
@click.argument("area", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(area: str | None, as_json: bool) -> None:
    """List the families of problems, or those of one AREA.

    Shows the area of mathematics, the types of answers and the dial: the quantities that
    difficulty changes, from its value at 0 to that at 1.
    """
    registry = load_registry()
    wanted = None if area is None else set(families_in([area]))
    rows = []
    for entry in registry.entries("generator"):
        name = registry.usable_name(entry)
        if registry.status(entry) == "broken":
            click.echo(f"warning: {name} is broken: {entry.problem}", err=True)
        elif wanted is None or name in wanted:
            rows.append(look(name, entry.load()))
    if as_json:
        show_json(rows)
        return
    show_table(
        ("FAMILY", "AREA", "ANSWER", "DIAL", "WHAT IT IS"),
        [
            (
                row["name"],
                row["area"],
                ", ".join(row["answer_types"]),
                ", ".join(f"{dial} {low:g}-{high:g}" for dial, (low, high) in row["dial"].items()),
                row["summary"],
            )
            for row in rows
        ],
    )


def look(name: str, cls: type[Any]) -> dict[str, Any]:
    """What is known of a family: told by its fields, and seen in a few problems of it."""
    component = cast(Generator, cls())
    problems = samples(name, component, SAMPLES)
    tags = tags_of(name, cls)
    return {
        "name": name,
        "area": area_of(tags),
        "tags": tags,
        "answer_types": sorted({problem.answer.type for problem in problems}),
        "dial": dial(cls, component),
        "solutions": sorted({style for problem in problems for style in problem.solutions}),
        "summary": inspect.cleandoc(cls.__doc__ or "").partition("\n")[0],
    }


def dial(cls: type[Any], component: Generator) -> dict[str, tuple[float, float]]:
    """The quantities that difficulty changes: their values at difficulty 0 and at 1."""
    ends = {field.name: getattr(component, field.name) for field in attrs.fields(cls)}
    return {
        name: value
        for name, value in ends.items()
        if isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(each, (int, float)) for each in value)
    }
