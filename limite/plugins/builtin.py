"""The components limite ships: kind, name, and the class as a string, imported when used."""

from __future__ import annotations

from limite.core.hookspecs import Registrar, hookimpl


@hookimpl
def limite_register(registry: Registrar) -> None:
    """Every built-in, by kind."""
