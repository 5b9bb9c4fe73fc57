"""A learning rate that falls along half a cosine."""

from __future__ import annotations

import math

import attrs
from attrs.validators import and_, ge, le

from limite.plugins.schedules.warmup import warmup


@attrs.frozen(kw_only=True)
class Cosine:
    """Linear warm-up, then half a cosine from 1 down to ``final_fraction`` (arXiv:1608.03983)."""

    warmup_steps: int = attrs.field(
        default=20, validator=and_(ge(0), le(10**9)), metadata={"unit": "steps"}
    )
    final_fraction: float = attrs.field(default=0.0, validator=and_(ge(0.0), le(1.0)))

    def __call__(self, step: int, total_steps: int) -> float:
        if step < self.warmup_steps:
            return warmup(step, self.warmup_steps)
        done = (step - self.warmup_steps) / max(total_steps - self.warmup_steps, 1)
        fall = 0.5 * (1.0 + math.cos(math.pi * min(done, 1.0)))
        return self.final_fraction + (1.0 - self.final_fraction) * fall
