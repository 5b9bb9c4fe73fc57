"""Warm up, stay, decay: the last part of a run settles what the middle has found."""

from __future__ import annotations

import attrs
from attrs.validators import and_, ge, le

from limite.plugins.schedules.warmup import warmup


@attrs.frozen(kw_only=True)
class WarmupStableDecay:
    """Linear warm-up, a constant stretch, then a linear decay over the last part of the run.

    The decay goes from 1 at its first step towards ``final_fraction``, which the step after the
    last would have. In a run too short for both, the lower of warm-up and decay holds.
    """

    warmup_steps: int = attrs.field(
        default=20, validator=and_(ge(0), le(10**9)), metadata={"unit": "steps"}
    )
    decay_share: float = attrs.field(
        default=0.4,
        validator=and_(ge(0.0), le(1.0)),
        metadata={"help": "part of the run, at its end, over which the rate decays"},
    )
    final_fraction: float = attrs.field(default=0.0, validator=and_(ge(0.0), le(1.0)))

    def __call__(self, step: int, total_steps: int) -> float:
        decay_steps = round(self.decay_share * total_steps)
        left = min(1.0, max(0, total_steps - step) / decay_steps) if decay_steps else 1.0
        decay = self.final_fraction + (1.0 - self.final_fraction) * left
        return min(warmup(step, self.warmup_steps), decay)
