"""Learning from pairs of responses, as settings."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Stage
from limite.core.recipe.stages.reinforcement import START
from limite.core.recipe.stages.sampled import StrongWeak


@attrs.frozen(kw_only=True)
class Preference(Stage):
    """Learning from pairs: to each prompt a preferred response and another one.

    The pairs come from a file, from the responses an earlier ``RL`` stage has sampled, or from
    those that a strong and a weak model are asked for.
    """

    kind: ClassVar[str] = "preference"
    runner: ClassVar[str] = "limite.core.recipe.runners.preference:run"
    trains: ClassVar[bool] = True
    pairs: str | None = attrs.field(
        default=None,
        metadata={"help": "the path of a .jsonl or .jsonl.zst file; this or `rollouts`"},
    )
    rollouts: str | None = attrs.field(
        default=None,
        metadata={
            "help": "the earlier rl stage of whose groups right responses are preferred to wrong "
            "ones; this or `pairs`"
        },
    )
    pairs_per_group: int = fields.count(
        1, told="at most, of a group of `rollouts`, each response in one", most=10**5
    )
    sampled: StrongWeak | None = attrs.field(
        default=None,
        metadata={"help": "pairs of a strong model's responses over a weak one's; or this"},
    )
    max_tokens: int | None = fields.longest("a response")
    steps: int = fields.count(200, unit="updates")
    batch: int = fields.batch(32, "pairs")
    objective: Objective | str = "dpo"
    reference: str = attrs.field(
        default=START,
        metadata={
            "help": "the earlier stage whose weights the policy is held to, or 'start': those "
            "this stage begins with"
        },
    )
    precompute_reference: bool = attrs.field(
        default=False,
        metadata={"help": "whether the reference reads every pair once, before the first update"},
    )
    held_out: float = fields.held_out_prompts(0.1, "pairs")
    eval_every: int = fields.eval_every(50, "pairs")
    eval_pairs: int = fields.count(
        200, unit="pairs", told="held-out pairs that are measured, at most"
    )
    optimizer: Optimizer | str = "adamw"
    lr_schedule: LRSchedule | str = "warmup-stable-decay"
    clip_norm: float = fields.clip_norm()
    microbatch_tokens: int = fields.microbatch_tokens()
    recompute: bool = fields.recompute()
    checkpoint_every: int = fields.checkpoint_every(100)
    keep: int = fields.keep()
    save_in_background: bool = fields.save_in_background()

    @property
    def supplies(self) -> frozenset[str]:
        """The columns that an objective can read."""
        return frozenset({"logp", "reference_logp", "entropy"})

    @property
    def files(self) -> tuple[str, ...]:
        pairs = () if self.pairs is None else (self.pairs,)
        models = () if self.sampled is None else self.sampled.files
        return tuple(dict.fromkeys((*pairs, *models)))

    @property
    def sources(self) -> list[str]:
        """The fields that say where pairs come from; there must be one."""
        return [
            name for name in ("pairs", "rollouts", "sampled") if getattr(self, name) is not None
        ]
