"""How large a difference an evaluation can see, before or after it was made.

A difference of ``(z + z') s / sqrt(P)`` is found with probability ``power`` by an interval of the
given confidence, where ``s`` is the standard deviation over problems of the paired change in the
share of correct responses, and ``z``, ``z'`` are the normal quantiles of confidence and power.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

from limite.core.errors import LimiteError
from limite.evaluate.shares import wilson

POWER = 0.8


def detectable(
    spread: float, problems: int, *, confidence: float = 0.95, power: float = POWER
) -> float:
    """The difference in shares that is seen with probability ``power``; at most 1.

    ``spread`` is the standard deviation of the change over problems. Without any, what an interval
    of so many problems that agree leaves open: the upper end of Wilson's for none of them.
    """
    if problems < 1 or spread < 0:
        raise LimiteError(f"{problems} problems with a spread of {spread} can show nothing")
    if not (0.0 < confidence < 1.0 and 0.0 < power < 1.0):
        raise LimiteError(f"confidence and power lie between 0 and 1, got {confidence}, {power}")
    if spread == 0:
        return wilson(0, problems, confidence)[1]
    normal = NormalDist()
    reach = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(power)
    return min(1.0, reach * spread / sqrt(problems))


def observed_spread(changes: Sequence[int], samples: int) -> float:
    """The standard deviation over problems of a paired change, as a share."""
    if len(changes) < 2:
        raise LimiteError("the spread over problems needs at least two of them")
    mean = sum(changes) / len(changes)
    squares = sum((change - mean) ** 2 for change in changes)
    return sqrt(squares / (len(changes) - 1)) / samples


def assumed_spread(counts: Sequence[int], samples: int, heterogeneity: float = 0.0) -> float:
    """The same before there is a second model: from the noise of sampling both models' responses.

    ``heterogeneity`` is the standard deviation of the true change from problem to problem, as a
    share. With one response to each problem its noise cannot be told from the difficulty of the
    problems, and the most it can be is taken.
    """
    if not counts:
        raise LimiteError("the spread over problems needs at least one of them")
    if samples > 1:
        noise = sum(count * (samples - count) for count in counts)
        variance = noise / (samples * (samples - 1)) / len(counts)
    else:
        share = sum(counts) / len(counts)
        variance = share * (1 - share)
    return sqrt(2 * variance / samples + heterogeneity**2)


def power_text(problems: int, samples: int, difference: float) -> str:
    """``with 30 problems x 4 you can see differences of about 12.1 points``."""
    return (
        f"with {problems} problems x {samples} you can see differences of about "
        f"{100 * difference:.1f} points"
    )
