"""What a run shows, in words that its numbers allow.

An ability claim ("improved", "regressed") is made only from a paired interval on held-out problems
that excludes zero, under one protocol. Everything else is execution, and is called so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.recipe.report import words
from limite.core.recipe.report.read import Run, StageRun
from limite.core.recipe.report.words import as_number, finite


@attrs.frozen(kw_only=True)
class Comparison:
    """A paired difference of two evaluations of the same problems.

    ``said`` is the evaluation's own wording. The page repeats it only where protocol and interval
    bear it out.
    """

    stage: str
    against: str
    difference: float
    interval: tuple[float, float] | None
    said: str
    same_protocol: bool
    p_value: float | None = None

    @property
    def wording(self) -> str:
        if not self.same_protocol:
            return "not comparable: another protocol"
        if self.interval is None:
            return "no interval, so no claim"
        low, high = self.interval
        borne_out = {
            "improved": low > 0,
            "regressed": high < 0,
            "no observed difference": low <= 0 <= high,
        }
        return self.said if borne_out.get(self.said) else "no claim: wording and interval disagree"


@attrs.frozen(kw_only=True)
class Evaluation:
    """Held-out accuracy after some stage."""

    stage: str
    number: int
    score: float
    correct: int | None
    total: int | None
    problems: int | None
    samples: int | None
    confidence: float
    interval: tuple[float, float] | None
    comparison: Comparison | None
    by_arm: Mapping[str, float]


@attrs.frozen(kw_only=True)
class Gate:
    """All measurements of one gate in one stage."""

    stage: str
    gate: str
    measured: int
    failed: int
    first_failed_step: float | None
    lowest: float | None
    highest: float | None
    limit: str

    @property
    def verdict(self) -> str:
        return "passed" if not self.failed else f"failed {self.failed:,} of {self.measured:,}"


def interval_of(value: Any) -> tuple[float, float] | None:
    """An interval, written as ``[low, high]``; else None."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return None
    low, high = finite(value[0]), finite(value[1])
    return (low, high) if low is not None and high is not None and low <= high else None


def evaluations(run: Run) -> list[Evaluation]:
    """Every evaluation that left a score, in order."""
    protocols = {s.name: s.results.get("protocol_id") for s in run.stages if s.results}
    return [
        found
        for stage in run.stages
        if stage.results is not None
        and (found := _evaluation(stage, stage.results, protocols)) is not None
    ]


def _evaluation(
    stage: StageRun, results: Mapping[str, Any], protocols: Mapping[str, Any]
) -> Evaluation | None:
    score = finite(results.get("score"))
    if score is None:
        return None
    return Evaluation(
        stage=stage.name,
        number=stage.number,
        score=score,
        correct=_whole(results.get("correct")),
        total=_whole(results.get("total")),
        problems=_whole(results.get("problems")),
        samples=_whole(results.get("samples")),
        confidence=finite(results.get("confidence")) or 0.95,
        interval=interval_of(results.get("interval")),
        comparison=_comparison(stage.name, results, protocols),
        by_arm=_by_arm(results.get("by_arm")),
    )


def _whole(value: Any) -> int | None:
    number = finite(value)
    return None if number is None else int(number)


def _comparison(
    stage: str, results: Mapping[str, Any], protocols: Mapping[str, Any]
) -> Comparison | None:
    against = results.get("against")
    if not isinstance(against, Mapping):
        return None
    difference = finite(against.get("difference"))
    if difference is None:
        return None
    other = str(against.get("stage", "?"))
    own = results.get("protocol_id")
    return Comparison(
        stage=stage,
        against=other,
        difference=difference,
        interval=interval_of(against.get("interval")),
        said=str(against.get("wording", "")),
        same_protocol=other not in protocols or protocols[other] == own,
        p_value=finite(against.get("p_value")),
    )


def _by_arm(value: Any) -> dict[str, float]:
    """Accuracy by arm."""
    scores = {
        str(arm): finite(entry.get("score"))
        for arm, entry in (value.items() if isinstance(value, Mapping) else ())
        if isinstance(entry, Mapping)
    }
    return {arm: score for arm, score in scores.items() if score is not None}


