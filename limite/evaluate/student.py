"""Student's t: how far an estimate lies from its mean when its spread was estimated as well."""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p

from limite.core.errors import LimiteError

TERMS = 10_000
TINY = 1e-300
CLOSE = 1e-15


def tail(t: float, freedom: float) -> float:
    """The probability of a value above ``t``, with ``freedom`` degrees of freedom (any above 0)."""
    if not freedom > 0:
        raise LimiteError(f"Student's t needs more than 0 degrees of freedom, got {freedom}")
    if t < 0:
        return 1 - tail(-t, freedom)
    return 0.5 * _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t), t)


def quantile(confidence: float, freedom: float) -> float:
    """``t`` such that a share ``confidence`` lies between ``-t`` and ``t``."""
    if not 0.0 < confidence < 1.0:
        raise LimiteError(f"the confidence of an interval lies between 0 and 1, got {confidence}")
    level = (1 - confidence) / 2
    low, high = 0.0, 1.0
    while tail(high, freedom) > level:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        low, high = (middle, high) if tail(middle, freedom) > level else (low, middle)


def _incomplete_beta(a: float, b: float, x: float, t: float) -> float:
    """The regularised incomplete beta function, by its continued fraction.

    ``t`` gives ``1 - x``, which is ``t^2 / (2 a + t^2)``, without cancellation.
    """
    rest = t * t / (2 * a + t * t) if t != inf else 1.0
    if rest == 0.0:
        return 1.0
    if x == 0.0 or rest == 1.0:
        return 0.0
    scale = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log1p(-rest) + b * log(rest))
    # The fraction converges fast on one side of the mean; the other side is the mirror image.
    if x < (a + 1) / (a + b + 2):
        return scale * _fraction(a, b, x) / a
    return 1 - scale * _fraction(b, a, rest) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            step = c * d
            found *= step
        if abs(step - 1) < CLOSE:
            return found
    raise AssertionError("a continued fraction that always converges did not")


def _not_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
