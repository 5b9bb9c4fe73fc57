"""Critics, as settings: fitted offline to recorded rollouts, then beside a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import attrs
from attrs.validators import and_, gt, lt

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Stage
from limite.core.validators import option

VALUES = frozenset({"value", "value_target"})
"""The columns that an objective of a critic can read of recorded rollouts."""

OLD_VALUE = "old_value"
"""What the critic said before the updates of a batch: there in RL stages alone."""

ENDING = ".jsonl.zst"
"""What the names of rollout files end in."""


def files_at(place: Path) -> list[Path]:
    """A rollout file, or those in a folder, in order; none where there are none."""
    if place.is_dir():
        return sorted(place.glob(f"*{ENDING}"))
    return [place] if place.is_file() else []


@attrs.frozen(kw_only=True)
class CriticSettings:
    """The critic of an RL stage: where its weights come from, and whether they learn on."""

    start: str = attrs.field(
        metadata={"help": "the earlier fit-critic stage whose critic this is a copy of"}
    )
    mode: str = attrs.field(
        default="online",
        validator=option("online", "frozen"),
        metadata={"help": "an update before each of the policy's, on the same groups; or none"},
    )
    objective: Objective | str = "value-regression"
    optimizer: Optimizer | str = "adamw"
    lr_schedule: LRSchedule | str = "constant"
    clip_norm: float = fields.clip_norm()


@attrs.frozen(kw_only=True)
class FitCritic(Stage):
    """Fits a critic to recorded rollouts: what will the response earn, judged at every token?

    Its trunk is a copy of the policy it starts from, its head says the mean reward everywhere, and
    every token's target is what the response earned in the end. Problems are split in two: on the
    held-out part it is measured, and the weights that did best there are kept.
    """

    kind: ClassVar[str] = "fit-critic"
    runner: ClassVar[str] = "limite.core.recipe.runners.fit_critic:run"
    gives_critic: ClassVar[bool] = True
    rollouts: str | None = attrs.field(
        default=None,
        metadata={"help": "the earlier rl stage whose rollouts it reads; the nearest, if left out"},
    )
    rollout_files: tuple[str, ...] = attrs.field(
        default=(),
        metadata={"help": "paths of .jsonl.zst files that it reads instead, or folders of them"},
    )
    mixed_only: bool = attrs.field(
        default=True,
        metadata={"help": "leave out groups whose responses all earned the same"},
    )
    held_out: float = attrs.field(
        default=0.2,
        validator=and_(gt(0.0), lt(1.0)),
        metadata={"help": "share of the problems that it is measured on and not fitted to"},
    )
    steps: int = fields.count(200, unit="updates", told="at most")
    batch: int = fields.batch(64, "responses")
    eval_every: int = fields.count(
        10, unit="updates", told="between measurements of the held-out part"
    )
    patience: int = fields.count(
        5, told="measurements in a row without a lower loss, after which it ends"
    )
    objective: Objective | str = "value-regression"
    optimizer: Optimizer | str = "adamw"
    lr_schedule: LRSchedule | str = "constant"
    clip_norm: float = fields.clip_norm()
    microbatch_tokens: int = fields.microbatch_tokens("critic")
    recompute: bool = fields.recompute()
    checkpoint_every: int = fields.checkpoint_every(50, "updates")
    keep: int = fields.keep()
    save_in_background: bool = fields.save_in_background()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(str(file) for given in self.rollout_files for file in files_at(Path(given)))

    def rollouts_among(self, stages: Mapping[str, Stage], name: str) -> str | None:
        """The stage whose rollouts the stage ``name`` reads; None if there is none before it."""
        if self.rollouts is not None or self.rollout_files:
            return self.rollouts
        earlier = list(stages)[: list(stages).index(name)]
        recording = [each for each in earlier if stages[each].records_rollouts]
        return recording[-1] if recording else None
