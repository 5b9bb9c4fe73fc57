"""Watches a Python recipe make its settings: which keyword stood on which line, and which is wrong.

Calls are found in the syntax tree and compiled to go through ``Recorder.call``, which makes a
settings value from whatever it is given and calls everything else as it stands.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from typing import Any

import attrs

from limite.core.config_faults import Place, unknown_key
from limite.core.errors import did_you_mean

HOOK = "__limite_call__"
# These look at the frame they are called from, so nothing may stand between.
_FRAME_BOUND = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}


class Missing:
    """Stands where a required keyword was not given."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING = Missing()


@attrs.frozen
class Origin:
    """The expression a value was written as."""

    file: str
    node: ast.AST

    @property
    def place(self) -> Place:
        return Place(self.file, getattr(self.node, "lineno", None))


@attrs.frozen(eq=False)
class Slip:
    """A keyword that a call should not have, or lacks."""

    cls: type
    alias: str
    message: str
    place: Place


@attrs.frozen(eq=False)
class Birth:
    """How a settings value was made: the call, the origin of each keyword, and what was wrong."""

    value: Any
    place: Place
    given: dict[str, Origin]
    unknown: dict[str, tuple[Slip, Any]]
    missing: dict[str, Slip]


class Recorder:
    """Remembers every settings value that a recipe and its own modules make."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.slips: list[Slip] = []
        self._births: dict[int, Birth] = {}
        self._sites: list[tuple[str, ast.Call]] = []
        self._active: list[tuple[int, dict[str, Any]]] = []

    def compile(self, text: str | bytes, file: str, shown: str) -> types.CodeType:
        """The code of a file whose calls are watched; errors name it ``shown``."""
        self.files[file] = shown
        tree = _Rewrite(shown, self._sites).visit(ast.parse(text, file))
        return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)

    def install(self, namespace: dict[str, Any]) -> None:
        """Makes ``namespace`` fit to run watched code."""
        namespace[HOOK] = self.call

    def birth(self, value: Any) -> Birth | None:
        """How ``value`` was made, if a watched call made it."""
        return self._births.get(id(value))

    def call(self, site: int, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """What the watched expression ``function(*args, **kwargs)`` does."""
        if isinstance(function, functools.partial) and is_settings(function.func):
            args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
            function = function.func
        if function is attrs.evolve and len(args) == 1 and attrs.has(type(args[0])):
            return self._evolve(site, args[0], kwargs)
        if is_settings(function):
            return self._make(site, function, args, kwargs)
        self._active.append((site, kwargs))
        try:
            return function(*args, **kwargs)
        finally:
            self._active.pop()

    def _make(self, site: int, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        file, node = self._sites[site]
        place = Place(file, node.lineno)
        fields = _init_fields(cls)
        by_position = [alias for alias, field in fields.items() if not field.kw_only]
        if len(args) > len(by_position):
            allowed = f"only {by_position[-1]!r}" if len(by_position) == 1 else "nothing"
            allowed = f"only {len(by_position)} values" if len(by_position) > 1 else allowed
            message = f"takes {allowed} by position, got {len(args)}; name the others"
            self.slips.append(Slip(cls, "", message, place))
        given: dict[str, Any] = dict(zip(by_position, args, strict=False))
        origins = {
            alias: Origin(file, _positional(node, index)) for index, alias in enumerate(given)
        }
        unknown = self._take(cls, kwargs, given, origins, site)
        missing = {
            alias: Slip(cls, alias, "missing", place)
            for alias, field in fields.items()
            if alias not in given and field.default is attrs.NOTHING
        }
        meant = " ".join(slip.message for slip, _ in unknown.values())
        self.slips += [slip for slip in missing.values() if f"{slip.alias!r}" not in meant]
        values = {**given, **dict.fromkeys(missing, MISSING)}
        return self._born(cls, values, place, origins, unknown, missing)

    def _evolve(self, site: int, source: Any, changes: dict[str, Any]) -> Any:
        file, node = self._sites[site]
        cls = type(source)
        earlier = self.birth(source)
        values = {alias: getattr(source, field.name) for alias, field in _init_fields(cls).items()}
        origins = dict(earlier.given) if earlier else {}
        inherited = dict(earlier.unknown) if earlier else {}
        unknown = self._take(cls, changes, values, origins, site)
        missing = dict(earlier.missing) if earlier else {}
        missing = {alias: slip for alias, slip in missing.items() if values[alias] is MISSING}
        place = Place(file, node.lineno)
        return self._born(cls, values, place, origins, {**inherited, **unknown}, missing)

    def _take(
        self,
        cls: type,
        keywords: dict[str, Any],
        values: dict[str, Any],
        origins: dict[str, Origin],
        site: int,
    ) -> dict[str, tuple[Slip, Any]]:
        """Known keywords go into ``values``; the others are returned."""
        fields = _init_fields(cls)
        unknown: dict[str, tuple[Slip, Any]] = {}
        for key, value in keywords.items():
            origin = self._keyword(site, key, value)
            if key in fields:
                values[key] = value
                origins[key] = origin
            else:
                message = unknown_key(cls, key, did_you_mean(key, fields))
                slip = Slip(cls, key, message, origin.place)
                unknown[key] = (slip, value)
                self.slips.append(slip)
        return unknown

    def _keyword(self, site: int, name: str, value: Any) -> Origin:
        """Where a keyword was written: here, or in the call that handed it on by ``**``."""
        handed_on = [outer for outer, kwargs in self._active if kwargs.get(name, self) is value]
        for number in (site, *reversed(handed_on)):
            file, node = self._sites[number]
            for keyword in node.keywords:
                if keyword.arg == name:
                    return Origin(file, keyword)
        file, node = self._sites[site]
        unpacked = [keyword for keyword in node.keywords if keyword.arg is None]
        return Origin(file, unpacked[0] if unpacked else node)

    def _born(
        self,
        cls: type,
        values: dict[str, Any],
        place: Place,
        origins: dict[str, Origin],
        unknown: dict[str, tuple[Slip, Any]],
        missing: dict[str, Slip],
    ) -> Any:
        try:
            value = cls(**values)
        except Exception:
            # A class may check itself in ways that a wrong value breaks. It is made again from
            # values that were read strictly, where what it raises is told or is a bug.
            value = object.__new__(cls)
            for alias, field in _init_fields(cls).items():
                if alias in values:
                    object.__setattr__(value, field.name, values[alias])
                elif not isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]
                    object.__setattr__(value, field.name, field.default)
        self._births[id(value)] = Birth(value, place, origins, unknown, missing)
        return value


def is_settings(function: Any) -> bool:
    """Whether calling ``function`` makes an attrs value from its fields alone."""
    if not isinstance(function, type) or not attrs.has(function):
        return False
    try:
        parameters = inspect.signature(function).parameters
    except (ValueError, TypeError):
        return False
    return set(parameters) == set(_init_fields(function))


def _init_fields(cls: type) -> dict[str, attrs.Attribute[Any]]:
    return {str(field.alias): field for field in attrs.fields(cls) if field.init}


def _positional(node: ast.Call, index: int) -> ast.AST:
    """The node of a positional argument, past the two that the rewriting put in front."""
    arguments = node.args[2:]
    if any(isinstance(argument, ast.Starred) for argument in arguments[: index + 1]):
        return node
    return arguments[index]


class _Rewrite(ast.NodeTransformer):
    """``f(x)`` becomes ``__limite_call__(site, f, x)``."""

    def __init__(self, file: str, sites: list[tuple[str, ast.Call]]) -> None:
        self._file = file
        self._sites = sites

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _FRAME_BOUND:
            return node
        hook = ast.copy_location(ast.Name(HOOK, ast.Load()), node.func)
        site = ast.copy_location(ast.Constant(len(self._sites)), node.func)
        watched = ast.Call(hook, [site, node.func, *node.args], node.keywords)
        watched = ast.copy_location(watched, node)
        self._sites.append((self._file, watched))
        return watched
