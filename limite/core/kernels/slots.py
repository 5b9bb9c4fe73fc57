"""In which pieces a cache is read."""

from __future__ import annotations

from collections.abc import Iterator

TILE = 64
WIDEST_TILE = 1024


def tiles(slots: int) -> Iterator[tuple[int, int]]:
    """Fixed stretches of slots: 64, 64, 128, 256, 512, 1024, 1024, ...; the last may be cut.

    Caches are read tile by tile, so that what a row sums, and in which order, depends on its own
    length only.
    """
    start, stop = 0, TILE
    while start < slots:
        yield start, min(stop, slots)
        start, stop = stop, stop + min(stop, WIDEST_TILE)


def bucket(length: int) -> int:
    """The end of the tile that holds slot ``length - 1``."""
    stop = TILE
    while stop < length:
        stop += min(stop, WIDEST_TILE)
    return stop
