"""The recipes that limite ships: where they lie, and what they are called."""

from __future__ import annotations

from pathlib import Path

from limite.core.errors import LimiteError, did_you_mean


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


def _spoken(name: str) -> str:
    return name.replace("_", "-")
