"""A report's claims and tables as plain data."""

from __future__ import annotations

import math
from typing import Any

import attrs

from limite.core.recipe.report.read import Run
from limite.core.recipe.report.summary import (
    Evaluation,
    Gate,
    evaluations,
    gates,
    headline,
    scope_of,
    stage_time,
    stage_tokens,
    stage_verdict,
    state_of,
)


def as_data(run: Run) -> dict[str, Any]:
    """The report's claims and tables as plain data, for ``--json``."""
    found = evaluations(run)
    table = gates(run)
    by_stage = {evaluation.stage: evaluation for evaluation in found}
    sentence, claim = headline(run, found)
    return {
        "run": run.name,
        "headline": sentence,
        "claim": claim,
        "scope": scope_of(run),
        "training_runs": 1,
        "state": state_of(run) or "complete",
        "stages": [
            {
                "number": stage.number,
                "name": stage.name,
                "type": stage.kind,
                "status": stage.status,
                "steps": stage.steps,
                "time_s": stage_time(stage),
                "tokens": stage_tokens(stage),
                "verdict": stage_verdict(stage, by_stage, table)[0],
            }
            for stage in run.stages
        ],
        "evaluations": [_evaluation_data(evaluation) for evaluation in found],
        "gates": [_gate_data(gate) for gate in table],
        "notes": list(run.notes),
    }


def _evaluation_data(evaluation: Evaluation) -> dict[str, Any]:
    data = attrs.asdict(evaluation)
    if evaluation.comparison is not None:
        data["comparison"]["wording"] = evaluation.comparison.wording
    return data


def _gate_data(gate: Gate) -> dict[str, Any]:
    data = attrs.asdict(gate)
    for end in ("lowest", "highest"):
        value = data[end]
        if isinstance(value, float) and not math.isfinite(value):
            data[end] = str(value)  # never bare NaN in JSON
    return data | {"verdict": gate.verdict}
