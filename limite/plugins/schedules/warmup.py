"""The linear warm-up every schedule begins with."""

from __future__ import annotations


def warmup(step: int, warmup_steps: int) -> float:
    """``1/n, 2/n, ..., 1`` over the first ``n`` steps, then 1. No step is wasted at rate 0."""
    return min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
