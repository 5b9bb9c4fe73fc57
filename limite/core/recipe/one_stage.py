"""Runs one stage of a run, by one rank or by all, and leaves its receipt."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.errors import LimiteError, RunFailed
from limite.core.receipts import FINISHED
from limite.core.recipe.context import RunStopped, StageContext
from limite.core.recipe.naming import policies_before
from limite.core.recipe.only import needed_by
from limite.core.recipe.ranks.ranks import OneRank


def refuse_changed_files(context: StageContext) -> None:
    """Refuses to build on finished stages whose files are not what their receipts say."""
    earlier = {
        *needed_by(context.recipe, context.name),
        *policies_before(context.recipe, context.name),
    }
    for name in sorted(earlier):
        changed = context.run.stage_changes(name)
        if changed:
            raise LimiteError(
                f"stage {context.name!r} builds on {name!r}, whose files are not what its receipt "
                f"in {context.run.path} says: {', '.join(changed[:5])}"
            )


def run_stage(context: StageContext) -> None:
    """Runs one stage unless its receipt says that it is finished."""
    if context.run.stage_receipt(context.name) is not None:
        context.echo(f"{context.name}: finished before")
        return
    if context.name in context.run.receipt().get(FINISHED, {}):
        context.echo(
            f"{context.name}: was finished, and its receipt is gone or damaged; it is made again "
            "from what the stage left"
        )
    ranks, what = context.ranks, f"stage {context.name!r}"
    if context.writes:
        refuse_changed_files(context)
        context.run.start_stage(context.name)
        context.run.forget_failure(context.name)
    ranks.host.arrive(f"the beginning of {what}")
    if context.stage.shared_out:
        outcome = do_stage(context)
        if context.writes:
            finish_stage(context, outcome)
    elif context.writes:
        alone = attrs.evolve(context, ranks=OneRank(ranks.device))
        finish_stage(alone, do_stage(alone))
    ranks.follow(f"the end of {what}")


def do_stage(context: StageContext) -> Mapping[str, Any]:
    """What came of a stage, which is run to its end."""
    module, _, function = context.stage.runner.partition(":")
    about = {"stage": context.name, "type": context.stage.kind}
    try:
        with context.writer:
            outcome: Mapping[str, Any] = getattr(importlib.import_module(module), function)(context)
            return outcome
    except RunStopped:
        raise
    except RunFailed as error:
        with contextlib.suppress(LimiteError):
            if context.writes:
                context.run.fail_stage(context.name, {**about, "error": str(error)})
        raise


def finish_stage(context: StageContext, outcome: Mapping[str, Any]) -> None:
    """Leaves the receipt of a stage."""
    context.run.finish_stage(
        context.name,
        {
            "stage": context.name,
            "type": context.stage.kind,
            "health": context.health(outcome.get("updates")),
            "start": context.origin(),
            **outcome,
        },
    )
