"""``limite recipes``: the recipes limite ships, and a copy of one to make your own."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import click

from limite.core.cli.groups import SuggestingGroup
from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError, did_you_mean


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


def folder() -> Path:
    """Where the recipes lie: inside an installed limite, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    for place in (package / "recipes", package.parent / "recipes"):
        if place.is_dir():
            return place
    raise LimiteError(f"the recipes are missing from this installation ({package / 'recipes'})")


def shipped() -> list[tuple[str, Path]]:
    """Each recipe's name and file. Two files with one stem keep their suffixes in the name."""
    files = sorted(
        path
        for path in folder().iterdir()
        if path.suffix in (".py", ".toml") and not path.name.startswith((".", "_"))
    )
    stems = [path.stem for path in files]
    return [
        (_spoken(path.stem if stems.count(path.stem) == 1 else path.name), path) for path in files
    ]


def find(name: str) -> Path:
    """The file of the recipe ``name``; hyphens and underscores mean the same."""
    found = shipped()
    for known, path in found:
        if _spoken(name) in (known, _spoken(path.name)):
            return path
    names = [known for known, _ in found]
    near = did_you_mean(_spoken(name), names) or f"; there are {', '.join(names)}"
    raise LimiteError(f"unknown recipe {name!r}{near}")


def summary(path: Path) -> str:
    """The first line of a recipe's docstring, or of the comment that a TOML file begins with."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    first = text.partition("\n")[0]
    return first.lstrip("# ").rstrip() if first.startswith("#") else ""


def _spoken(name: str) -> str:
    return name.replace("_", "-")
