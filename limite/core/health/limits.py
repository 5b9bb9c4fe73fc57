"""The limits that decide whether an update is healthy."""

from __future__ import annotations

import attrs
from attrs.validators import and_, ge, gt, le

from limite.core.validators import option


@attrs.frozen(kw_only=True)
class HealthLimits:
    """Limits on the importance weights of a batch, measured before its first update."""

    clipped_token_fraction: float = attrs.field(
        default=0.05,
        validator=and_(ge(0.0), le(1.0)),
        metadata={"help": "most tokens with a weight outside 0.8 to 1.2"},
    )
    effective_sample_fraction: float = attrs.field(
        default=0.95,
        validator=and_(ge(0.0), le(1.0)),
        metadata={"help": "least; 1 when all tokens weigh the same"},
    )
    mean_weight_low: float = attrs.field(default=0.5, validator=and_(ge(0.0), le(1e9)))
    mean_weight_high: float = attrs.field(default=2.0, validator=and_(gt(0.0), le(1e9)))
    action: str = attrs.field(
        default="warn",
        validator=option("warn", "skip", "stop"),
        metadata={"help": "when a gate fails: go on, leave the batch out, or fail the run"},
    )
    every: int = attrs.field(
        default=1,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "batches from one measurement to the next", "unit": "rollout batches"},
    )
    separate_pass: bool = attrs.field(
        default=False,
        metadata={
            "help": "read all rows once more to measure them; otherwise those of the first update "
            "are measured as it reads them, which spares a pass and differs by rounding"
        },
    )

    def __attrs_post_init__(self) -> None:
        low, high = self.mean_weight_low, self.mean_weight_high
        if low > high:
            raise ValueError(
                f"'mean_weight_low' ({low}) must be at most 'mean_weight_high' ({high})"
            )
