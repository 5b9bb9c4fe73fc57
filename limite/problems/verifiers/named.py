"""The verifier that an option names."""

from __future__ import annotations

from typing import cast

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.kinds import Verifier


def verifier_named(name: str) -> Verifier:
    """The verifier that ``--verifier`` names, with its default settings."""
    try:
        return cast(Verifier, load_registry().get("verifier", name).load()())
    except LimiteError as error:
        raise LimiteError(f"--verifier: {error}") from None
