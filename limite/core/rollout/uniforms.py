"""Counter-based uniforms: the n-th draw of a row is a function of the row's key and n alone.

A row's key comes from the stream's seed, the problem and the sample index, so what a row draws does
not depend on which rows are sampled beside it, in which slot, or in which order. The generator is
splitmix64 (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195), whose n-th output can be
computed without the ones before.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from limite.core.seeds import Seeds

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def row_key(seed: int, problem_id: str, sample_index: int) -> int:
    """The 64-bit key of one row's stream."""
    return Seeds(seed).integer("row", problem_id, sample_index)


def row_keys(seed: int, rows: Iterable[tuple[str, int]]) -> NDArray[np.uint64]:
    """``[R]`` keys for (problem id, sample index) pairs."""
    return np.array([row_key(seed, *row) for row in rows], dtype=np.uint64)


def uniforms(keys: NDArray[np.uint64], first: int, count: int) -> NDArray[np.float64]:
    """``[R, count]`` draws in [0, 1) at positions ``first, first + 1, ...`` of each row.

    Values are multiples of 2**-52. With one bit fewer than float64 holds, ``u * total`` stays below
    ``total`` for every positive float64 total, so inverting a running sum never runs off its end.
    """
    positions = np.arange(first + 1, first + 1 + count, dtype=np.uint64)
    z = keys[:, None] + positions * GOLDEN  # [R, count], modulo 2**64
    z ^= z >> np.uint64(30)
    z *= FIRST
    z ^= z >> np.uint64(27)
    z *= SECOND
    z ^= z >> np.uint64(31)
    return (z >> np.uint64(12)).astype(np.float64) * 2.0**-52
