"""The kinds of stage a recipe is made of, as settings. What runs them is named as a string.

A component field takes a component or the name of one; after resolving it is always a component.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, lt, optional

from limite.core.health.limits import HealthLimits
from limite.core.kinds import (
    Advantage,
    Curriculum,
    LRSchedule,
    Objective,
    Optimizer,
    Reward,
    RolloutSchedule,
    Verifier,
)
from limite.core.train.correction import Correction
from limite.core.validators import at_least_one_weight, difficulty_range, option


@attrs.frozen
class Mix:
    """A mixture of problem generators: name to weight, over a stretch of difficulty.

    Each generator's stretch is cut into ``levels`` equal parts; a generator at one level is what a
    curriculum chooses between.
    """

    sources: dict[str, float] = attrs.field(
        validator=at_least_one_weight, metadata={"help": "generator to its weight"}
    )
    difficulty: tuple[float, float] = attrs.field(
        default=(0.0, 1.0),
        validator=difficulty_range,
        kw_only=True,
        metadata={"help": "from and to, within 0 and 1"},
    )
    levels: int = attrs.field(
        default=1,
        validator=and_(ge(1), le(100)),
        kw_only=True,
        metadata={"help": "equal parts that the stretch of difficulty is cut into"},
    )


@attrs.frozen(kw_only=True)
class Stage:
    """What every stage has: where its weights come from, and a seed of its own.

    ``start`` names an earlier stage; without it the stage goes on from the nearest earlier one
    that trains, and the first one from new weights.
    """

    kind: ClassVar[str]
    runner: ClassVar[str]
    trains: ClassVar[bool] = False
    kinds: ClassVar[Mapping[str, type[Stage]]] = {}
    start: str | None = attrs.field(
        default=None,
        metadata={"help": "the earlier stage whose weights this one begins with"},
    )
    seed: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(0), lt(2**64))),
        metadata={"help": "instead of the recipe's seed"},
    )


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


@attrs.frozen(kw_only=True)
class RL(Stage):
    """Reinforcement learning: sample whole groups, score them, update on the groups that differ."""

    kind: ClassVar[str] = "rl"
    runner: ClassVar[str] = "limite.core.recipe.runners.rl:run"
    trains: ClassVar[bool] = True
    problems: Mix
    steps: int = attrs.field(
        default=100, validator=and_(ge(1), le(10**9)), metadata={"unit": "rollout batches"}
    )
    groups: int = attrs.field(
        default=64,
        validator=and_(ge(1), le(10**6)),
        metadata={"help": "problems of a rollout batch"},
    )
    rollouts: int = attrs.field(
        default=8, validator=and_(ge(1), le(10**5)), metadata={"help": "responses to a problem"}
    )
    off_policy_updates: int = attrs.field(
        default=0,
        validator=and_(ge(0), le(10**6)),
        metadata={
            "help": "updates after the first of a batch: u deals its groups to u + 1 updates"
        },
    )
    max_tokens: int = attrs.field(
        default=64,
        validator=and_(ge(1), le(2**24)),
        metadata={"help": "at most, of a response", "unit": "tokens"},
    )
    budget: str = attrs.field(
        default="fixed-response",
        validator=option("fixed-response", "native-context"),
        metadata={"help": "the same for every response, or what its prompt leaves of the context"},
    )
    temperature: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1000.0)),
        metadata={"help": "that responses are sampled at"},
    )
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
    reward: Reward | str = "accuracy"
    verifier: Verifier | str = "exact"
    curriculum: Curriculum | str = "pass-rate"
    rollout_schedule: RolloutSchedule | str = "complete-episodes"
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
    health: HealthLimits = attrs.field(factory=HealthLimits)
    stop_after_flat_batches: int = attrs.field(
        default=8,
        validator=and_(ge(1), le(10**9)),
        metadata={
            "help": "in a row without anything to learn: the run fails",
            "unit": "rollout batches",
        },
    )
    checkpoint_every: int = attrs.field(
        default=10, validator=and_(ge(1), le(10**9)), metadata={"unit": "rollout batches"}
    )
    keep: int = attrs.field(
        default=2,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "the newest", "unit": "checkpoints"},
    )

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


@attrs.frozen(kw_only=True)
class Eval(Stage):
    """Accuracy on held-out problems, with a paired interval against an earlier ``Eval`` stage."""

    kind: ClassVar[str] = "eval"
    runner: ClassVar[str] = "limite.evaluate.stage:run"
    problems: Mix
    count: int = attrs.field(
        default=400, validator=and_(ge(2), le(10**8)), metadata={"unit": "problems"}
    )
    samples: int = attrs.field(
        default=4, validator=and_(ge(1), le(10**6)), metadata={"help": "responses to a problem"}
    )
    max_tokens: int = attrs.field(
        default=64,
        validator=and_(ge(1), le(2**24)),
        metadata={"help": "at most, of a response", "unit": "tokens"},
    )
    temperature: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1000.0)),
        metadata={"help": "that responses are sampled at"},
    )
    verifier: Verifier | str = "exact"
    against: str | None = attrs.field(
        default=None, metadata={"help": "the earlier eval stage to be compared with"}
    )
    confidence: float = attrs.field(
        default=0.95, validator=and_(gt(0.5), lt(1.0)), metadata={"help": "of the intervals"}
    )


LISTED_TOKENS = 20
"""The likeliest tokens that are recorded for an objective that reads lists and says no ``topk``."""

START = "start"
"""The reference of an RL stage that is the weights it begins with."""

PLAIN_ADVANTAGE = "group"
"""The advantage of an RL stage that names none and whose objective brings none."""

STAGE_KINDS: dict[str, type[Stage]] = {stage.kind: stage for stage in (SFT, RL, Eval)}

Stage.kinds = STAGE_KINDS  # what `type` says in settings files, and the class it stands for
