"""The components that are there: found by kind and name, imported only when used."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.core.hookspecs import Registration
from limite.core.kernels.dispatch import MODULES
from limite.core.kinds import KINDS
from limite.core.sources import first_doc_line, missing_target

BUILT_IN = "limite"
NAMED = 40
"""More components of a kind than this are not all named in an error."""

Status = Literal["ok", "shadowed", "ambiguous", "broken"]


def normalised(distribution: str) -> str:
    """The one spelling of a distribution's name: lower case, hyphens."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


@attrs.frozen(kw_only=True)
class BrokenPlugin:
    """A plugin that could not be loaded, and why."""

    plugin: str
    distribution: str
    version: str
    reason: str


@attrs.define(kw_only=True, eq=False)
class Entry:
    """One component: where it comes from, and how to get its class."""

    kind: str
    name: str
    distribution: str
    version: str
    target: type[Any] | str
    broken: str | None = None
    _loaded: type[Any] | None = attrs.field(default=None, init=False, repr=False)

    @property
    def qualified_name(self) -> str:
        """``"distribution/name"``: right whatever else is installed."""
        return f"{self.distribution}/{self.name}"

    @property
    def address(self) -> str:
        """The target as ``"package.module:Class"``."""
        if isinstance(self.target, str):
            return self.target
        return f"{self.target.__module__}:{self.target.__qualname__}"

    @property
    def summary(self) -> str:
        """The first line of the class's docstring. Nothing is imported for it."""
        if isinstance(self.target, str):
            return first_doc_line(self.target)
        return inspect.cleandoc(self.target.__doc__ or "").partition("\n")[0].strip()

    @property
    def problem(self) -> str | None:
        """Why the component cannot be used, as far as can be told without importing it."""
        if self.broken is None and self._loaded is None and isinstance(self.target, str):
            return missing_target(self.target)
        return self.broken

    def load(self) -> type[Any]:
        """The class, imported and checked against the protocol of its kind."""
        if self._loaded is not None:
            return self._loaded
        if self.broken is not None:
            raise LimiteError(self._message(self.broken))
        try:
            found = _resolve(self.target) if isinstance(self.target, str) else self.target
        except (Exception, SystemExit) as error:
            # Whatever a plugin's module raises is the plugin's fault, told as such.
            raise LimiteError(self._message(f"{type(error).__name__}: {error}")) from error
        reason = unfit(self.kind, found)
        if reason is not None:
            raise LimiteError(self._message(reason))
        self._loaded = found
        return found

    def _message(self, reason: str) -> str:
        return f"{self.kind} {self.name!r} of {self.distribution} is broken: {reason}"


def _resolve(target: str) -> Any:
    module, _, path = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def unfit(kind: str, component: Any) -> str | None:
    """Why a class cannot serve as ``kind``: its form or a member it lacks. None when it can."""
    if not isinstance(component, type):
        return f"{component!r} is not a class"
    name = component.__qualname__
    if not attrs.has(component) or not attrs.inspect(component).is_frozen:
        return f"{name} is not a frozen attrs class (@attrs.frozen(kw_only=True))"
    for field in attrs.fields(component):
        if field.init and not field.kw_only:
            return f"{name}.{field.name} can be given by position (@attrs.frozen(kw_only=True))"
    protocol = KINDS[kind]
    if kind == "kernel":
        op = getattr(component, "op", None)
        if not isinstance(op, str) or op not in MODULES:
            near = did_you_mean(str(op), MODULES) or f"; there are {', '.join(MODULES)}"
            return f"{name}.op must name an operation, got {op!r}{near}"
    for member, wanted in vars(protocol).items():
        if not inspect.isfunction(wanted) or (member.startswith("_") and member != "__call__"):
            continue
        # Not hasattr: every class has __call__ through its metaclass.
        owner = next((base for base in component.__mro__ if member in vars(base)), None)
        if owner is None:
            return f"{name} has no {member}{_arguments(wanted)}, which every {kind} needs"
        given = vars(owner)[member]
        parameters = inspect.signature(wanted).parameters
        anything = any(each.kind is each.VAR_POSITIONAL for each in parameters.values())
        if inspect.isfunction(given) and not anything:
            try:
                inspect.signature(given).bind(*parameters)
            except TypeError as error:
                return f"{name}.{member} must take {_arguments(wanted)}: {error}"
    return None


def _arguments(function: Any) -> str:
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return f"({', '.join(names)})"


