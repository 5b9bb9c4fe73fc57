"""Reads a recipe, in TOML or Python, into one value, or says everything that is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import attrs

from limite.core import config
from limite.core.config import Components, Locate
from limite.core.config_faults import Fault, Faults, Key, Place, dotted
from limite.core.config_locate import TomlLines
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.kinds import Advantage
from limite.core.overrides import Override, apply_overrides, culprit, parse_override
from limite.core.recipe.python_source import run_python
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import RL


@attrs.frozen(kw_only=True)
class LoadedRecipe:
    """A recipe with everything it depends on spelled out.

    In ``recipe`` every component is built and every RL stage has its advantage; ``data`` is the
    same as plain data, and reading that gives an equal recipe. ``locate`` tells where a setting
    came from: a line of the file, or a ``--set``.
    """

    recipe: Recipe
    data: dict[str, Any]
    source_text: str
    path: Path
    kind: Literal["toml", "python"]
    locate: Locate = attrs.field(eq=False, repr=False)


def load_recipe(
    path: str | Path, overrides: Sequence[str] = (), registry: Components | None = None
) -> LoadedRecipe:
    """The recipe at ``path``, with ``--set`` overrides; a SettingsError lists every mistake."""
    path = Path(path)
    registry = load_registry() if registry is None else registry
    text = _text_of(path)
    faults: list[Fault] = []
    strays: Sequence[Mistake] = ()
    kind: Literal["toml", "python"] = "python" if path.suffix == ".py" else "toml"
    if kind == "python":
        source = run_python(text, path, Recipe)
        given, in_file = source.data, source.locate
        strays = source.strays
    else:
        given, in_file = _parsed_toml(text, path)
    sets, unreadable = _parsed_sets(overrides)
    data, refused = apply_overrides(given, sets, Recipe, registry)

    recipe = None
    try:
        recipe = _with_advantages(config.read(data, Recipe, registry), registry)
    except Faults as found:
        faults += found.faults
    before = _faults_of(given, registry) if sets and faults else ()
    fresh = {fault.path: fault.message for fault in faults if fault not in before}

    def locate(at: tuple[Key, ...]) -> Place:
        override = culprit(at, sets, message=fresh.get(at))
        return in_file(at) if override is None else Place(override.place)

    mistakes = config.mistakes(faults, locate)
    for override, fault in refused:
        mistakes.append(Mistake(fault.message, dotted(fault.path), override.place))
    mistakes += [*strays, *unreadable]
    if mistakes or recipe is None:
        in_file_first = sorted(mistakes, key=lambda m: (m.file or "--set").startswith("--set"))
        raise SettingsError(in_file_first)
    return LoadedRecipe(
        recipe=recipe,
        data=cast(dict[str, Any], config.unstructure(recipe, registry)),
        source_text=text,
        path=path,
        kind=kind,
        locate=locate,
    )


def _text_of(path: Path) -> str:
    """The text of a recipe file; a missing one names its nearest neighbours."""
    if path.suffix not in (".py", ".toml"):
        raise LimiteError(f"{path}: a recipe is a .py or a .toml file")
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        folder = path.parent
        if not folder.is_dir():
            raise LimiteError(f"{path}: there is no folder {folder}") from None
        names = [file.name for file in folder.iterdir() if file.suffix in (".py", ".toml")]
        near = did_you_mean(path.name, names)
        raise LimiteError(f"{path}: no such file{near}") from None
    except UnicodeDecodeError as error:
        raise LimiteError(f"{path}: not UTF-8 text: {error}") from None
    except OSError as error:
        raise LimiteError(f"{path}: {error.strerror}") from None


def _parsed_toml(text: str, path: Path) -> tuple[dict[str, Any], Locate]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = str(error)
        at = re.search(r" \(at line (\d+), column (\d+)\)$", told)
        line = int(at[1]) if at else text.count("\n") + 1
        column = f" (column {at[2]})" if at else ""
        message = "not valid TOML: " + re.sub(r" \(at .*\)$", "", told) + column
        raise SettingsError([Mistake(message, file=str(path), line=line)]) from None
    lines = TomlLines(text)
    return data, lambda at: Place(str(path), lines.find(at))


def _parsed_sets(overrides: Sequence[str]) -> tuple[list[Override], list[Mistake]]:
    sets, unreadable = [], []
    for text in overrides:
        try:
            sets.append(parse_override(text))
        except LimiteError as error:
            unreadable.append(Mistake(str(error)))
    return sets, unreadable


def _faults_of(data: Any, registry: Components) -> Sequence[Fault]:
    try:
        config.read(data, Recipe, registry)
    except Faults as found:
        return found.faults
    return ()


def _with_advantages(recipe: Recipe, registry: Components) -> Recipe:
    """Every RL stage with its advantage: the objective's own where the stage names none."""
    faults: list[Fault] = []
    stages = dict(recipe.stages)
    for name, stage in stages.items():
        if not isinstance(stage, RL) or stage.advantage is not None:
            continue
        paired = getattr(type(stage.objective), "paired_advantage", None)
        path = ("stages", name, "advantage")
        if paired is None:
            title = config.type_name(type(stage.objective), registry)
            faults.append(Fault(path, f"missing, and the objective {title!r} brings none"))
            continue
        try:
            advantage = config.read(paired, cast(Any, Advantage), registry)
        except Faults as found:
            faults += [fault.under(*path) for fault in found.faults]
        else:
            stages[name] = attrs.evolve(stage, advantage=advantage)
    if faults:
        raise Faults(faults)
    return attrs.evolve(recipe, stages=stages)
