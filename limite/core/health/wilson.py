"""The interval of a share that was counted: honest at 0, at 1, and of few trials."""

from __future__ import annotations

import math
from statistics import NormalDist

from limite.core.errors import LimiteError

Z_95 = 1.959963984540054


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
