"""Learning from a teacher, as settings."""

from __future__ import annotations

from typing import ClassVar

import attrs

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Stage, directory_files
from limite.core.recipe.stages.made import Asked, Taught
from limite.core.recipe.stages.soup import Member
from limite.core.validators import option

LISTS = "teacher_topk_logp"


@attrs.frozen(kw_only=True)
class Distill(Stage):
    """Learning from a teacher's likeliest tokens: stored with its texts, or asked of it.

    Without ``teacher`` the file holds texts with lists. A ``teacher``, an earlier stage or with a
    slash the directory of a model with the same tokenizer, is asked about the texts of the file;
    or, ``on_policy``, about the responses that the student itself gives to its prompts. With
    ``taught`` there is no file: the teacher answers problems, and its answers are the texts.
    """

    kind: ClassVar[str] = "distill"
    runner: ClassVar[str] = "limite.core.recipe.runners.distill:run"
    trains: ClassVar[bool] = True
    traces: str | None = attrs.field(
        default=None,
        metadata={"help": "the path of a .jsonl or .jsonl.zst file of texts, or of prompts"},
    )
    taught: Taught | None = attrs.field(
        default=None, metadata={"help": "problems that the teacher answers; this or `traces`"}
    )
    teacher: str | None = attrs.field(
        default=None,
        metadata={
            "help": "the model that is asked: an earlier stage, or the path (`./model`) of a "
            "model's directory"
        },
    )
    teacher_dtype: str = attrs.field(
        default="float32",
        validator=option("float32", "bfloat16", "float64"),
        metadata={"help": "what the teacher computes in"},
    )
    on_policy: bool = attrs.field(
        default=False, metadata={"help": "whether the student writes the responses"}
    )
    response_tokens: int = fields.tokens(64, told="at most, of a response the student writes")
    listed_tokens: int = fields.count(
        32, unit="tokens", told="of a list; stored ones are cut to the likeliest", most=10**6
    )
    temperature: float = fields.temperature(
        "of teacher and student; stored lists must be of the same"
    )
    max_tokens: int | None = fields.longest("its text")
    steps: int = fields.count(1000, unit="updates")
    batch: int = fields.batch(32, "texts")
    objective: Objective | str = "topk-kd"
    held_out: float = fields.held_out_prompts(0.05, "texts")
    eval_every: int = fields.eval_every(100, "texts")
    eval_traces: int = fields.count(
        100, unit="texts", told="held-out texts that are measured, at most"
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
        given = [] if self.traces is None else [self.traces]
        if self.taught is not None:
            given += self.taught.problems.files
        model = self.teaching
        if model is not None and model.stage is None:
            given += directory_files(model.path)
        return tuple(dict.fromkeys(given))

    @property
    def teaching(self) -> Member | None:
        """The teacher: a stage, or a model at a path."""
        return None if self.teacher is None else Member.of(self.teacher)

    @property
    def asked(self) -> Asked | None:
        """What the teacher is asked for its own texts; None where it writes none."""
        teacher = self.teaching
        if self.taught is None or teacher is None or self.on_policy:
            return None
        return Asked(
            models={"teacher": teacher},
            problems=self.taught.problems,
            count=self.taught.count,
            max_tokens=self.taught.max_tokens,
            temperature=self.temperature,
            dtype=self.teacher_dtype,
            verifier=self.taught.verifier,
        )
