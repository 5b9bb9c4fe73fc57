"""pass@k and pass^k: the chance that one of k responses is correct, and that all are."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from limite.core.errors import LimiteError


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """``1 - C(n-c, k) / C(n, k)``, the unbiased estimate for one problem (arXiv 2107.03374).

    Whole numbers are divided once, so the result is the nearest double.
    """
    if not 1 <= k <= samples:
        raise LimiteError(f"pass@{k} needs 1 <= k <= {samples} (the responses to a problem)")
    if not 0 <= correct <= samples:
        raise LimiteError(f"{correct} of {samples} responses cannot be correct")
    ways = comb(samples, k)
    return (ways - comb(samples - correct, k)) / ways


def mean_pass_at_k(correct: Sequence[int], samples: int, k: int) -> float:
    """pass@k averaged over problems; ``correct`` counts the correct responses to each."""
    if not correct:
        raise LimiteError("pass@k needs at least one problem")
    return sum(pass_at_k(samples, count, k) for count in correct) / len(correct)


def pass_hat_k(samples: int, correct: int, k: int) -> float:
    """pass^k, ``C(c, k) / C(n, k)``: the unbiased estimate for one problem that all of k are right
    (arXiv 2406.12045)."""
    if not 1 <= k <= samples:
        raise LimiteError(f"pass^{k} needs 1 <= k <= {samples} (the responses to a problem)")
    if not 0 <= correct <= samples:
        raise LimiteError(f"{correct} of {samples} responses cannot be correct")
    return comb(correct, k) / comb(samples, k)


def mean_pass_hat_k(correct: Sequence[int], samples: int, k: int) -> float:
    """pass^k averaged over problems; ``correct`` counts the correct responses to each."""
    if not correct:
        raise LimiteError("pass^k needs at least one problem")
    return sum(pass_hat_k(samples, count, k) for count in correct) / len(correct)
