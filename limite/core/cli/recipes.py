"""``limite recipes``: the recipes limite ships, and a copy of one to make your own."""

from __future__ import annotations

import ast
import itertools
import shutil
from pathlib import Path

import click

from limite.core.cli.groups import SuggestingGroup
from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError
from limite.core.recipe.shipped import find, shipped


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def recipes(context: click.Context, as_json: bool) -> None:
    """List the shipped recipes, or copy one."""
    if context.invoked_subcommand is not None:
        return
    found = shipped()
    rows = [{"name": name, "file": path.name, "summary": summary(path)} for name, path in found]
    if as_json:
        show_json(rows)
    else:
        show_table(
            ("NAME", "FILE", "WHAT IT IS"),
            [(row["name"], row["file"], row["summary"]) for row in rows],
        )


@recipes.command()
@click.argument("name")
@click.argument("to", required=False, type=click.Path(path_type=Path))
def copy(name: str, to: Path | None) -> None:
    """Copy the recipe NAME to the file or folder TO (here, if not given)."""
    source = find(name)
    target = source.name if to is None else to
    target = Path(target)
    if target.is_dir():
        target = target / source.name
    if target.suffix != source.suffix:
        raise LimiteError(f"{name} is a {source.suffix} recipe; TO is {str(target)!r}")
    try:
        # "x": a file that exists is never overwritten, whoever makes it and when.
        with source.open("rb") as reading, target.open("xb") as writing:
            shutil.copyfileobj(reading, writing)
    except FileExistsError:
        raise LimiteError(f"{target} exists and is not overwritten; give another name") from None
    except OSError as error:
        raise LimiteError(f"cannot write {target}: {error.strerror}") from error
    click.echo(f"wrote {target}; next: limite check {target}")


def summary(path: Path) -> str:
    """The first sentence of a recipe's docstring, or of the comment that begins a TOML file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        words = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    else:
        lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
        words = "\n".join(line.lstrip("#") for line in lines)
    first, stop, _ = " ".join(words.split()).partition(". ")
    return first + stop.rstrip()
