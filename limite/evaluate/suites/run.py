"""Several benchmarks on one command: a suite, each with results of its own, and one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import write_atomic, write_json
from limite.core.kinds import Verifier
from limite.evaluate.command import Say, Wanted, evaluate
from limite.evaluate.models import Model, Terms
from limite.evaluate.problem_sets import ProblemSet
from limite.evaluate.profiles import CHAT, FEW_SHOT
from limite.evaluate.shares import share_text
from limite.evaluate.suites import publisher
from limite.evaluate.told import short, table

SUITES: Mapping[str, Sequence[str]] = {
    "limite": ("limite-easy", "limite-middle", "limite-hard"),
    "math-extended": tuple(publisher.TASKS),
}
PUBLISHED = "math-extended"


def published_terms(profile: str | None, terms: Terms, given: frozenset[str]) -> Terms:
    """How the publisher decodes: by the profile, where no option says otherwise.

    Chat models answer as often as the task says, at 0.6 within 0.95, in the context less 4,096
    tokens; base models once, by the likeliest token, in 8,192.
    """
    if profile == FEW_SHOT:
        theirs: dict[str, Any] = {"temperature": 0.0, "samples": 1, "max_tokens": 8192}
    elif profile in (None, CHAT):
        theirs = {"temperature": 0.6, "top_p": 0.95, "named_budget": "reserved-prompt"}
    else:
        raise LimiteError(f"--profile: {PUBLISHED} asks by {CHAT} or {FEW_SHOT}, not by {profile}")
    if "budget" in given:
        theirs.pop("named_budget", None)
    return attrs.evolve(
        terms, **{name: value for name, value in {"seed": 0, **theirs}.items() if name not in given}
    )


def run_suite(
    named: str,
    data: Path | None,
    wanted: Wanted,
    more: Callable[[], Sequence[Model]],
    note: Say,
    tell: Say,
) -> dict[str, Any]:
    """Measures all that a suite has; tasks whose data are not there are told, and have no score."""
    suite, _, single = named.partition("/")
    if suite not in SUITES or (single and single not in SUITES[suite]):
        known = [*SUITES, *(f"{each}/{task}" for each in SUITES for task in SUITES[each])]
        near = did_you_mean(named, known) or f"; there are {', '.join(SUITES)}"
        raise LimiteError(f"--suite: no suite {named!r}{near}")
    tasks = [single] if single else list(SUITES[suite])
    places = {task: _place(suite, task, data) for task in tasks}
    missing = {task: "its data are not there" for task, each in places.items() if each is None}
    if suite == PUBLISHED and not single:
        missing["olympiadbench"] = publisher.NO_OLYMPIAD
    there = {task: each for task, each in places.items() if each is not None}
    if not there:
        raise LimiteError(
            f"--data: {data} holds none of {', '.join(tasks)}; a task lies there as "
            f"{tasks[0]}.jsonl, {tasks[0]}.parquet, or as a saved data set {tasks[0]}"
        )
    out = wanted.out or Path("evals") / named.replace("/", "-")
    found: dict[str, Any] = {}
    for task, place in there.items():
        tell(f"{suite}/{task}")
        single_wanted = attrs.evolve(wanted, benchmark=str(place), out=out / task)
        read = _reader(task, Path(place)) if suite == PUBLISHED else None
        found[task] = evaluate(single_wanted, more(), note, tell, read)
    text = "\n".join(_lines(suite, found, missing)) + "\n"
    summary = {
        "suite": named,
        "out": str(out),
        "missing": missing,
        "tasks": {
            task: [
                {key: each[key] for key in ("model", "correct", "total", "score", "interval")}
                | {"protocol_id": each["protocol_id"], "profile": each["profile"]["kind"]}
                for each in results["models"]
            ]
            for task, results in found.items()
        },
    }
    write_json(out / "suite.json", summary)
    write_atomic(out / "table.txt", text)
    return {**summary, "text": text}


def _reader(task: str, path: Path) -> Callable[[Verifier], ProblemSet]:
    return lambda verifier: publisher.problems_of(task, path, verifier)


def _place(suite: str, task: str, data: Path | None) -> str | None:
    if suite != PUBLISHED:
        return task
    if data is None:
        raise LimiteError(f"--data: say where the data of {PUBLISHED} lie, a folder")
    if not data.is_dir():
        raise LimiteError(f"--data: {data} is no folder")
    found = publisher.place_in(data, task)
    return None if found is None else str(found)


def _lines(suite: str, found: Mapping[str, Any], missing: Mapping[str, str]) -> Iterator[str]:
    yield f"suite {suite}"
    yield ""
    rows = [
        (
            task,
            short(each),
            share_text(each["correct"], each["total"]),
            f"[{100 * each['interval'][0]:.2f}%, {100 * each['interval'][1]:.2f}%]",
            f"{each['problems']:,} x {each['samples']}",
        )
        for task, results in found.items()
        for each in results["models"]
    ]
    yield from table(("TASK", "MODEL", "SCORE", "INTERVAL", "PROBLEMS"), rows)
    for task, why in missing.items():
        yield f"{task}: no score: {why}"
