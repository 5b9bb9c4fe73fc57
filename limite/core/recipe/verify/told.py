"""What results tell of responses: every figure that follows from them, computed again."""

from __future__ import annotations

import hashlib
import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.jsonl import dumps, read_json
from limite.core.recipe.rundir import RESULTS
from limite.core.recipe.stages import Eval
from limite.core.recipe.verify.finding import Findings

RECOUNTED, COMPARE = "limite.evaluate.recounted", "limite.evaluate.compare"
"""What has made the figures, named here and loaded when it is needed: core lies below it."""

ELSEWHERE = ("correct", "total", "endings")
"""Told where responses are counted."""
BY_METHOD = frozenset(
    (
        *("text", "scope", "interval", "interval_count", "method", "bootstrap", "hierarchical"),
        *("power", "wording", "p_value", "first_samples", "wilson"),
    )
)
"""What depends on how intervals are made, which another version of the code may do otherwise."""

ROUNDING = 1e-9
"""Of figures, relative: Pythons add up long lists with different care."""
_SHOWN = 60


def check_figures(
    place: Path,
    lines: Sequence[Mapping[str, Any]],
    results: Mapping[str, Any],
    stage: Eval | None,
    same_code: bool,
    findings: Findings,
) -> None:
    """Figures of a whole set of responses, ``place`` being that of the results.

    ``same_code`` says that they were made by the code that is here: otherwise only what is counted
    is compared, and of what other code has not told nothing is missed.
    """
    samples = results["samples"]
    for start in range(0, len(lines), samples):
        group = lines[start : start + samples]
        asked = {line["problem_id"] for line in group}
        if len(asked) != 1 or [line["sample_index"] for line in group] != list(range(samples)):
            findings.wrong(place, "its responses are not in order: problem by problem, from 0")
            return
    confidence = stage.confidence if stage is not None else results["confidence"]
    recounted: Callable[..., dict[str, Any]] = importlib.import_module(RECOUNTED).recounted
    counted = recounted(lines, samples, confidence)
    kept = {key: value for key, value in counted.items() if key not in ELSEWHERE}
    for fault in differences(results, _plain(kept), same_code):
        findings.wrong(place, fault)
    sealed = hashlib.sha256(dumps(results["protocol"]).encode()).hexdigest()
    if results["protocol_id"] != sealed:
        findings.wrong(place, "'protocol_id' is not that of its protocol")


def check_against(
    place: Path,
    results: Mapping[str, Any],
    stage: Eval,
    earlier: Path,
    names: tuple[str, str],
    same_code: bool,
    findings: Findings,
) -> None:
    """The change since an earlier stage, from both results; ``names`` are that one's and ours."""
    told = results.get("against")
    if (told is None) != (stage.against is None):
        found = "no change" if told is None else f"the change since {told.get('stage')!r}"
        findings.wrong(place, f"tells {found}; its stage is compared with {stage.against!r}")
    if told is None or stage.against is None or not earlier.is_file():
        return
    compared: Callable[..., dict[str, Any]] = importlib.import_module(COMPARE).paired_difference
    try:
        wanted = compared(
            read_json(earlier),
            results,
            before_name=names[0],
            after_name=names[1],
            confidence=stage.confidence,
        )
    except LimiteError as error:
        findings.wrong(place, f"'against': {error}")
        return
    for fault in differences(told, _plain(wanted), same_code, "against."):
        findings.wrong(place, fault)


def check_tasks(place: Path, results: Mapping[str, Any], findings: Findings) -> None:
    """What the results of a suite say of each task is what the task's own say."""
    for name, told in results["tasks"].items():
        own = place.parent / name / RESULTS
        if not own.is_file():
            continue  # told where files are missed
        theirs = read_json(own)
        for key, value in told.items():
            if theirs.get(key) != value:
                findings.wrong(
                    place, f"{name}: {key} is {value}, and its own results say {theirs.get(key)}"
                )


def differences(
    told: Mapping[str, Any], wanted: Mapping[str, Any], same_code: bool, at: str = ""
) -> Iterator[str]:
    """Every figure that is not what was computed, by its place."""
    for key, value in wanted.items():
        if not same_code and (key in BY_METHOD or key not in told):
            continue
        there = told.get(key)
        if isinstance(value, Mapping) and isinstance(there, Mapping):
            yield from differences(there, value, same_code, f"{at}{key}.")
            more = sorted(there.keys() - value.keys())
            if same_code and more:
                yield f"{at}{key} has {', '.join(more)}, of which the responses give none"
        elif not _same(there, value):
            yield f"{at}{key} is {_short(there)}, and the responses give {_short(value)}"


def _same(told: Any, wanted: Any) -> bool:
    if isinstance(told, float) and isinstance(wanted, (int, float)):
        return math.isclose(told, wanted, rel_tol=ROUNDING, abs_tol=ROUNDING)
    if isinstance(told, list) and isinstance(wanted, list):
        return len(told) == len(wanted) and all(map(_same, told, wanted))
    if isinstance(told, Mapping) and isinstance(wanted, Mapping):
        return told.keys() == wanted.keys() and all(_same(told[key], wanted[key]) for key in told)
    return type(told) is type(wanted) and bool(told == wanted)


def _plain(figures: Mapping[str, Any]) -> dict[str, Any]:
    """As they are once they were written and read."""
    found: dict[str, Any] = json.loads(dumps(figures))
    return found


def _short(value: Any) -> str:
    text = dumps(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
