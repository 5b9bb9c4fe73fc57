"""Which backends can be had here, with which layers, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from limite.problems.sandbox.backends import BACKENDS, Setup
from limite.problems.sandbox.faults import Unavailable
from limite.problems.sandbox.worker import Worker


@attrs.frozen(kw_only=True)
class Found:
    """What became of starting one backend."""

    backend: str
    available: bool
    reason: str = ""
    """Why it cannot be had."""
    layers: Sequence[str] = ()
    missing: Mapping[str, str] = attrs.field(factory=dict)
    """Layers that it lacks here, each with the reason."""
    notes: Sequence[str] = ()
    prefix: str = ""
    """The installation of Python that programs run in."""


def probe() -> list[Found]:
    """Starts every backend once, strongest first."""
    found = []
    for backend in BACKENDS:
        try:
            worker = Worker(backend, Setup())
        except Unavailable as error:
            found.append(Found(backend=backend, available=False, reason=str(error)))
            continue
        found.append(
            Found(
                backend=backend,
                available=True,
                layers=worker.layers,
                missing=worker.missing,
                notes=worker.notes,
                prefix=worker.prefix,
            )
        )
        worker.close()
    return found
