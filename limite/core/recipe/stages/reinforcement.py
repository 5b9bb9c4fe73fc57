"""Reinforcement learning, as settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs
from attrs.validators import and_, ge, le, optional

from limite.core.health.limits import HealthLimits
from limite.core.kinds import (
    Advantage,
    Curriculum,
    LRSchedule,
    Objective,
    Optimizer,
    Reward,
    Verifier,
)
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Mix, Stage
from limite.core.recipe.stages.critic import CriticSettings
from limite.core.recipe.stages.stability import Unstable
from limite.core.rollout.repetition import RepetitionDetector
from limite.core.rollout.shaping import OverlongPenalty
from limite.core.rollout_kinds import Engine, RolloutSchedule
from limite.core.train.correction import Correction
from limite.core.validators import option

LISTED_TOKENS = 20
"""The likeliest tokens that are recorded for an objective that reads lists and says no ``topk``."""

START = "start"
"""The reference of an RL stage that is the weights it begins with."""

PLAIN_ADVANTAGE = "group"
"""The advantage of an RL stage that names none and whose objective brings none."""


NOT_TRUNCATED = (
    "responses to learn from are sampled from the whole distribution at 'temperature'; cut off, "
    "they would have probabilities that the learner does not know, and every ratio would be biased"
)


@attrs.frozen(kw_only=True)
class RL(Stage):
    """Reinforcement learning: sample whole groups, score them, update on the groups that differ."""

    kind: ClassVar[str] = "rl"
    runner: ClassVar[str] = "limite.core.recipe.runners.rl:run"
    trains: ClassVar[bool] = True
    shared_out: ClassVar[bool] = True
    records_rollouts: ClassVar[bool] = True
    not_settings: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("top_p", "top_k", "min_p"), NOT_TRUNCATED
    )
    problems: Mix
    steps: int = fields.count(100, unit="rollout batches")
    groups: int = fields.count(64, told="problems of a rollout batch", most=10**6)
    rollouts: int = fields.count(8, told="responses to a problem", most=10**5)
    off_policy_updates: int = attrs.field(
        default=0,
        validator=and_(ge(0), le(10**6)),
        metadata={
            "help": "updates after the first of a batch: u deals its groups to u + 1 updates"
        },
    )
    max_tokens: int = fields.tokens(64, told="at most, of a response")
    budget: str = attrs.field(
        default="fixed-response",
        validator=option("fixed-response", "native-context"),
        metadata={"help": "the same for every response, or what its prompt leaves of the context"},
    )
    temperature: float = fields.temperature("that responses are sampled at")
    objective: Objective | str = "dppo"
    reference: str | None = attrs.field(
        default=None,
        metadata={
            "help": "the earlier stage whose weights a KL penalty pulls towards, or 'start': those "
            "this stage begins with"
        },
    )
    reference_reset_every: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(1), le(10**9))),
        metadata={
            "help": "the policy becomes the reference, and the optimizer starts anew",
            "unit": "rollout batches",
        },
    )
    correction: Correction | None = attrs.field(
        default=None,
        metadata={"help": "of tokens to which learner and sampler give other probabilities"},
    )
    advantage: Advantage | str | None = attrs.field(
        default=None, metadata={"help": "without it the one that belongs to the objective"}
    )
    critic: CriticSettings | None = attrs.field(
        default=None,
        metadata={"help": "whose values the advantage reads, where it reads any"},
    )
    reward: Reward | str = "accuracy"
    overlong: OverlongPenalty | None = attrs.field(
        default=None,
        metadata={"help": "added to the rewards of responses that come near 'max_tokens'"},
    )
    repetition: RepetitionDetector | None = attrs.field(
        default=None,
        metadata={"help": "ends responses that repeat themselves; without it none is looked at"},
    )
    repetition_penalty: float = attrs.field(
        default=0.0,
        validator=and_(ge(0.0), le(1e6)),
        metadata={"help": "taken off the reward of a response that repeats itself"},
    )
    mask_truncated: bool = attrs.field(
        default=False,
        metadata={
            "help": "responses cut at their budget count for their group's advantages, and are not "
            "learned from"
        },
    )
    verifier: Verifier | str = "exact"
    curriculum: Curriculum | str = "pass-rate"
    rollout_schedule: RolloutSchedule | str = "complete-episodes"
    engine: Engine | str = attrs.field(
        default="built-in", metadata={"help": "what samples: this process, or a server"}
    )
    rollout_prefetch_schedule: str = attrs.field(
        default="after-update",
        validator=option("before-update", "after-update"),
        metadata={
            "help": "when the next batch is sampled: before the updates of this one, by the policy "
            "as it was, or after them"
        },
    )
    overlap_actor_learner: bool = attrs.field(
        default=False,
        metadata={"help": "sample the next batch while this one is learned from"},
    )
    max_policy_lag: int = attrs.field(
        default=1,
        validator=and_(ge(0), le(10**6)),
        metadata={
            "help": "that a batch may have when it is learned from; one with more is refused",
            "unit": "updates",
        },
    )
    optimizer: Optimizer | str = "adamw"
    lr_schedule: LRSchedule | str = "warmup-stable-decay"
    clip_norm: float = fields.clip_norm()
    microbatch_tokens: int = fields.microbatch_tokens()
    share_prompts: bool = attrs.field(
        default=True,
        metadata={
            "help": "whether the learner reads a prompt once for all its responses, where the "
            "attention allows it"
        },
    )
    health: HealthLimits = attrs.field(factory=HealthLimits)
    stop_when: Unstable | None = attrs.field(
        default=None,
        metadata={"help": "the stage ends early, and hands on what it was before it went wrong"},
    )
    stop_after_flat_batches: int = fields.count(
        8, unit="rollout batches", told="in a row without anything to learn: the run fails"
    )
    recompute: bool = fields.recompute()
    checkpoint_every: int = fields.checkpoint_every(10, "rollout batches")
    keep: int = fields.keep()
    save_in_background: bool = fields.save_in_background()

    @property
    def files(self) -> tuple[str, ...]:
        """Those that problems are drawn from."""
        probe = None if self.stop_when is None else self.stop_when.probe
        asked = () if probe is None else probe.problems.files
        return tuple(dict.fromkeys((*self.problems.files, *asked)))

    @property
    def supplies(self) -> frozenset[str]:
        """The columns that an objective can read."""
        columns = {"logp", "behavior_logp", "advantage", "entropy"}
        columns |= {"topk_logp", "behavior_topk_logp"}
        return frozenset(columns if self.reference is None else columns | {"reference_logp"})

    @property
    def listed_tokens(self) -> int | None:
        """How many tokens' log-probabilities are recorded at every position; None: no list."""
        needs = getattr(self.objective, "needs", None) or frozenset()
        if "behavior_topk_logp" not in needs:
            return None
        return int(getattr(self.objective, "topk", LISTED_TOKENS))
