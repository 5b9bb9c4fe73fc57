"""The one hook of limite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from limite.core.registry import Registry

hookspec = pluggy.HookspecMarker("limite")
hookimpl = pluggy.HookimplMarker("limite")


@hookspec
def limite_register(registry: Registry) -> None:
    """Called once at start: register components, by class or by ``"package.module:Class"``."""
