"""What admission found: every gate with its figures, limits and verdict, failed ones too."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.health.gates import GateVerdict

PASSED, MISSED, NOT_APPLICABLE = "passed", "missed", "not applicable"
ADMITTED, EXPERIMENTAL = "admitted", "experimental"

SCOPE = (
    "Admission says that paths agree on a few canaries on this device. It is no evidence of "
    "capability, and none of steady-state speed."
)


@attrs.frozen(kw_only=True)
class Gate:
    """One gate. It passes where every figure does, and has at least one; an error is a miss.

    ``recorded`` is told beside the figures and decides nothing. ``not_applicable`` says why there
    is nothing to hold.
    """

    name: str
    verdicts: Sequence[GateVerdict] = ()
    recorded: Mapping[str, Any] = attrs.field(factory=dict)
    circumstances: Mapping[str, Any] = attrs.field(factory=dict)
    """What is recorded as well, and differs from one time to the next."""
    not_applicable: str | None = None
    error: str | None = None

    @property
    def outcome(self) -> str:
        if self.error is not None:
            return MISSED
        if self.not_applicable is not None:
            return NOT_APPLICABLE
        sound = bool(self.verdicts) and all(each.passed for each in self.verdicts)
        return PASSED if sound else MISSED

    def plain(self) -> dict[str, Any]:
        """The same as JSON-able data."""
        return {
            "gate": self.name,
            "verdict": self.outcome,
            "error": self.error,
            "not_applicable": self.not_applicable,
            "figures": [_finite(each.as_dict()) for each in self.verdicts],
            "recorded": _finite(self.recorded),
        }


@attrs.frozen(kw_only=True)
class Report:
    """The gates of one stage of a recipe; ``about`` is what was admitted, and under what."""

    about: Mapping[str, Any]
    gates: Sequence[Gate]
    circumstances: Mapping[str, Any]

    @property
    def missed(self) -> list[str]:
        return [gate.name for gate in self.gates if gate.outcome == MISSED]

    @property
    def status(self) -> str:
        """``admitted`` where no gate was missed and one was held, otherwise ``experimental``."""
        held = any(gate.outcome == PASSED for gate in self.gates)
        return ADMITTED if held and not self.missed else EXPERIMENTAL

    def plain(self) -> dict[str, Any]:
        """The same as JSON-able data. Apart from ``circumstances`` it is reproducible."""
        return {
            "status": self.status,
            "missed": self.missed,
            "scope": SCOPE,
            **self.about,
            "gates": [gate.plain() for gate in self.gates],
            "circumstances": {
                **self.circumstances,
                **{g.name: dict(g.circumstances) for g in self.gates if g.circumstances},
            },
        }


def _finite(value: Any) -> Any:
    """Numbers that are not finite as words: JSON has none."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
