"""Supervised fine-tuning on worked solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.runners.update import Figures, outcome, train, update
from limite.core.recipe.stages import SFT
from limite.core.separation import text_hash
from limite.core.train.columns import totals_of
from limite.core.train.documents import Document, batch_indexes, make_documents
from limite.core.train.replay import Row, replay
from limite.core.types import Problem

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext


def problems_of(context: StageContext, stage: SFT) -> list[Problem]:
    """The distinct training problems of the stage: a pure function of its settings and seed."""
    source = ProblemSource(
        stage.problems, context.registry, context.seeds.child("problems"), held_out=False
    )
    return list(source.distinct(stage.documents))


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of everything the stage trains on."""
    return {
        text_hash(problem.problem) for problem in problems_of(context, cast(SFT, context.stage))
    }


def targets_of(document: Document, targets: str) -> Row:
    """A document as a row whose completion is what counts: the response, or all but the first.

    Targets are picked by position, never by token id, so the end token is always among them.
    """
    first = document.prompt_tokens if targets == "response" else 1
    return Row(prompt=document.ids[:first], completion=document.ids[first:])


def run(context: StageContext) -> dict[str, Any]:
    """Trains the stage to its last step, from its newest checkpoint if it has one."""
    stage = cast(SFT, context.stage)
    documents = make_documents(
        problems_of(context, stage), stage.styles, context.tokenizer, context.seeds
    )
    context.fits(max(len(document.ids) for document in documents), "the longest document")
    session = TrainingSession(
        context,
        optimizer=cast(Optimizer, stage.optimizer),
        lr_schedule=cast(LRSchedule, stage.lr_schedule),
        total_updates=stage.steps,
        clip_norm=stage.clip_norm,
        keep=stage.keep,
    )
    objective = cast(Objective, stage.objective)
    needs = getattr(objective, "needs", None)

    def step(number: int) -> Figures:
        indexes = batch_indexes(number, stage.batch, len(documents), context.seeds)
        rows = [targets_of(documents[index], stage.targets) for index in indexes]
        said = replay(session.decoder, rows, entropy=needs is None or "entropy" in needs)
        columns = {"logp": said.logp}
        if said.entropy is not None:
            columns["entropy"] = said.entropy
        totals = totals_of(said.mask, response_tokens=context.model.context)
        session.clocks.tokens += sum(len(documents[index].ids) for index in indexes)
        return update(session, objective, [(said.mask, columns)], totals)

    train(session, stage, step)
    return {**outcome(session), "documents": len(documents)}