class Registry:
    """All components, by kind and name.

    A built-in keeps its plain name whatever is installed. A plugin's component answers to its
    plain name while that is unambiguous, and to ``distribution/name`` always.
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._broken: list[BrokenPlugin] = []
        self._absent: dict[tuple[str, str], str] = {}

    @property
    def broken(self) -> Sequence[BrokenPlugin]:
        """The plugins that could not be loaded."""
        return tuple(self._broken)

    def add(
        self,
        registrations: Iterable[Registration],
        *,
        distribution: str = BUILT_IN,
        version: str = "",
        broken: str | None = None,
    ) -> None:
        """Take all components of one plugin, or none: a LimiteError says what is in the way."""
        entries = [
            Entry(
                kind=registration.kind,
                name=registration.name,
                target=registration.target,
                distribution=normalised(distribution),
                version=version,
                broken=broken,
            )
            for registration in registrations
        ]
        if broken is None:
            for entry in entries:
                for earlier in self._entries:
                    if earlier.broken is None:
                        _refuse_clash(earlier, entry)
        self._entries.extend(entries)

    def add_absent(self, absences: Mapping[tuple[str, str], str]) -> None:
        """Remember components whose packages are not installed: (kind, name) to the reason."""
        self._absent |= absences

    def add_broken(self, plugin: BrokenPlugin) -> None:
        """Remember a plugin that could not be loaded."""
        self._broken.append(plugin)

    def entries(self, kind: str | None = None) -> Sequence[Entry]:
        """Every component, or those of one kind: in the order of the kinds, then by name."""
        if kind is not None:
            _check_kind(kind)
        order = list(KINDS)
        return sorted(
            (entry for entry in self._entries if kind is None or entry.kind == kind),
            key=lambda entry: (
                order.index(entry.kind),
                entry.name,
                entry.distribution != BUILT_IN,
                entry.distribution,
            ),
        )

    def get(self, kind: str, name: str) -> Entry:
        """The component that ``name`` stands for; a LimiteError says what is wrong with it."""
        _check_kind(kind)
        distribution, slash, plain = name.rpartition("/")
        if slash:
            wanted = normalised(distribution)
            candidates = [e for e in self._named(kind, plain) if e.distribution == wanted]
        else:
            candidates = self._named(kind, name)
            built_in = [e for e in candidates if e.distribution == BUILT_IN]
            candidates = built_in or candidates
        working = [entry for entry in candidates if entry.broken is None]
        if len(working) > 1:
            offers = " or ".join(repr(entry.qualified_name) for entry in working)
            raise LimiteError(f"{kind} {name!r} is offered by several plugins; say {offers}")
        if working:
            return working[0]
        if candidates:
            first = candidates[0]
            raise LimiteError(
                f"{kind} {name!r} comes from the plugin {first.distribution}, "
                f"which is broken: {first.broken}"
            )
        raise LimiteError(self._unknown(kind, name))

    def names(self, kind: str) -> Sequence[str]:
        """The names that work for ``kind``: plain where that is unambiguous, else qualified."""
        working = [entry for entry in self.entries(kind) if entry.broken is None]
        return tuple(self.usable_name(entry) for entry in working)

    def status(self, entry: Entry) -> Status:
        """Whether the component's plain name means it, something else, or nothing certain."""
        if entry.problem is not None:
            return "broken"
        if entry.distribution == BUILT_IN:
            return "ok"
        same = self._named(entry.kind, entry.name)
        if any(rival.distribution == BUILT_IN for rival in same):
            return "shadowed"
        return "ambiguous" if sum(rival.broken is None for rival in same) > 1 else "ok"

    def usable_name(self, entry: Entry) -> str:
        """The shortest name that ``get`` answers with ``entry``."""
        plain = self.status(entry) in ("ok", "broken")
        return entry.name if plain else entry.qualified_name

    def entry_of(self, component: type[Any]) -> Entry:
        """The entry that a class is registered under."""
        address = f"{component.__module__}:{component.__qualname__}"
        package = component.__module__.partition(".")[0]
        working = [entry for entry in self._entries if entry.broken is None]
        for entry in working:
            if entry.target is component or entry._loaded is component or entry.target == address:
                return entry
        for entry in working:
            # The target may name the class where its package shows it, not where it is defined.
            if (
                isinstance(entry.target, str)
                and entry.target.partition(":")[0].partition(".")[0] == package
                and missing_target(entry.target) is None
                and entry.address.rpartition(":")[2] == component.__qualname__
                and entry.load() is component
            ):
                return entry
        raise LimiteError(f"{address} is not a registered component")

    def is_component(self, value: type[Any]) -> bool:
        """Whether a class is registered."""
        try:
            self.entry_of(value)
        except LimiteError:
            return False
        return True

    def name_of(self, component: type[Any]) -> str:
        """The name to write for a class: reading it back gives the class again."""
        return self.usable_name(self.entry_of(component))

    def _named(self, kind: str, name: str) -> list[Entry]:
        return [entry for entry in self._entries if (entry.kind, entry.name) == (kind, name)]

    def _unknown(self, kind: str, name: str) -> str:
        if (kind, name) in self._absent:
            return f"{kind} {name!r} {self._absent[kind, name]}"
        distribution = name.rpartition("/")[0]
        for plugin in self._broken:
            if normalised(plugin.distribution) == normalised(distribution):
                return (
                    f"{kind} {name!r} comes from the plugin {plugin.distribution}, "
                    f"which is broken: {plugin.reason}"
                )
        qualified = [entry.qualified_name for entry in self.entries(kind)]
        known = [*self.names(kind), *qualified] if distribution else list(self.names(kind))
        message = f"unknown {kind} {name!r}{did_you_mean(name, known)}"
        if "did you mean" not in message and known:
            names = self.names(kind)
            spoken = kind.replace("_", "-")
            message += (
                f"; there are {', '.join(names)}"
                if len(names) <= NAMED
                else f"; limite plugins {spoken} lists the {len(names)} there are"
            )
        # A plugin that did not load may be where the name was expected from.
        for plugin in self._broken:
            message += f"; the plugin {plugin.distribution} is broken: {plugin.reason}"
        return message


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS)
        raise LimiteError(f"unknown kind {kind!r}{near or '; there are ' + ', '.join(KINDS)}")


def _refuse_clash(earlier: Entry, entry: Entry) -> None:
    if earlier.target is entry.target or earlier.address == entry.address:
        raise LimiteError(
            f"{entry.kind} {entry.name!r}: its class is already {earlier.kind} "
            f"{earlier.qualified_name!r}; one class has one name"
        )
    if (earlier.kind, earlier.qualified_name) == (entry.kind, entry.qualified_name):
        raise LimiteError(f"{entry.kind} {entry.qualified_name!r} is registered twice")
