"""Critics, as settings: fitted offline to recorded rollouts, then beside a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, lt

from limite.core.kinds import LRSchedule, Objective, Optimizer
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
    clip_norm: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1e30)),
        metadata={"help": "most that a gradient's norm may be"},
    )


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
    steps: int = attrs.field(
        default=200,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "at most", "unit": "updates"},
    )
    batch: int = attrs.field(
        default=64,
        validator=and_(ge(1), le(10**6)),
        metadata={"help": "of one update", "unit": "responses"},
    )
    eval_every: int = attrs.field(
        default=10,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "between measurements of the held-out part", "unit": "updates"},
    )
    patience: int = attrs.field(
        default=5,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "measurements in a row without a lower loss, after which it ends"},
    )
    objective: Objective | str = "value-regression"
    optimizer: Optimizer | str = "adamw"
    lr_schedule: LRSchedule | str = "constant"
    clip_norm: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1e30)),
        metadata={"help": "most that a gradient's norm may be"},
    )
    microbatch_tokens: int = attrs.field(
        default=8192,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "most at once through the critic, as memory allows", "unit": "tokens"},
    )
    checkpoint_every: int = attrs.field(
        default=50, validator=and_(ge(1), le(10**9)), metadata={"unit": "updates"}
    )
    keep: int = attrs.field(
        default=2,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "the newest", "unit": "checkpoints"},
    )

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
