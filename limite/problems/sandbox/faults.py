"""Why there is no sandbox."""

from __future__ import annotations

from limite.core.errors import LimiteError, RunFailed


class Unavailable(LimiteError):
    """A backend cannot be had here; the reason in a sentence."""


class NoSandbox(RunFailed):
    """No backend that holds a program can be had here."""

    def __init__(self, reasons: dict[str, str]) -> None:
        self.reasons = reasons
        each = "; ".join(f"{backend}: {reason}" for backend, reason in reasons.items())
        super().__init__(
            f"programs of strangers need a sandbox, and none can be had here ({each}); "
            "limite-gen doctor tells more"
        )

    def __reduce__(self) -> tuple[type[NoSandbox], tuple[dict[str, str]]]:
        return NoSandbox, (self.reasons,)
