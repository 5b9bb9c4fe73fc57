"""Supervised fine-tuning, as settings."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Mix, Stage
from limite.core.recipe.stages.made import OwnSolutions
from limite.core.train.data.windows import Windows
from limite.core.validators import at_least_one_weight, option


@attrs.frozen(kw_only=True)
class SFT(Stage):
    """Supervised training on worked solutions of problems, and on the model's own right ones."""

    kind: ClassVar[str] = "sft"
    runner: ClassVar[str] = "limite.core.recipe.runners.sft:run"
    trains: ClassVar[bool] = True
    shared_out: ClassVar[bool] = True
    problems: Mix | None = attrs.field(
        default=None, metadata={"help": "whose worked solutions are learned; this, `own` or both"}
    )
    own: OwnSolutions | None = attrs.field(
        default=None, metadata={"help": "right responses of earlier rl stages, to be learned"}
    )
    styles: dict[str, float] = attrs.field(
        factory=lambda: {"direct": 1.0},
        validator=at_least_one_weight,
        metadata={"help": "style of worked solution to its weight; a problem gets one it has"},
    )
    documents: int = fields.count(4000, told="distinct problems", most=10**8)
    steps: int = fields.count(1000, unit="updates")
    batch: int = fields.batch(32, "documents", told="of one update; with `windows` those")
    windows: Windows | None = attrs.field(
        default=None,
        metadata={"help": "cuts documents in windows of equal length; left out, they stay whole"},
    )
    targets: str = attrs.field(
        default="response",
        validator=option("response", "all"),
        metadata={"help": "the tokens whose loss counts"},
    )
    objective: Objective | str = "sft"
    optimizer: Optimizer | str = "muon"
    lr_schedule: LRSchedule | str = "warmup-stable-decay"
    clip_norm: float = fields.clip_norm()
    microbatch_tokens: int | None = fields.optional_microbatch_tokens()
    recompute: bool = fields.recompute()
    checkpoint_every: int = fields.checkpoint_every(100)
    keep: int = fields.keep()
    save_in_background: bool = fields.save_in_background()

    @property
    def files(self) -> tuple[str, ...]:
        """Those that problems are drawn from."""
        return () if self.problems is None else self.problems.files

    @property
    def supplies(self) -> frozenset[str]:
        """The columns that an objective can read."""
        return frozenset({"logp", "entropy"})
