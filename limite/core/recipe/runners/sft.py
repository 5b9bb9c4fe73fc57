"""Supervised fine-tuning on worked solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from limite.core.errors import RunFailed
from limite.core.kinds import LRSchedule, Objective, Optimizer
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.runners.own_solutions import own_documents
from limite.core.recipe.runners.session import TrainingSession
from limite.core.recipe.runners.text_rows import cut_rows, reader_of
from limite.core.recipe.runners.update import Figures, outcome, train, update
from limite.core.recipe.stages import SFT
from limite.core.separation import is_held_out, text_hash
from limite.core.train.data.windows import (
    Window,
    WindowCounts,
    Windows,
    cut,
    order_contract,
    refuse_other_order,
)
from limite.core.train.documents import Document, batch_indexes, make_documents
from limite.core.train.replay import Row
from limite.core.types import Problem, Totals

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

SPLIT = "training"


def problems_of(context: StageContext, stage: SFT) -> list[Problem]:
    """The distinct training problems of the stage: a pure function of its settings and seed."""
    if stage.problems is None:
        return []
    source = ProblemSource(
        stage.problems, context.registry, context.seeds.child("problems"), held_out=False
    )
    return list(source.distinct(stage.documents))


def training_hashes(context: StageContext) -> set[str]:
    """Normalised-text hashes of everything the stage trains on, but for what ``own`` takes from an
    earlier stage: that one tells its own."""
    return {
        text_hash(problem.problem) for problem in problems_of(context, cast(SFT, context.stage))
    }


def targets_of(document: Document, targets: str, window: Window | None = None) -> Row:
    """A document, or a window of it, as a row whose completion is what counts: the response, or all
    but the first.

    Targets are picked by position, never by token id, so the end token is always among them.
    """
    start, stop = (0, len(document.ids)) if window is None else (window.start, window.stop)
    first = start + 1
    if targets == "response":
        first = min(max(first, document.prompt_tokens), stop)
    return Row(prompt=document.ids[start:first], completion=document.ids[first:stop])


@attrs.frozen(kw_only=True, eq=False)
class Reading:
    """The rows that a stage learns from, by number.

    ``cursor`` goes into checkpoints and ``told`` into the receipt; both are empty without windows.
    """

    documents: Sequence[Document]
    targets: str
    windows: Sequence[Window] | None = None
    cursor: Mapping[str, Any] = attrs.field(factory=dict)
    told: Mapping[str, Any] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self.documents if self.windows is None else self.windows)

    def __getitem__(self, number: int) -> Row:
        if self.windows is None:
            return targets_of(self.documents[number], self.targets)
        window = self.windows[number]
        return targets_of(self.documents[window.document], self.targets, window)


def refuse_held_out(problems: Sequence[Problem], name: str) -> None:
    """Refuses to cut windows from problems that are kept for evaluation, by their hashes."""
    found = [problem.problem for problem in problems if is_held_out(problem.problem)]
    if found:
        examples = ", ".join(map(repr, found[:3]))
        raise RunFailed(
            f"stage {name!r} was given {len(found):,} held-out problems to cut windows from, such "
            f"as {examples}; the score of an evaluation would not mean ability"
        )


def in_windows(
    context: StageContext, stage: SFT, documents: Sequence[Document], windows: Windows
) -> Reading:
    """The documents in windows; those without a target, all question, are no rows."""
    lengths = [len(document.ids) for document in documents]
    counts = WindowCounts.of(lengths, windows)
    kept = [
        window
        for window in cut(lengths, windows)
        if targets_of(documents[window.document], stage.targets, window).completion
    ]
    if not kept:
        raise RunFailed(f"stage {context.name!r}: no window is left: {counts.told(windows)}")
    contract = order_contract(
        documents, windows, targets=stage.targets, rows=len(kept), seeds=context.seeds
    )
    context.echo(f"{context.name}: {counts.told(windows)}")
    told = {**counts.plain(), "without_target": counts.rows - len(kept)}
    return Reading(
        documents=documents,
        targets=stage.targets,
        windows=kept,
        cursor={"windows": contract},
        told={
            "windows": {SPLIT: told, "order": contract},
            "notes": [counts.told(windows)],
        },
    )


def reading_of(context: StageContext, stage: SFT) -> Reading:
    """What the stage learns from, whole or in windows."""
    problems = problems_of(context, stage)
    documents = make_documents(problems, stage.styles, context.tokenizer, context.seeds)
    if stage.own is not None:
        documents += own_documents(context, stage.own)
    if stage.windows is None:
        context.fits(max(len(document.ids) for document in documents), "the longest document")
        return Reading(documents=documents, targets=stage.targets)
    refuse_held_out(problems, context.name)
    context.fits(stage.windows.tokens, "a window")
    return in_windows(context, stage, documents, stage.windows)


def run(context: StageContext) -> dict[str, Any]:
    """Trains the stage to its last step, from its newest checkpoint if it has one."""
    stage = cast(SFT, context.stage)
    reading = reading_of(context, stage)
    session = TrainingSession(
        context,
        optimizer=cast(Optimizer, stage.optimizer),
        lr_schedule=cast(LRSchedule, stage.lr_schedule),
        total_updates=stage.steps,
        clip_norm=stage.clip_norm,
        keep=stage.keep,
        recompute=stage.recompute,
    )
    if session.clocks.step > session.clocks.data_step:
        saved, ours = (each.get("windows") for each in (session.saved_state, reading.cursor))
        refuse_other_order(saved, ours or {}, f"stage {context.name!r}")
    objective = cast(Objective, stage.objective)
    read = reader_of(session, objective)

    def tokens(row: Row) -> int:
        return len(row.prompt) + len(row.completion)

    def step(number: int) -> Figures:
        begun = session.clocks.data_step
        indexes = batch_indexes(number - begun, stage.batch, len(reading), context.seeds)
        rows = [reading[index] for index in indexes]
        totals = Totals(
            tokens=sum(len(row.completion) for row in rows),
            active_rows=sum(bool(row.completion) for row in rows),
            rows=len(rows),
            response_tokens=context.model.context,
        )
        session.clocks.tokens += sum(map(tokens, rows))
        share = session.share(rows)
        cuts = cut_rows(share, stage.microbatch_tokens or sum(map(tokens, share)), tokens)
        parts = session.rounds(cuts, read)
        return update(session, objective, parts, totals)

    train(session, stage, step, state=lambda: reading.cursor)
    return {**outcome(session), "documents": len(reading.documents), **reading.told}
