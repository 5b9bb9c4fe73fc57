"""From an attention's name to the attention, and back."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from limite.core.errors import LimiteError
from limite.core.kinds import Attention


def attention_component(attention: Attention | str | Mapping[str, Any]) -> Attention:
    """The component itself, or the registered one of that name, with its default settings.

    A mapping has the name under ``type`` and settings beside it.
    """
    if not isinstance(attention, str | Mapping):
        return attention
    # The registry stands above the model: it is reached by name, and only when asked for one.
    registry = importlib.import_module("limite.core.discover").load_registry()
    component: Attention
    if isinstance(attention, str):
        component = registry.get("attention", attention).load()()
    else:
        config = importlib.import_module("limite.core.config")
        component = config.structure(attention, Attention, registry)
    return component


def unstructured(attention: Attention) -> dict[str, Any]:
    """A component as ``attention_component`` reads it: its name under ``type``, its settings."""
    registry = importlib.import_module("limite.core.discover").load_registry()
    config = importlib.import_module("limite.core.config")
    plain: dict[str, Any] = config.unstructure(attention, registry)
    if "type" not in plain:
        raise LimiteError(
            f"{type(attention).__name__} is not registered as an attention by any plugin, so no "
            "file can name it"
        )
    return plain
