"""Shares with their counts, the Wilson interval of a share, and pictures of lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from limite.core.errors import LimiteError

Z_95 = 1.959963984540054


def share_text(count: int, total: int) -> str:
    """``19/120 = 15.83%``."""
    return f"{count}/{total} = {100 * count / total:.2f}%"


def wilson(count: float, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Wilson score interval of a share of independent trials, within 0 and 1.

    Never without width: 0 of 30 gives ``[0, 0.1135]``. A count need not be whole: it may sum the
    shares of problems.
    """
    if not 0 <= count <= total or total < 1:
        raise LimiteError(f"a share needs 0 <= count <= total and a total, got {count}/{total}")
    if not 0.0 < confidence < 1.0:
        raise LimiteError(f"the confidence of an interval lies between 0 and 1, got {confidence}")
    z = Z_95 if confidence == 0.95 else NormalDist().inv_cdf((1 + confidence) / 2)
    share = count / total
    scale = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    reach = z / scale * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    # At 0 and at total the end is exact; rounding must not push it inside.
    low = 0.0 if count == 0 else max(0.0, middle - reach)
    high = 1.0 if count == total else min(1.0, middle + reach)
    return low, high


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
