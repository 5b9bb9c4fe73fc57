"""What a verdict on a stage does not say: why it ended early, what had better be changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from limite.core.health.contrast import contrast_hint
from limite.core.recipe.report import words
from limite.core.recipe.report.causes import unimproved
from limite.core.recipe.report.read import Run, StageRun

TRIGGERS = {
    "ratio": "health gates failed",
    "unstable/gradient_norm": "the gradient's norm was far above its median",
    "unstable/natural_end": "fewer responses came to their end than before",
    "unstable/held_out": "held-out problems were solved less often than before",
}

MOST = 12
"""Of remarks of a kind: how many are told to a reader."""


def remarks(run: Run) -> list[str]:
    """Those of all stages, in order, and then why some may not have improved."""
    return [*_of_stages(run), *unimproved(run)]


def first_remarks(run: Run) -> list[str]:
    """The same to read: where stages are many, the first of a kind stand for the others."""
    return [*_first(_of_stages(run)), *_first([*unimproved(run)])]


def _of_stages(run: Run) -> list[str]:
    return [
        f"{stage.name}: {text}"
        for stage in run.stages
        for text in (ending(stage), contrast(stage))
        if text
    ]


def _first(lines: Sequence[str]) -> list[str]:
    left = len(lines) - MOST
    if left <= 0:
        return [*lines]
    return [*lines[:MOST], f"and {words.plural(left, 'remark')} like these on later stages"]


def ending(stage: StageRun) -> str:
    """That a stage was stopped because it was unstable, and why; empty where it was not."""
    ended, handed = stage.receipt.get("ended"), words.finite(stage.receipt.get("hands_on_step"))
    if not isinstance(ended, Mapping) or handed is None:
        return ""
    triggers = ended.get("triggers")
    told = []
    for each in triggers if isinstance(triggers, list) else ():
        if isinstance(each, Mapping):
            name = str(each.get("trigger"))
            told.append(f"{TRIGGERS.get(name, name)} since step {each.get('since_step')}")
    planned = words.finite(stage.settings.get("steps"))
    of = f" of {words.count(planned)}" if planned is not None else ""
    return (
        f"ended after step {words.count(stage.steps)}{of} as unstable: {' and '.join(told)}; "
        f"later stages begin with step {int(handed)}"
    )


def contrast(stage: StageRun) -> str:
    """What to change where few groups of a stage could teach anything."""
    size = words.finite(stage.settings.get("rollouts"))
    names = ("contrast/share", "contrast/all_wrong_share", "contrast/all_correct_share")
    shares = [[each for each in stage.column(name) if math.isfinite(each)] for name in names]
    if size is None or not all(shares):
        return ""
    mixed, wrong, correct = map(fmean, shares)
    return contrast_hint(mixed, wrong, correct, int(size))
