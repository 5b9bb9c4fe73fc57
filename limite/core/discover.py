"""Finds plugins through their entry points and fills the registry. One bad plugin stops no other.

``LIMITE_PLUGINS`` picks third-party plugins: ``all`` (the default), ``none``, or distribution
names separated by commas. ``LIMITE_STRICT_PLUGINS=1`` makes a plugin that fails an error.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

import pluggy

from limite.core import hookspecs
from limite.core.errors import LimiteError, did_you_mean
from limite.core.hookspecs import Registrar
from limite.core.registry import BUILT_IN, BrokenPlugin, Registry, normalised

GROUP = "limite"


@functools.cache
def load_registry() -> Registry:
    """The registry of this process: built-ins and the plugins the environment allows."""
    points = chosen(entry_points(group=GROUP), os.environ.get("LIMITE_PLUGINS", "all"))
    if not any(_origin(point)[0] == BUILT_IN for point in points):
        raise LimiteError(
            "limite's own components were not found: is it installed (pip install -e .)?"
        )
    return build_registry(
        points, strict=os.environ.get("LIMITE_STRICT_PLUGINS", "") not in ("", "0")
    )


def chosen(points: Iterable[EntryPoint], plugins: str) -> list[EntryPoint]:
    """limite's own entry points and those ``plugins`` allows: all, none, or distributions."""
    ordered = sorted(points, key=lambda point: (_origin(point)[0] != BUILT_IN, _origin(point)[0]))
    words = [word.strip() for word in plugins.split(",") if word.strip()]
    one = words[0].lower() if len(words) == 1 else ""
    if one == "all":
        return ordered
    wanted = {BUILT_IN} if one == "none" else {BUILT_IN, *map(normalised, words)}
    installed = {_origin(point)[0] for point in ordered}
    for word in sorted(wanted - installed - {BUILT_IN}):
        raise LimiteError(
            f"LIMITE_PLUGINS: no installed plugin {word!r}"
            f"{did_you_mean(word, installed | {'all', 'none'})}"
        )
    return [point for point in ordered if _origin(point)[0] in wanted]


def build_registry(points: Iterable[EntryPoint], *, strict: bool = False) -> Registry:
    """A registry of what ``points`` register; with ``strict``, the first failure is raised."""
    registry = Registry()
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hookspecs)
    for point in points:
        distribution, version = _origin(point)
        registrar = Registrar()
        try:
            _register(manager, point, registrar)
            registry.add(registrar.registrations, distribution=distribution, version=version)
            registry.add_absent(registrar.absences)
        except (Exception, SystemExit) as error:
            # A plugin may raise anything at all; it must not lock people out of their tools.
            reason = str(error) if isinstance(error, LimiteError) else _describe(error)
            if distribution == BUILT_IN:
                raise
            if strict:
                raise LimiteError(f"plugin {distribution} ({point.name}): {reason}") from error
            registry.add(
                registrar.registrations, distribution=distribution, version=version, broken=reason
            )
            registry.add_broken(
                BrokenPlugin(
                    plugin=point.name, distribution=distribution, version=version, reason=reason
                )
            )
    return registry


def _register(manager: pluggy.PluginManager, point: EntryPoint, registrar: Registrar) -> None:
    plugin = point.load()
    others = set(manager.get_plugins())
    if plugin in others:
        raise LimiteError(f"{point.value!r} is already registered by another entry point")
    name = f"{_origin(point)[0]}:{point.name}"
    try:
        manager.register(plugin, name=name)
        manager.check_pending()
    except pluggy.PluginValidationError:
        # Otherwise the next plugin's check would find this one's mistake.
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        raise
    if not manager.get_hookcallers(plugin):
        raise LimiteError(f"{point.value!r} has no limite_register marked with @hookimpl")
    # Only this plugin is called, so that each component is known to be its distribution's.
    manager.subset_hook_caller("limite_register", others)(registry=registrar)


def _origin(point: EntryPoint) -> tuple[str, str]:
    if point.dist is None:
        return ("unknown", "")
    return (normalised(point.dist.name), point.dist.version)


def _describe(error: BaseException) -> str:
    first = " ".join(str(error).split())
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
