"""Learning from a teacher, as settings."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, lt, optional

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages.base import Stage
from limite.core.validators import option

LISTS = "teacher_topk_logp"


@attrs.frozen(kw_only=True)
class Distill(Stage):
    """Learning from a teacher's likeliest tokens: stored with its texts, or asked of it.

    Without ``teacher`` the file holds texts with lists. A ``teacher``, the directory of a model
    with the same tokenizer, is asked about the texts of the file; or, ``on_policy``, about the
    responses that the student itself gives to the prompts of the file.
    """

    kind: ClassVar[str] = "distill"
    runner: ClassVar[str] = "limite.core.recipe.runners.distill:run"
    trains: ClassVar[bool] = True
    traces: str = attrs.field(
        metadata={"help": "the path of a .jsonl or .jsonl.zst file of texts, or of prompts"}
    )
    teacher: str | None = attrs.field(
        default=None, metadata={"help": "the directory of the model that is asked"}
    )
    teacher_dtype: str = attrs.field(
        default="float32",
        validator=option("float32", "bfloat16", "float64"),
        metadata={"help": "what the teacher computes in"},
    )
    on_policy: bool = attrs.field(
        default=False, metadata={"help": "whether the student writes the responses"}
    )
    response_tokens: int = attrs.field(
        default=64,
        validator=and_(ge(1), le(2**24)),
        metadata={"help": "at most, of a response the student writes", "unit": "tokens"},
    )
    listed_tokens: int = attrs.field(
        default=32,
        validator=and_(ge(1), le(10**6)),
        metadata={"help": "of a list; stored ones are cut to the likeliest", "unit": "tokens"},
    )
    temperature: float = attrs.field(
        default=1.0,
        validator=and_(gt(0.0), le(1000.0)),
        metadata={"help": "of teacher and student; stored lists must be of the same"},
    )
    max_tokens: int | None = attrs.field(
        default=None,
        validator=optional(and_(ge(2), le(2**24))),
        metadata={
            "help": "of a prompt with its text, which is cut there; without it the context",
            "unit": "tokens",
        },
    )
    steps: int = attrs.field(
        default=1000, validator=and_(ge(1), le(10**9)), metadata={"unit": "updates"}
    )
    batch: int = attrs.field(
        default=32,
        validator=and_(ge(1), le(10**6)),
        metadata={"help": "of one update", "unit": "texts"},
    )
    objective: Objective | str = "topk-kd"
    held_out: float = attrs.field(
        default=0.05,
        validator=and_(ge(0.0), lt(1.0)),
        metadata={"help": "the share of prompts, by their hash, whose texts are measured only"},
    )
    eval_every: int = attrs.field(
        default=100,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "how often held-out texts are measured", "unit": "updates"},
    )
    eval_traces: int = attrs.field(
        default=100,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "held-out texts that are measured, at most", "unit": "texts"},
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
        return frozenset({"logp", "entropy", "topk_logp", LISTS})

    @property
    def reads_lists(self) -> bool:
        """Whether the objective learns from lists, and not from the texts alone."""
        needs = getattr(self.objective, "needs", None)
        return needs is None or LISTS in needs

    @property
    def stored_lists(self) -> int | None:
        """How long the lists are that every line must have; None: lines need none."""
        return self.listed_tokens if self.reads_lists and self.teacher is None else None

    @property
    def files(self) -> tuple[str, ...]:
        if self.teacher is None:
            return (self.traces,)
        folder = Path(self.teacher).expanduser()
        weights = sorted(map(str, folder.glob("*.safetensors")))
        return (self.traces, str(folder / "config.json"), *weights)
