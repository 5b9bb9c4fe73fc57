"""``limite-gen list``: the families of problems there are."""

from __future__ import annotations

import inspect
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs
import click

from limite.core.cli.table import show_json, show_table
from limite.core.discover import load_registry
from limite.core.kinds import Generator
from limite.problems.gen import space
from limite.problems.gen.families import area_of, families_in, names_by_area, samples, tags_of

SAMPLES = 4


@click.command("list")
@click.argument("area", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(area: str | None, as_json: bool) -> None:
    """List the families of problems, or those of one AREA.

    Shows the area of mathematics, the types of answers, the dial (the quantities that difficulty
    changes, from its value at 0 to that at 1) and the size of the space: how many different
    problems there are at difficulty 0, 0.5 and 1. A terminal shows names by area, and the rest for
    one AREA; to a pipe goes a table with a line for each family.
    """
    registry = load_registry()
    for entry in registry.entries("generator"):
        if registry.status(entry) == "broken":
            name = registry.usable_name(entry)
            click.echo(f"warning: {name} is broken: {entry.problem}", err=True)
    terminal = sys.stdout.isatty() and not as_json
    if terminal and area is None:
        areas = names_by_area()
        for line in names_shown(areas, _columns()):
            click.echo(line)
        return
    names = families_in([area]) if area is not None else _all_names()
    rows = [look(name, registry.get("generator", name).load()) for name in sorted(names)]
    if as_json:
        show_json(rows)
    elif terminal:
        for line in families_shown(rows, _columns()):
            click.echo(line)
    else:
        show_table(
            ("FAMILY", "AREA", "ANSWER", "DIAL", "SPACE", "WHAT IT IS"),
            [
                (row["name"], row["area"], _answers(row), _dials(row), _space(row), row["summary"])
                for row in rows
            ],
        )


def names_shown(areas: Mapping[str, Sequence[str]], columns: int) -> list[str]:
    """The names of all families under their areas, as lines of at most so many characters."""
    lines = []
    for area, names in sorted(areas.items()):
        lines.append(click.style(f"{area} ({len(names)})", bold=True))
        lines += _wrapped(", ".join(sorted(names)), columns, "  ")
    count = sum(map(len, areas.values()))
    last = (
        f"{count} families; with an area behind it, list tells of answers, dials and what each is"
    )
    return [*lines, "", *_wrapped(last, columns, "")]


def families_shown(rows: Sequence[Mapping[str, Any]], columns: int) -> list[str]:
    """Some families with all that is known of them, as lines of at most so many characters."""
    lines = []
    for row in rows:
        lines.append(f"{click.style(row['name'], bold=True)}  {_answers(row)}")
        lines += _wrapped(row["summary"], columns, "  ")
        if row["dial"]:
            lines += _wrapped(_dials(row), columns, "  ")
        lines += _wrapped(f"space {_space(row)}", columns, "  ")
    return lines


def _wrapped(text: str, columns: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text,
        columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def _columns() -> int:
    return max(shutil.get_terminal_size().columns, 20)


def _all_names() -> list[str]:
    return [name for names in names_by_area().values() for name in names]


def _answers(row: Mapping[str, Any]) -> str:
    return ", ".join(row["answer_types"])


def _dials(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{dial} {low:g}-{high:g}" for dial, (low, high) in row["dial"].items())


def _space(row: Mapping[str, Any]) -> str:
    return space.text(space.of_plain(row["space"]))


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
        "space": space.plain(space.known(name, component)),
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
