"""Averages the policies of earlier stages, and of directories, into one that later stages go on
from."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from limite.core.checkpoint.state import module_payload
from limite.core.checkpoint.write import write_checkpoint
from limite.core.jsonl import read_jsonl, write_json, write_jsonl
from limite.core.model.decoder import Decoder
from limite.core.pretrained.average import checked_weights, uniform
from limite.core.pretrained.save import dtype_name
from limite.core.pretrained.soup import RECEIPT
from limite.core.pretrained.soup import Soup as Blend
from limite.core.pretrained.soup_greedy import Measure, Score, Trial, Tried, greedy, shown
from limite.core.recipe.context import RunStopped
from limite.core.recipe.members import origins, sources_of
from limite.core.recipe.stages import Greedy, Soup
from limite.core.recipe.tasting import asked_of, greedy_record, measuring
from limite.core.separation import assert_separate, text_hash

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

STEP = 1
"""The step of its only checkpoint."""

PROBLEMS, TRIALS = "problems.jsonl.zst", "trials.jsonl"


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of the problems that have chosen the models."""
    place = context.directory / PROBLEMS
    if not place.exists():
        return set()
    return {text_hash(line["problem"]) for line in read_jsonl(place)}


def run(context: StageContext) -> dict[str, Any]:
    """Writes the average as the stage's checkpoint, and what it is of as ``soup.json``."""
    stage = cast(Soup, context.stage)
    started = time.perf_counter()
    members = stage.members
    blend = Blend.of(sources_of(context.run, context.recipe, members), dtypes=False)
    decoder = context.new_decoder(values=False)
    # One decoder for all averages, which are rounded to what it holds.
    stored = dtype_name(decoder.dtype)

    def make(shares: Sequence[float]) -> Decoder:
        blend.fill(decoder, shares, stored=stored)
        return decoder.eval()

    record: dict[str, Any]
    if stage.greedy is not None:
        tried, terms = chosen(context, stage.greedy, make)
        shares = tried.weights(len(members))
        record = greedy_record(tried.record(stage.of), terms)
    elif stage.weights is not None:
        shares = checked_weights(stage.weights, len(members), "weights")
        record = {"method": "weighted"}
    else:
        shares = uniform(len(members))
        record = {"method": "uniform"}
    make(shares)
    told = blend.receipt(shares) | record
    for model, origin in zip(
        told["models"], origins(context.run, context.recipe, members), strict=True
    ):
        model.update(origin)
    write_checkpoint(
        context.checkpoints,
        STEP,
        {"model": module_payload(decoder)},
        {"soup": told},
        context.contract,
        keep=1,
    )
    write_json(context.directory / RECEIPT, told)
    for note in blend.notes():
        context.echo(f"{context.name}: note: {note}")
    parts = ", ".join(
        f"{share:.6g} of {said}" for said, share in zip(stage.of, shares, strict=True) if share
    )
    context.echo(f"{context.name}: {parts}")
    return {
        "steps": STEP,
        "time_s": time.perf_counter() - started,
        "parameters": sum(parameter.numel() for parameter in decoder.parameters()),
        "method": record["method"],
        "models": told["models"],
    }


def chosen(context: StageContext, settings: Greedy, make: Any) -> tuple[Tried, dict[str, Any]]:
    """The models that a greedy soup takes in, and the terms on which each average was asked.

    What was measured is kept, so that a stage which was stopped asks nothing twice.
    """
    stage = cast(Soup, context.stage)
    asked = asked_of(context.recipe, context.name, settings, context.registry)
    texts = {text_hash(each.problem): each.problem for each in asked.problems}
    assert_separate(context.training_hashes(), texts)
    write_jsonl(
        context.directory / PROBLEMS,
        [
            {"problem": each.problem, "answer": each.answer.value, "type": each.answer.type}
            for each in asked.problems
        ],
    )
    terms: dict[str, Any] = {}
    measure = measuring(make, len(stage.of), asked, context.tokenizer, terms)
    kept = Kept(context, stage.of, measure, terms)

    def tell(trial: Trial) -> None:
        names = " + ".join(stage.of[number] for number in trial.models)
        context.echo(f"{context.name}: {names}: {shown(trial.score)}")

    return greedy(stage.of, kept, tell), terms


class Kept:
    """Measurements, each written down when it is done; those that were are not made again."""

    def __init__(
        self,
        context: StageContext,
        names: Sequence[str],
        measure: Measure,
        terms: dict[str, Any],
    ) -> None:
        self.context, self.names, self.measure, self.terms = context, names, measure, terms
        self.place = context.directory / TRIALS
        self.lines: list[Mapping[str, Any]] = (
            list(read_jsonl(self.place)) if self.place.exists() else []
        )

    def __call__(self, models: tuple[int, ...]) -> Score:
        said = [self.names[number] for number in models]
        line = next((each for each in self.lines if each["models"] == said), None)
        if line is None:
            if self.context.stop.requested:
                raise RunStopped(
                    f"stopped in stage {self.context.name!r}; what it has measured is kept",
                    self.context.run.path,
                )
            score = self.measure(models)
            line = {
                "models": said,
                "correct": score.correct,
                "total": score.total,
                "interval": list(score.interval),
                "protocol": self.terms["protocol"],
                "scope": self.terms["scope"],
            }
            self.lines.append(line)
            write_jsonl(self.place, self.lines)
        self.terms.update(protocol=line["protocol"], scope=line["scope"])
        low, high = line["interval"]
        return Score(correct=line["correct"], total=line["total"], interval=(low, high))
