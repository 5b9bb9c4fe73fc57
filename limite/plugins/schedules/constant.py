"""A learning rate that stays."""

from __future__ import annotations

import attrs
from attrs.validators import ge

from limite.plugins.schedules.warmup import warmup


@attrs.frozen(kw_only=True)
class Constant:
    """The full learning rate, after an optional linear warm-up."""

    warmup_steps: int = attrs.field(default=0, validator=ge(0), metadata={"unit": "steps"})

    def __call__(self, step: int, total_steps: int) -> float:
        return warmup(step, self.warmup_steps)
