"""What a measurement is of: an operation at a shape, in a dtype, in a direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from typing import Literal

import attrs

Direction = Literal["forward", "backward", "both"]
Sizes = Mapping[str, int | None]

BEST = "best of torch"
TARGET = "target"


@attrs.frozen(kw_only=True)
class Bound:
    """What is asked of a case: its time or peak memory at most so many times something else's.

    ``against`` is a peer's name, the fastest of all peers (``BEST``), or the case's own target
    time (``TARGET``, for the device that it was set for).
    """

    what: Literal["time", "memory"]
    against: str
    at_most: float


@attrs.frozen(kw_only=True)
class Case:
    """One measurement. Everything in it is plain data, so that any process can take it on."""

    name: str
    op: str
    sizes: Sizes
    direction: Direction
    dtype: str = "bfloat16"
    peers: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    target_ms: float | None = None
    importance: int = 5  # 9: the last to be dropped when time is short
    expected_s: float = 4.0  # for timing it, peers included

    @property
    def shape(self) -> str:
        return shape_text(self.op, self.sizes)


def shape_text(op: str, sizes: Sizes) -> str:
    """The sizes in the customary letters: ``B8 T8192 H10/2 D128 w1025``."""
    letters = {"batch": "B", "tokens": "T", "cached": "S", "rows": "R", "vocabulary": "V"}
    if op == "indexed_logprob":
        letters["tokens"] = "N"
    letters |= {"width": "D", "indices": "K", "window": "w", "pairs": "pairs "}
    parts = []
    for name, size in sizes.items():
        if size is None or name in ("kv_heads", "window2", "cap", "entropy"):
            continue
        if name == "heads":
            groups = f"/{sizes['kv_heads']}" if "kv_heads" in sizes else ""
            parts.append(f"H{size}{groups}")
        elif name == "window1":
            parts.append(f"w{size},{sizes['window2']}")
        else:
            parts.append(f"{letters[name]}{size}")
    return " ".join(parts)


LARGEST_TINY: Mapping[str, int] = {
    "rows": 33,
    "tokens": 33,
    "batch": 2,
    "cached": 40,
    "width": 32,
    "pairs": 8,
    "vocabulary": 130,
    "window": 9,
    "window1": 7,
    "window2": 3,
}


def tiny(case: Case) -> Case:
    """The same case at sizes that take no time, for trying the benchmark itself.

    What is asked of the full sizes is not asked of these.
    """
    return attrs.evolve(
        case,
        sizes=tiny_sizes(case.op, case.sizes),
        bounds=(),
        target_ms=None,
        expected_s=0.2,
    )


def tiny_sizes(op: str, sizes: Sizes) -> Sizes:
    most = dict(LARGEST_TINY)
    if op == "simplicial_attention":
        most |= {"tokens": 17, "batch": 1, "width": 16}
    return {
        name: size if size is None else min(size, most.get(name, size))
        for name, size in sizes.items()
    }


def pick(cases: Sequence[Case], wanted: Sequence[str]) -> list[Case]:
    """The cases whose name or operation is one of ``wanted``, which may hold ``*``; all if none."""
    if not wanted:
        return list(cases)
    return [
        case
        for case in cases
        if any(fnmatch(case.name, each) or fnmatch(case.op, each) for each in wanted)
    ]
