"""Shares with their counts, the Wilson interval of a share, and pictures of lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from limite.core.health.wilson import wilson as wilson

LONG_TOKENS = (16_384, 32_768, 65_536)


def share_text(count: int, total: int) -> str:
    """``19/120 = 15.83%``."""
    return f"{count}/{total} = {100 * count / total:.2f}%"


def length_figures(lengths: Sequence[int]) -> dict[str, Any]:
    """Mean, median and 95th percentile of token counts; None without any."""
    if not lengths:
        return {"count": 0, "mean": None, "median": None, "p95": None}
    ordered = sorted(lengths)
    count = len(ordered)
    return {
        "count": count,
        "mean": sum(ordered) / count,
        "median": ordered[count // 2],
        "p95": ordered[min(count - 1, 95 * count // 100)],
    }


def longer_than(lengths: Sequence[int]) -> dict[str, int]:
    """How many of some token counts are above each of ``LONG_TOKENS``."""
    return {str(limit): sum(length > limit for length in lengths) for limit in LONG_TOKENS}
