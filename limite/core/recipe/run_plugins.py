"""The plugins that a run was made with, named where its recipe cannot be read without them."""

from __future__ import annotations

import contextlib
import importlib.metadata
from collections.abc import Iterator, Mapping

from limite.core.discover import load_registry
from limite.core.errors import LimiteError, Mistake, SettingsError, mistakes_of
from limite.core.recipe.rundir import RECEIPT, RunDirectory
from limite.core.registry import BUILT_IN, Registry


@contextlib.contextmanager
def naming_plugins(run: RunDirectory, registry: Registry | None = None) -> Iterator[None]:
    """Within it a recipe of ``run`` that cannot be read also tells which plugins are not there."""
    try:
        yield
    except SettingsError as error:
        registry = load_registry() if registry is None else registry
        missing = [*missing_plugins(_recorded(run), registry)]
        if not missing:
            raise
        told = Mistake(
            f"the run was made with {' and '.join(missing)}", "plugins", str(run.path / RECEIPT)
        )
        # First: what follows may be all of it wrong for this one reason.
        raise SettingsError([told, *mistakes_of(error)]) from error


def missing_plugins(recorded: Mapping[str, str], registry: Registry) -> Iterator[str]:
    """The plugins of ``recorded`` (distribution to version) that are not what they were."""
    loaded = {entry.distribution: entry.version for entry in registry.entries()}
    broken = {plugin.distribution: plugin for plugin in registry.broken}
    for name, version in sorted(recorded.items()):
        if name == BUILT_IN or loaded.get(name) == version:
            continue
        title = f"the plugin {name} {version}"
        # A receipt knows no author: to propose an index would be to propose whoever has the name.
        whence = f"install {version} from where it came, as an index may have another's {name}"
        here = _installed(name)
        if name in broken:
            yield f"{title}, which is broken here: {broken[name].reason}"
        elif here is None:
            yield f"{title}, which is not installed; {whence}"
        elif here != version:
            yield f"{title}, and {here} is installed; {whence}"
        else:
            yield f"{title}, which LIMITE_PLUGINS leaves out"


def _recorded(run: RunDirectory) -> Mapping[str, str]:
    """What the run's receipt says of plugins; nothing, where there is none that can be read."""
    try:
        found = run.receipt().get("plugins", {})
    except LimiteError:  # what is wrong with the recipe matters more
        return {}
    return found if isinstance(found, Mapping) else {}


def _installed(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None
