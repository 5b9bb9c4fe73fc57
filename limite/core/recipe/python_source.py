"""Python recipes: run once, with every mistaken keyword remembered with its line, not raised.

Ordinarily the first wrong keyword ends a Python file with a TypeError. Here each call in the file
is compiled to ask first whether it makes a settings value; if so the value is made without its
validators, and missing and unknown keywords are noted with their lines. What the file made is
then read as strictly as TOML is, and all that is wrong with it is told at once.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import traceback
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import attrs

from limite.core.config import Locate
from limite.core.config_faults import Key, Place
from limite.core.config_fields import Table
from limite.core.config_leaves import describe
from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.recipe import python_calls
from limite.core.recipe.python_calls import MISSING, Origin, Recorder, Slip
from limite.core.recipe.python_imports import own_imports

MODULE = "limite_recipe"


@attrs.frozen(kw_only=True)
class PythonSource:
    """What a Python recipe made: settings as tables, where each stands, and stray mistakes.

    ``strays`` are wrong keywords of values that did not get into the recipe.
    """

    data: Any
    locate: Locate
    strays: Sequence[Mistake]


def run_python(text: str, path: Path, expected: type, *others: type) -> PythonSource:
    """Runs the file and takes its ``recipe``, which is ``expected`` or one of the ``others``.

    An exception in it is told with file and line.
    """
    recorder = Recorder()
    module = types.ModuleType(MODULE)
    module.__file__ = str(path.resolve())
    recorder.install(module.__dict__)
    sys.modules[MODULE] = module  # where annotations of classes made in the file are looked up
    with own_imports(path.parent, recorder), _own_warnings(recorder), attrs.validators.disabled():
        try:
            exec(recorder.compile(text, module.__file__, str(path)), module.__dict__)
        except (Exception, SystemExit) as error:
            # A recipe is a program of the user's and may fail in any way at all.
            wrong = [_stray(slip) for slip in recorder.slips]
            wrong.append(_failure(error, path, recorder, vars(module)))
            raise SettingsError(wrong) from error
    value = vars(module).get("recipe")
    if not isinstance(value, (expected, *others)):
        missing = Mistake(_no_recipe(vars(module), expected), file=str(path))
        raise SettingsError([*(_stray(slip) for slip in recorder.slips), missing])
    tree = _Tree(recorder)
    data = tree.flatten(value, (), None)
    strays = [_stray(slip) for slip in recorder.slips if slip not in tree.told]

    def locate(at: Sequence[Key]) -> Place:
        for length in range(len(at), -1, -1):
            place = tree.places.get(tuple(at[:length]))
            if place is not None:
                return place
        return Place(str(path))

    return PythonSource(data=data, locate=locate, strays=strays)


@contextmanager
def _own_warnings(recorder: Recorder) -> Iterator[None]:
    """Inside, a warning about a call is shown at that call and not at what watches it."""
    shown = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        frame: types.FrameType | None = sys._getframe()
        while filename == python_calls.__file__ and frame is not None:
            if frame.f_code.co_filename in recorder.files:
                filename, lineno = frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back
        shown(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown


class _Tree:
    """The settings a recipe is made of as tables, with the place of every path."""

    def __init__(self, recorder: Recorder) -> None:
        self.places: dict[tuple[Key, ...], Place] = {}
        self.told: set[Slip] = set()
        self._recorder = recorder

    def flatten(self, value: Any, path: tuple[Key, ...], origin: Origin | None) -> Any:
        if attrs.has(type(value)):
            return self._table(value, path)
        if isinstance(value, Mapping):
            written = _entries(origin)
            return {
                key: self._item(item, (*path, str(key)), written.get(key))
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            elements = _elements(origin)
            return [
                self._item(item, (*path, index), elements.get(index))
                for index, item in enumerate(value)
            ]
        return value

    def _item(self, value: Any, path: tuple[Key, ...], origin: Origin | None) -> Any:
        if origin is not None:
            self.places[path] = origin.place
        return self.flatten(value, path, origin)

    def _table(self, value: Any, path: tuple[Key, ...]) -> Table:
        birth = self._recorder.birth(value)
        if birth is not None:
            self.places[path] = birth.place
        settings: dict[str, Any] = {}
        for field in attrs.fields(type(value)):
            alias = str(field.alias)
            item = getattr(value, field.name, MISSING)
            if not field.init:
                continue
            if item is MISSING:
                if birth is not None and alias in birth.missing:
                    self.told.add(birth.missing[alias])
                    self.places[(*path, alias)] = birth.missing[alias].place
                continue
            origin = birth.given.get(alias) if birth is not None else None
            settings[alias] = self._item(item, (*path, alias), origin)
        for alias, (slip, item) in birth.unknown.items() if birth is not None else ():
            self.told.add(slip)
            self.places[(*path, alias)] = slip.place
            settings[alias] = item
        return Table(settings, type(value))


def _entries(origin: Origin | None) -> dict[Any, Origin]:
    """The entries of a table that was written out, by key; the line is that of the key."""
    node = _expression(origin)
    if origin is None or not isinstance(node, ast.Dict):
        return {}
    return {
        key.value: Origin(origin.file, ast.copy_location(ast.keyword(None, value), key))
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }


def _elements(origin: Origin | None) -> dict[int, Origin]:
    """The elements of an array that was written out."""
    node = _expression(origin)
    if origin is None or not isinstance(node, (ast.List, ast.Tuple)):
        return {}
    if any(isinstance(element, ast.Starred) for element in node.elts):
        return {}
    return {index: Origin(origin.file, element) for index, element in enumerate(node.elts)}


def _expression(origin: Origin | None) -> ast.AST | None:
    node = origin.node if origin is not None else None
    return node.value if isinstance(node, ast.keyword) else node


def _stray(slip: Slip) -> Mistake:
    path = f"{slip.cls.__name__}.{slip.alias}" if slip.alias else slip.cls.__name__
    return Mistake(slip.message, path, slip.place.file, slip.place.line)


def _failure(
    error: BaseException, path: Path, recorder: Recorder, names: Mapping[str, Any]
) -> Mistake:
    """An exception of the recipe's, with the line of the recipe that it came from."""
    if isinstance(error, SyntaxError):
        message = f"{type(error).__name__}: {error.msg}"
        file = recorder.files.get(error.filename or "", error.filename or str(path))
        return Mistake(message, file=file, line=error.lineno)
    message = str(error) if isinstance(error, LimiteError) else f"{type(error).__name__}: {error}"
    if isinstance(error, NameError) and error.name:
        message += did_you_mean(error.name, [*names, *dir(builtins)])
    if isinstance(error, ImportError) and error.name in sys.modules:
        wanted = getattr(error, "name_from", None)  # before Python 3.12 the message alone says it
        quoted = re.match(r"cannot import name '(\w+)' from ", str(error))
        if wanted is None and quoted is not None:
            wanted = quoted[1]
        if wanted:
            message += did_you_mean(wanted, dir(sys.modules[error.name]))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in recorder.files:
            return Mistake(message, file=recorder.files[frame.filename], line=frame.lineno)
    return Mistake(message, file=str(path))


def _no_recipe(names: Mapping[str, Any], expected: type) -> str:
    if "recipe" in names:
        return f"`recipe` must be a {expected.__name__}, got {describe(names['recipe'])}"
    others = [name for name, value in names.items() if isinstance(value, expected)]
    there = f"; it defines {others[0]!r}: call that `recipe`" if others else ""
    return f"defines no `recipe` (recipe = {expected.__name__}(...)){there}"