def scope_of(run: Run) -> str:
    """What the intervals cover, as the last evaluation says it; empty without any."""
    said = [stage.results.get("scope") for stage in run.stages if stage.results]
    return next((scope for scope in reversed(said) if isinstance(scope, str)), "")


def gates(run: Run) -> list[Gate]:
    """Each gate of each stage once, failed ones first."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for stage in run.stages:
        for line in stage.health:
            found.setdefault((stage.name, str(line.get("gate", "?"))), []).append(line)
    table = [_gate(stage, gate, lines) for (stage, gate), lines in found.items()]
    return sorted(table, key=lambda gate: gate.failed == 0)


def _gate(stage: str, gate: str, lines: Sequence[Mapping[str, Any]]) -> Gate:
    failed = [line for line in lines if line.get("passed") is not True]
    figures = [number for line in lines if (number := as_number(line.get("figure"))) is not None]
    comparable = [number for number in figures if not math.isnan(number)]
    return Gate(
        stage=stage,
        gate=gate,
        measured=len(lines),
        failed=len(failed),
        first_failed_step=finite(failed[0].get("step")) if failed else None,
        lowest=min(comparable) if comparable else (math.nan if figures else None),
        highest=max(comparable) if comparable else (math.nan if figures else None),
        limit=_limit(lines[-1].get("limit")),
    )


def _limit(value: Any) -> str:
    text = "–" if value is None else str(value)
    return text.replace("<=", "≤").replace(">=", "≥").replace(" .. ", " to ")


def headline(run: Run, found: Sequence[Evaluation]) -> tuple[str, str]:
    """The one honest sentence, and its class: improved, regressed, same or none.

    Where nothing is claimed, a second sentence names the stages that trained nothing.
    """
    sentence, claim = _claim(run, found)
    if claim not in ("improved", "regressed"):
        for name, reason in untrained_stages(run).items():
            sentence += f" In {name} {reason}."
    return sentence, claim


def untrained_stages(run: Run) -> dict[str, str]:
    """The reinforcement stages that changed no weight, each with the reason."""
    reasons = {stage.name: _untrained(stage) for stage in run.stages}
    return {name: reason for name, reason in reasons.items() if reason}


def _untrained(stage: StageRun) -> str:
    """That a reinforcement stage made no update, and why; empty when it made one."""
    if stage.kind != "rl" or stage.updates != 0:
        return ""
    shares = [share for share in stage.column("contrast/share") if math.isfinite(share)]
    if not shares:
        return "no update was made"
    if any(shares):
        return "no update was made, though groups had both right and wrong responses"
    return "no update was made: no group had both right and wrong responses"


def _claim(run: Run, found: Sequence[Evaluation]) -> tuple[str, str]:
    compared = [evaluation for evaluation in found if evaluation.comparison is not None]
    if compared:
        return _compared_sentence(compared[-1], {e.stage: e for e in found})
    if found:
        last = found[-1]
        level = f"{100 * last.confidence:g}%"
        interval = (
            f" ({level} interval {words.percent_interval(last.interval)})" if last.interval else ""
        )
        return (
            f"Held-out accuracy is {words.percent(last.score)} in {last.stage}{interval}; "
            "it was compared with nothing, so no change is claimed.",
            "none",
        )
    if any(stage.kind == "eval" and stage.chosen for stage in run.stages):
        return "No evaluation was reached, so nothing is known of ability yet.", "none"
    return "This run has no held-out evaluation, so it shows nothing about ability.", "none"


def _compared_sentence(last: Evaluation, by_stage: Mapping[str, Evaluation]) -> tuple[str, str]:
    pair = last.comparison
    assert pair is not None
    before = by_stage.get(pair.against)
    scores = f" ({words.percent(before.score)} → {words.percent(last.score)})" if before else ""
    level = f"{100 * last.confidence:g}% paired interval"
    if pair.wording in ("improved", "regressed"):
        size = words.points(abs(pair.difference), sign=False)
        return (
            f"Held-out accuracy {pair.wording} by {size} points from {pair.against} to "
            f"{last.stage}{scores}, {level} {words.points_interval(pair.interval)}.",
            pair.wording,
        )
    if pair.wording == "no observed difference":
        return (
            f"No observed difference in held-out accuracy between {pair.against} and "
            f"{last.stage}{scores}: {words.points(pair.difference)} points, "
            f"{level} {words.points_interval(pair.interval)} contains 0.",
            "same",
        )
    return (
        f"Held-out accuracy of {last.stage} against {pair.against}{scores}: {pair.wording}.",
        "none",
    )


def state_of(run: Run) -> str | None:
    """How the run ended when it is not simply done, or None."""
    if not run.stages:
        return "The run left no stages."
    open_stages = [stage for stage in run.stages if stage.status not in ("finished", "left out")]
    if not open_stages:
        return None
    first = next((stage for stage in open_stages if stage.begun), open_stages[0])
    progress = f"{stages_done(run)} done"
    planned = finite(first.settings.get("steps"))
    steps = ""
    if first.begun and first.steps is not None:
        of = f" of {words.count(planned)}" if planned is not None else ""
        steps = f" after {words.count(first.steps)}{of} steps"
    status = {"unfinished": "is unfinished", "not reached": "was not reached"}.get(
        first.status, first.status
    )
    reason = f": {first.error.rstrip('.')}" if first.error else ""
    return f"Incomplete: {progress}; {first.name} {status}{steps}{reason}."


def stages_done(run: Run) -> str:
    """``3 of 4 stages``, of those that this run was asked for."""
    asked = [stage for stage in run.stages if stage.status != "left out"]
    done = sum(stage.status == "finished" for stage in asked)
    return f"{done} of {words.plural(len(asked), 'stage')}"


def stage_verdict(
    stage: StageRun, found: Mapping[str, Evaluation], table: Sequence[Gate]
) -> tuple[str, str]:
    """A stage's verdict in a few words, and its class: good, bad or plain."""
    if stage.error:
        return stage.error, "bad"
    evaluation = found.get(stage.name)
    if evaluation is not None:
        text = words.percent(evaluation.score)
        pair = evaluation.comparison
        if pair is None:
            return f"{text} held-out", "plain"
        tone = {"improved": "good", "regressed": "bad"}.get(pair.wording, "plain")
        return f"{text} held-out; {pair.wording} against {pair.against}", tone
    own = [gate for gate in table if gate.stage == stage.name]
    untrained = _untrained(stage)
    if untrained and not any(gate.failed for gate in own):
        return untrained, "bad"
    if own:
        failed = sum(gate.failed > 0 for gate in own)
        if failed:
            steps = {
                str(line.get("step")) for line in stage.health if line.get("passed") is not True
            }
            return (
                f"execution: {failed} of {words.plural(len(own), 'gate')} failed, "
                f"at {words.plural(len(steps), 'step')}" + (f"; {untrained}" if untrained else ""),
                "bad",
            )
        return f"execution: {words.plural(len(own), 'gate')} passed", "plain"
    losses = [value for value in stage.column("loss") if math.isfinite(value)]
    if losses:
        return f"loss {words.number(losses[0])} → {words.number(losses[-1])}", "plain"
    return "–", "plain"


def stage_time(stage: StageRun) -> float | None:
    """Seconds of a stage: from its receipt, else the clock of its last step."""
    said = finite(stage.receipt.get("time_s"))
    if said is not None:
        return said
    return finite(stage.metrics[-1].get("time_s")) if stage.metrics else None


def stage_tokens(stage: StageRun) -> float | None:
    """Tokens of a stage: from its receipt, else the count of its last step."""
    said = finite(stage.receipt.get("tokens"))
    if said is not None:
        return said
    return finite(stage.metrics[-1].get("tokens")) if stage.metrics else None
