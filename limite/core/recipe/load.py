"""Reads a recipe, in TOML or Python, into one value, or says everything that is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
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
from limite.core.recipe.folders import without_none
from limite.core.recipe.matched.settings import Matched, refuse_comparison
from limite.core.recipe.python_source import run_python
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.shipped import shipped
from limite.core.recipe.stages import PLAIN_ADVANTAGE, RL


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


@attrs.frozen(kw_only=True)
class Draft:
    """A recipe as far as it could be read, and what is wrong with it.

    With mistakes, ``recipe`` lacks the settings they are about.
    """

    recipe: Any
    cls: type[Recipe] | type[Matched]
    mistakes: Sequence[Mistake]
    source_text: str
    path: Path
    kind: Literal["toml", "python"]
    locate: Locate


def load_recipe(
    path: str | Path, overrides: Sequence[str] = (), registry: Components | None = None
) -> LoadedRecipe:
    """The recipe at ``path``, with ``--set`` overrides; a SettingsError lists every mistake."""
    registry = load_registry() if registry is None else registry
    return finished(draft_recipe(path, overrides, registry), registry)


def recipe_of(data: Mapping[str, Any], registry: Components | None = None) -> Recipe:
    """The recipe of resolved plain data, such as a receipt keeps; a LimiteError if it is none."""
    registry = load_registry() if registry is None else registry
    recipe, faults = _read(without_none(data), Recipe, registry)
    faults += _add_advantages(recipe, registry)
    if faults:
        raise SettingsError(config.mistakes(faults, lambda _path: Place("the receipt")))
    return cast(Recipe, recipe)


def finished(draft: Draft, registry: Components) -> LoadedRecipe:
    """The recipe of a draft without mistakes; the SettingsError of one that has some."""
    if draft.mistakes:
        raise SettingsError(draft.mistakes)
    return LoadedRecipe(
        recipe=draft.recipe,
        data=cast(dict[str, Any], config.unstructure(draft.recipe, registry)),
        source_text=draft.source_text,
        path=draft.path,
        kind=draft.kind,
        locate=draft.locate,
    )


def draft_recipe(path: str | Path, overrides: Sequence[str], registry: Components) -> Draft:
    """Reads as much of a recipe as can be, and collects the mistakes of the rest.

    What cannot be read at all (no such file, not TOML, a Python file that ends in an exception)
    is raised, and so is a comparison of recipes.
    """
    draft = draft_any(path, overrides, registry)
    refuse_comparison(draft.recipe, path)
    if draft.cls is Matched:
        raise SettingsError(draft.mistakes)
    return draft


def draft_any(path: str | Path, overrides: Sequence[str], registry: Components) -> Draft:
    """The same of a recipe or a comparison of some (``Matched``).

    Of a comparison, ``--set`` changes every variant, unless it names a field of the comparison.
    """
    try:
        return _draft(Path(path), overrides, registry)
    except RecursionError:
        raise LimiteError(f"{path}: tables or arrays are nested too deeply to be read") from None


def _draft(path: Path, overrides: Sequence[str], registry: Components) -> Draft:
    text = _text_of(path)
    strays: Sequence[Mistake] = ()
    kind: Literal["toml", "python"] = "python" if path.suffix == ".py" else "toml"
    if kind == "python":
        source = run_python(text, path, Recipe, Matched)
        given, in_file = source.data, source.locate
        strays = source.strays
    else:
        given, in_file = _parsed_toml(text, path)
    cls = getattr(given, "origin", None) or (Matched if "variants" in given else Recipe)
    sets, unreadable = _parsed_sets(overrides)
    if cls is Matched:
        sets = _of_variants(sets, given)
    data, refused = apply_overrides(given, sets, cls, registry)

    recipe, faults = _read(data, cls, registry)
    faults += _add_advantages(recipe, registry)
    for name, variant in getattr(recipe, "variants", {}).items():
        faults += [each.under("variants", name) for each in _add_advantages(variant, registry)]
    before = _read(given, cls, registry)[1] if sets and faults else ()
    fresh = {fault.path: fault.message for fault in faults if fault not in before}

    def locate(at: tuple[Key, ...]) -> Place:
        override = culprit(at, sets, message=fresh.get(at))
        return in_file(at) if override is None else Place(override.place)

    mistakes = config.mistakes(faults, locate)
    for override, fault in refused:
        mistakes.append(Mistake(fault.message, dotted(fault.path), override.place))
    mistakes += [*strays, *unreadable]
    return Draft(
        recipe=recipe,
        cls=cls,
        mistakes=in_order(mistakes),
        source_text=text,
        path=path,
        kind=kind,
        locate=locate,
    )


def whole(value: Any) -> bool:
    """Whether a component, or other settings, could be read in full."""
    return attrs.has(type(value)) and all(
        hasattr(value, field.name) for field in attrs.fields(type(value))
    )


def in_order(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """The mistakes of the file by line, then those of ``--set``."""

    def key(mistake: Mistake) -> tuple[bool, str, int]:
        file = mistake.file or "--set"
        return file.startswith("--set"), file, mistake.line or 0

    return sorted(mistakes, key=key)


def _text_of(path: Path) -> str:
    """The text of a recipe file; a missing one names its nearest neighbours."""
    if path.suffix not in (".py", ".toml"):
        if path.exists():
            raise LimiteError(f"{path}: a recipe is a .py or a .toml file")
        raise LimiteError(f"{path}: no such file{_hint(path)}")
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise LimiteError(f"{path}: there is no folder {path.parent}") from None
        raise LimiteError(f"{path}: no such file{_hint(path)}") from None
    except UnicodeDecodeError as error:
        raise LimiteError(f"{path}: not UTF-8 text: {error}") from None
    except OSError as error:
        raise LimiteError(f"{path}: {error.strerror}") from None


def _hint(path: Path) -> str:
    """Where the recipe that was meant may be: beside, or among those that limite ships."""
    folder = path.parent
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    stems = {file.stem: file.name for file in files if file.suffix in (".py", ".toml")}
    # Judged without the suffix, which all of them share; a short name is soon like any other.
    near = did_you_mean(path.stem, stems, cutoff=0.75)
    for stem, name in stems.items():
        near = near.replace(repr(stem), repr(name))
    if near:
        return near
    try:
        offered = shipped() if path.parent == Path() else []
    except LimiteError:  # an installation without them
        offered = []
    for name, file in offered:
        if path.name in (name, file.stem, file.name):
            return f"; limite ships one of that name: limite recipes copy {name}"
    return ""


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
    except ValueError as error:  # a number of thousands of digits
        message = f"not valid TOML: {error}".partition(";")[0]
        raise SettingsError([Mistake(message, file=str(path))]) from None
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


def _of_variants(sets: Sequence[Override], given: Mapping[str, Any]) -> list[Override]:
    """What is no field of a comparison itself is one of every variant."""
    own = {field.name for field in attrs.fields(Matched)}
    variants = given.get("variants")
    names = list(variants) if isinstance(variants, Mapping) else []
    found = []
    for each in sets:
        paths = [each.path] if each.path[0] in own else [("variants", n, *each.path) for n in names]
        found += [attrs.evolve(each, path=path) for path in paths]
    return found


def _read(data: Any, cls: type, registry: Components) -> tuple[Any, list[Fault]]:
    """The recipe, or what of it can be read, and the faults of the rest."""
    try:
        return config.read(data, cls, registry), []
    except Faults as found:
        return found.partial, list(found.faults)


def _add_advantages(recipe: Any, registry: Components) -> list[Fault]:
    """Gives every RL stage that names no advantage its objective's own, or else the plain one."""
    faults: list[Fault] = []
    stages = getattr(recipe, "stages", {})
    for name, stage in stages.items():
        # A part of a recipe lacks what could not be read; whatever that is was told already.
        objective = getattr(stage, "objective", None)
        if not isinstance(stage, RL) or objective is None:
            continue
        if getattr(stage, "advantage", objective) is not None:
            continue
        paired = getattr(type(objective), "paired_advantage", PLAIN_ADVANTAGE)
        path = ("stages", name, "advantage")
        try:
            advantage = config.read(paired, cast(Any, Advantage), registry)
        except Faults as found:
            faults += [fault.under(*path) for fault in found.faults]
        else:
            object.__setattr__(stage, "advantage", advantage)
    return faults
