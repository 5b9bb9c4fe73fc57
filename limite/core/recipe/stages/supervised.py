"""Supervised fine-tuning, as settings."""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs.validators import and_, ge, gt, le

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages.base import Mix, Stage
from limite.core.validators import at_least_one_weight, option


@attrs.frozen(kw_only=True)
class SFT(Stage):
    """Supervised training on worked solutions of procedural problems."""

    kind: ClassVar[str] = "sft"
    runner: ClassVar[str] = "limite.core.recipe.runners.sft:run"
    trains: ClassVar[bool] = True
    problems: Mix
    styles: dict[str, float] = attrs.field(
        factory=lambda: {"direct": 1.0},
        validator=at_least_one_weight,
        metadata={"help": "style of worked solution to its weight; one is drawn per problem"},
    )
    documents: int = attrs.field(
        default=4000, validator=and_(ge(1), le(10**8)), metadata={"help": "distinct problems"}
    )
    steps: int = attrs.field(
        default=1000, validator=and_(ge(1), le(10**9)), metadata={"unit": "updates"}
    )
    batch: int = attrs.field(
        default=32,
        validator=and_(ge(1), le(10**6)),
        metadata={"help": "of one update", "unit": "documents"},
    )
    targets: str = attrs.field(
        default="response",
        validator=option("response", "all"),
        metadata={"help": "the tokens whose loss counts"},
    )
    objective: Objective | str = "sft"
    optimizer: Optimizer | str = "muon"
    lr_schedule: LRSchedule | str = "warmup-stable-decay"
    clip_norm: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1e30)),
        metadata={"help": "most that a gradient's norm may be"},
    )
    checkpoint_every: int = attrs.field(
        default=100, validator=and_(ge(1), le(10**9)), metadata={"unit": "steps"}
    )
    keep: int = attrs.field(
        default=2,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "the newest", "unit": "checkpoints"},
    )

    @property
    def supplies(self) -> frozenset[str]:
        """The columns that an objective can read."""
        return frozenset({"logp", "entropy"})
