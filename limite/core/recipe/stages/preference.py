"""Learning from pairs of responses, as settings."""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, lt, optional

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages.base import Stage
from limite.core.recipe.stages.reinforcement import START


@attrs.frozen(kw_only=True)
class Preference(Stage):
    """Learning from pairs: to each prompt a preferred response and another one.

    The pairs come from a file, or from the responses an earlier ``RL`` stage has sampled.
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
    pairs_per_group: int = attrs.field(
        default=1,
        validator=and_(ge(1), le(10**5)),
        metadata={"help": "at most, of a group of `rollouts`, each response in one"},
    )
    max_tokens: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(2), le(2**24))),
        metadata={
            "help": "of a prompt with a response, which is cut there; without it the context",
            "unit": "tokens",
        },
    )
    steps: int = attrs.field(
        default=200, validator=and_(ge(1), le(10**9)), metadata={"unit": "updates"}
    )
    batch: int = attrs.field(
        default=32,
        validator=and_(ge(1), le(10**6)),
        metadata={"help": "of one update", "unit": "pairs"},
    )
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
    held_out: float = attrs.field(
        default=0.1,
        validator=and_(ge(0.0), lt(1.0)),
        metadata={"help": "the share of prompts, by their hash, whose pairs are measured only"},
    )
    eval_every: int = attrs.field(
        default=50,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "how often held-out pairs are measured", "unit": "updates"},
    )
    eval_pairs: int = attrs.field(
        default=200,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "held-out pairs that are measured, at most", "unit": "pairs"},
    )
    optimizer: Optimizer | str = "adamw"
    lr_schedule: LRSchedule | str = "warmup-stable-decay"
    clip_norm: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1e30)),
        metadata={"help": "most that a gradient's norm may be"},
    )
    microbatch_tokens: int = attrs.field(
        default=8192,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "most at once through the learner, as memory allows", "unit": "tokens"},
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
        return frozenset({"logp", "reference_logp", "entropy"})

    @property
    def files(self) -> tuple[str, ...]:
        return () if self.pairs is None else (self.pairs,)
