"""Whether somebody named a run or a model's directory."""

from __future__ import annotations

from pathlib import Path

from limite.core.errors import LimiteError, did_you_mean


def found_model(named: Path) -> tuple[Path, bool]:
    """The folder meant, and whether it is that of a run; the name of a run under runs/ will do."""
    from limite.core.pretrained.directory import CONFIG_FILE
    from limite.core.recipe.rundir import RunDirectory
    from limite.core.recipe.trained import is_run

    if not named.exists() and (Path("runs") / named).is_dir():
        named = Path("runs") / named
    if not named.exists():
        beside = [*_folders(named.parent), *(f"runs/{name}" for name in _folders(Path("runs")))]
        near = did_you_mean(str(named) if "/" in str(named) else named.name, beside)
        raise LimiteError(f"{named}: no such run and no such directory{near}")
    if named.is_file():
        hint = f"; limite import gguf {named} --to DIR" if named.suffix == ".gguf" else ""
        raise LimiteError(
            f"{named}: expected a run's folder or a model's directory, got a file{hint}"
        )
    if is_run(named):
        return named, True
    if (named / CONFIG_FILE).exists():
        return named, False
    try:
        RunDirectory.open(named)
    except LimiteError as error:
        raise LimiteError(
            f"{error}; nor is it a model's directory: there is no {CONFIG_FILE}"
        ) from error
    raise AssertionError("it has no recipe, and yet it is a run")


def _folders(place: Path) -> list[str]:
    return [entry.name for entry in place.iterdir() if entry.is_dir()] if place.is_dir() else []
