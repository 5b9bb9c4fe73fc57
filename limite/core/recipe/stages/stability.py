"""When a stage that trains should stop because it has become unstable, as settings."""

from __future__ import annotations

import attrs
from attrs.validators import and_, ge, gt, le

from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Mix


@attrs.frozen(kw_only=True)
class Probe:
    """Held-out problems that a stage is asked as it trains, always the same with the same draws.

    No evaluation of the recipe asks them: they decide when training ends.
    """

    problems: Mix
    count: int = attrs.field(
        default=64,
        validator=and_(ge(2), le(10**6)),
        metadata={"help": "that are drawn of `problems`", "unit": "problems"},
    )
    samples: int = fields.count(4, told="responses to a problem", most=10**6)
    every: int = fields.count(5, unit="rollout batches", told="how often they are asked")


@attrs.frozen(kw_only=True)
class Unstable:
    """Stops a stage once a trigger holds for ``patience`` rollout batches in a row.

    The triggers: a health gate fails; the gradient's norm is far above its running median; the
    share of naturally ended responses falls below its best mean of ten batches; the pass rate of
    the probe's problems falls below its best. Later stages begin with the last checkpoint from
    before the trigger held.
    """

    patience: int = fields.count(5, unit="rollout batches", told="that a trigger must hold")
    gradient_norm: float = attrs.field(
        default=10.0,
        validator=and_(gt(1.0), le(1e9)),
        metadata={"help": "most of a gradient's norm, as a multiple of the median of the last 100"},
    )
    natural_end: float = attrs.field(
        default=0.2,
        validator=and_(gt(0.0), le(1.0)),
        metadata={"help": "most that the share of naturally ended responses may fall"},
    )
    standard_errors: float = attrs.field(
        default=2.0,
        validator=and_(ge(0.0), le(1e6)),
        metadata={
            "help": "most that the pass rate of the probe's problems may fall, in those of the "
            "paired difference"
        },
    )
    probe: Probe | None = attrs.field(
        default=None,
        metadata={"help": "held-out problems that are asked; without it that trigger is off"},
    )
