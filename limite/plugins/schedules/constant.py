"""A learning rate that stays."""

from __future__ import annotations

import attrs
from attrs.validators import and_, ge, le

from limite.plugins.schedules.warmup import warmup


@attrs.frozen(kw_only=True)
class Constant:
    """The full learning rate, after an optional linear warm-up."""

    warmup_steps: int = attrs.field(
        default=0, validator=and_(ge(0), le(10**9)), metadata={"unit": "steps"}
    )

    def __call__(self, step: int, total_steps: int) -> float:
        return warmup(step, self.warmup_steps)
