"""The families of problems there are, and the settings of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs

from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError, sentence
from limite.core.kinds import Generator


@attrs.frozen(kw_only=True)
class Share:
    """One family's part of a file: how much of it, how hard, and with which settings."""

    name: str
    weight: float = 1.0
    difficulty: tuple[float, float] = (0.0, 1.0)
    settings: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def text(self) -> str:
        low, high = self.difficulty
        return f"{self.name} at difficulty {low:g} to {high:g}"


def family(name: str, settings: Mapping[str, Any] | None = None) -> Generator:
    """The family of this name; one that does not exist is told with the nearest that does."""
    registry = load_registry()
    cls = registry.get("generator", name).load()
    if settings:
        from limite.core.config import structure  # late: it needs cattrs

        return cast(Generator, structure(dict(settings), cls, registry))
    try:
        return cast(Generator, cls())
    except Exception as error:  # a family may be anyone's
        raise LimiteError(f"the family {name!r} cannot be made: {sentence(error)}") from error


def version_of(component: Generator) -> int:
    """The version of a family: another one may make other problems from the same seed."""
    return int(getattr(component, "version", 1))


def check_share(share: Share, place: str = "") -> None:
    """Refuses a share whose family, weight or difficulty cannot be."""
    before = f"{place}: " if place else ""
    low, high = share.difficulty
    if not 0.0 <= low <= high <= 1.0:
        raise LimiteError(
            f"{before}{share.name}: difficulty goes from a to b within 0 and 1, "
            f"got {low:g}:{high:g}"
        )
    if not 0.0 < share.weight < float("inf"):
        raise LimiteError(f"{before}{share.name}: a weight is above 0, got {share.weight:g}")
    try:
        family(share.name, share.settings)
    except SettingsError as error:
        raise LimiteError(f"{before}{share.name}: {error}") from error
    except LimiteError as error:
        raise LimiteError(f"{before}{error}") from error
