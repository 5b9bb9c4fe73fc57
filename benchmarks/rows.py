"""What a measurement leaves: the fields of the JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

SCHEMA = 1


@attrs.frozen(kw_only=True)
class PeerFigure:
    """A peer's time and memory, and how many times them ours are; or why there are none."""

    ms: float | None = None
    spread_ms: float | None = None
    peak_mib: float | None = None
    time_ratio: float | None = None  # ours over its; below 1 ours is the faster
    time_ratio_spread: float | None = None
    memory_ratio: float | None = None
    failed: str | None = None


@attrs.frozen(kw_only=True)
class Verdict:
    """What was asked of a case, and what came of it: met, missed, or within the spread of it."""

    what: str
    at_most: float
    value: float
    verdict: str


@attrs.frozen(kw_only=True)
class Row:
    """One case. A spread is half of what lies between the tenth and ninetieth percentile."""

    name: str
    op: str
    shape: str
    sizes: Mapping[str, int | None]
    dtype: str
    direction: str
    backend: str | None = None
    backend_reason: str | None = None
    tiles: Mapping[str, str] = attrs.field(factory=dict)
    ms: float | None = None
    spread_ms: float | None = None
    calls: int = 0
    floor_ms: float | None = None
    floor_fraction: float | None = None  # floor over time: 1 is as fast as can be
    tflop_s: float | None = None
    tb_s: float | None = None
    peak_mib: float | None = None
    max_error: float | None = None  # of this operation, dtype and direction at the checked shapes
    relative_error: float | None = None
    target_ms: float | None = None
    peers: Mapping[str, PeerFigure] = attrs.field(factory=dict)
    best_peer: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    failed: str | None = None


@attrs.frozen(kw_only=True)
class Check:
    """One comparison with the reference in float64, of the same rounded inputs."""

    op: str
    shape: str
    dtype: str
    part: str  # "outputs" or "gradients"
    backend: str | None = None
    max_error: float | None = None
    relative_error: float | None = None
    share_of_allowed: float | None = None  # above 1: too far off
    failed: str | None = None


@attrs.frozen(kw_only=True)
class Document:
    """A whole run."""

    schema: int = SCHEMA
    device: Mapping[str, Any]
    versions: Mapping[str, str | None]
    ceilings: Mapping[str, float]
    settings: Mapping[str, Any]
    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    dropped: tuple[str, ...]
    notes: tuple[str, ...]
    stages_s: Mapping[str, float]


def plain(document: Document) -> dict[str, Any]:
    """The document as data for JSON, numbers cut to what they are worth."""
    data: dict[str, Any] = _rounded(attrs.asdict(document))
    return data


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value
