"""Why a stage may not have improved: the likeliest of the usual causes, from what was measured.

A cause is weighed by how far its figure is past a limit that healthy runs stay within. It is a
place to look first, and no proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import attrs

from limite.core.recipe.report import words
from limite.core.recipe.report.read import Run, StageRun
from limite.core.recipe.report.summary import Comparison, Evaluation, evaluations

NO_CONTRAST = 0.6
"""Of groups without right and wrong answers; more teach little."""
TRUNCATED = 0.1
"""Of responses cut at their budget."""
REPEATED = 0.02
"""Of responses that repeat themselves."""
MISMATCHED = 0.1
"""Of measurements in which a gate of importance weights failed."""
UNENDED = 0.5
"""Of documents whose ending is never learned."""


@attrs.frozen(kw_only=True)
class Cause:
    """What may be wrong. ``weight`` is its figure as a multiple of its limit."""

    weight: float
    text: str


def unimproved(run: Run) -> Iterator[str]:
    """A sentence for each evaluation that was compared and shows no improvement."""
    by_name = {stage.name: stage for stage in run.stages}
    for evaluation in evaluations(run):
        pair = evaluation.comparison
        if pair is None or not pair.same_protocol or pair.wording == "improved":
            continue
        stage = by_name.get(measured(run, evaluation.stage) or "")
        if stage is not None:
            yield f"{stage.name}: {_told(stage, evaluation, pair, by_name[evaluation.stage])}"


def measured(run: Run, name: str) -> str | None:
    """The stage whose weights an evaluation measures."""
    names = [stage.name for stage in run.stages]
    stage = run.stages[names.index(name)]
    start = stage.settings.get("start")
    if isinstance(start, str):
        return start
    earlier = [
        each.name
        for each in run.stages[: names.index(name)]
        if each.kind not in ("eval", "fit-critic")
    ]
    return earlier[-1] if earlier else None


def _told(stage: StageRun, evaluation: Evaluation, pair: Comparison, seen: StageRun) -> str:
    change = f"{words.points(pair.difference)} points {words.points_interval(pair.interval)}"
    word = "less is solved" if pair.wording == "regressed" else "no improvement is shown"
    found = sorted(causes(stage, seen), key=lambda cause: -cause.weight)
    if not found:
        why = "none of the usual causes is seen in what was measured"
    else:
        why = f"the likeliest cause: {found[0].text}"
    return f"{word} against {pair.against} ({change}); {why}"


def causes(stage: StageRun, seen: StageRun) -> list[Cause]:
    """All that were measured past their limits, of a stage and of the evaluation of it."""
    return [cause for look in LOOKS for cause in look(stage, seen)]


def no_contrast(stage: StageRun, _seen: StageRun) -> Iterator[Cause]:
    """Groups whose answers are all right or all wrong teach nothing."""
    mixed = _mean(stage.column("contrast/share"))
    if mixed is None or 1 - mixed <= NO_CONTRAST:
        return
    wrong = _mean(stage.column("contrast/all_wrong_share")) or 0.0
    right = _mean(stage.column("contrast/all_correct_share")) or 0.0
    advice = "make problems easier" if wrong > right else "make problems harder"
    share = words.percent(1 - mixed)
    text = f"no contrast: {share} of groups taught nothing; {advice}"
    yield Cause(weight=(1 - mixed) / NO_CONTRAST, text=text)


def truncation(stage: StageRun, seen: StageRun) -> Iterator[Cause]:
    """Responses that are cut at their budget cannot be right."""
    trained = _mean(stage.column("ending/length_share"))
    asked = _ending(seen, "length")
    share = max(trained or 0.0, asked or 0.0)
    if share > TRUNCATED:
        where = "in training" if (trained or 0.0) >= (asked or 0.0) else "of the evaluation"
        text = f"truncation: {words.percent(share)} of responses {where} were cut at their budget"
        yield Cause(weight=share / TRUNCATED, text=f"{text}; raise 'max_tokens'")


def endings(stage: StageRun, _seen: StageRun) -> Iterator[Cause]:
    """A model that never learned where documents end does not end its answers."""
    windows = stage.receipt.get("windows")
    told = windows.get("training") if isinstance(windows, Mapping) else None
    share = words.finite(told.get("ending_share")) if isinstance(told, Mapping) else None
    if share is not None and 1 - share > UNENDED:
        text = (
            f"missing endings: the end of {words.percent(1 - share)} of documents is no target; "
            "use policy = 'overlap-final-window'"
        )
        yield Cause(weight=(1 - share) / UNENDED * 5, text=text)


def repetition(stage: StageRun, seen: StageRun) -> Iterator[Cause]:
    """Responses that go round in circles."""
    trained = _mean(stage.column("ending/repetitive_share"))
    share = max(trained or 0.0, _ending(seen, "repetition") or 0.0)
    if share > REPEATED:
        text = f"repetition: {words.percent(share)} of responses repeat themselves"
        yield Cause(weight=share / REPEATED, text=text)


def mismatch(stage: StageRun, _seen: StageRun) -> Iterator[Cause]:
    """A learner that gives tokens other probabilities than the sampler learns from other text."""
    lines = [line for line in stage.health if str(line.get("gate", "")).startswith("ratio/")]
    steps = {line.get("step") for line in lines}
    failed = {line.get("step") for line in lines if line.get("passed") is not True}
    if steps and len(failed) / len(steps) > MISMATCHED:
        text = (
            f"mismatch: at {len(failed):,} of {len(steps):,} steps learner and sampler differed "
            "before any update; see the gates of importance weights"
        )
        yield Cause(weight=len(failed) / len(steps) / MISMATCHED, text=text)


def untrained(stage: StageRun, _seen: StageRun) -> Iterator[Cause]:
    """A stage that has made no update."""
    if stage.kind != "eval" and stage.updates == 0:
        yield Cause(weight=math.inf, text="no update was made")


LOOKS: Sequence[Callable[[StageRun, StageRun], Iterator[Cause]]] = (
    untrained,
    no_contrast,
    truncation,
    endings,
    repetition,
    mismatch,
)


def _mean(values: Sequence[float]) -> float | None:
    told = [value for value in values if math.isfinite(value)]
    return fmean(told) if told else None


def _ending(stage: StageRun, name: str) -> float | None:
    """The share of an evaluation's responses that ended so."""
    told: Any = (stage.results or {}).get("endings")
    if not isinstance(told, Mapping):
        return None
    counts = {key: words.finite(value) or 0.0 for key, value in told.items()}
    total = sum(counts.values())
    return counts.get(name, 0.0) / total if total else None
