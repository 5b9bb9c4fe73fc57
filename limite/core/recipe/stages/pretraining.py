"""Pretraining on texts, as settings."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.stages import fields
from limite.core.recipe.stages.base import Stage
from limite.core.recipe.stages.made import MadeTexts
from limite.core.train.data.token_files import bound_files
from limite.core.validators import at_least_one_weight


def _weights(instance: Any, attribute: Any, value: dict[str, float]) -> None:
    if value:  # with texts that are made there need be none
        at_least_one_weight(instance, attribute, value)


@attrs.frozen(kw_only=True)
class Pretrain(Stage):
    """Learning the next token of texts, streamed from files however large they are.

    A source is a ``.jsonl`` or ``.jsonl.zst`` file, a folder of them, or a folder that
    ``Dataset.save_to_disk`` left (with ``pip install 'limite[data]'``). Every token but a
    document's first is a target once in a pass, its end token among them, and attention never
    reaches into another document.
    """

    kind: ClassVar[str] = "pretrain"
    runner: ClassVar[str] = "limite.core.recipe.runners.pretrain:run"
    trains: ClassVar[bool] = True
    shared_out: ClassVar[bool] = True
    sources: dict[str, float] = attrs.field(
        factory=dict,
        validator=_weights,
        metadata={"help": "file or folder of texts to its share of the targets, as a weight"},
    )
    made: MadeTexts | None = attrs.field(
        default=None,
        metadata={"help": "texts that are made of problems, beside `sources` or in their place"},
    )
    validation: str | None = attrs.field(
        default=None,
        metadata={"help": "a file or folder of texts that are measured and never trained on"},
    )
    steps: int = fields.count(1000, unit="updates")
    batch_tokens: int = fields.count(524_288, unit="targets", told="of one update", most=2**40)
    shuffle_documents: int = fields.count(
        10_000,
        unit="documents",
        told="of a source in memory, of which the next is drawn; 1: as they lie",
        most=10**8,
    )
    objective: Objective | str = "sft"
    eval_every: int = fields.eval_every(100, "texts")
    eval_tokens: int = fields.count(
        1_000_000, unit="targets", told="of `validation` that are measured", most=2**40
    )
    optimizer: Optimizer | str = "muon"
    lr_schedule: LRSchedule | str = "warmup-stable-decay"
    clip_norm: float = fields.clip_norm()
    microbatch_tokens: int = fields.microbatch_tokens()
    recompute: bool = fields.recompute()
    checkpoint_every: int = fields.checkpoint_every(100)
    keep: int = fields.keep()

    @property
    def weights(self) -> dict[str, float]:
        """The sources that are read."""
        return {said: weight for said, weight in self.sources.items() if weight}

    @property
    def files(self) -> tuple[str, ...]:
        problems = () if self.made is None else self.made.problems.files
        given = [*self.weights, *([] if self.validation is None else [self.validation])]
        found = [file for said in given for file in bound_files(said)]
        return tuple(dict.fromkeys([*found, *problems]))

    @property
    def supplies(self) -> frozenset[str]:
        """The columns that an objective can read."""
        return frozenset({"logp", "entropy"})
