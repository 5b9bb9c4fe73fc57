"""Several benchmarks on one command: a suite, each with results of its own, and one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import write_atomic, write_json
from limite.core.pretrained.directory import CONFIG_FILE
from limite.evaluate.command import Say, evaluate
from limite.evaluate.models import Model, Terms
from limite.evaluate.profiles import CHAT
from limite.evaluate.shares import share_text
from limite.evaluate.suites.checkpoints import notes_on, refuse_other
from limite.evaluate.suites.tasks import is_published, published, tasks_of
from limite.evaluate.told import short, table
from limite.evaluate.wanted import Wanted


def published_terms(profile: str | None, terms: Terms, given: frozenset[str]) -> Terms:
    """The publisher's terms, where no option that was ``given`` says otherwise; seed 0."""
    theirs = published(profile, given, greedy=terms.temperature == 0)
    if "budget" in theirs:
        theirs["named_budget"] = theirs.pop("budget")
    if "seed" not in given:
        theirs["seed"] = 0
    return attrs.evolve(terms, **theirs)


def run_suite(
    named: str,
    data: Path | None,
    wanted: Wanted,
    more: Callable[[], Sequence[Model]],
    note: Say,
    tell: Say,
    served: Path | None = None,
) -> dict[str, Any]:
    """Measures all that a suite has; tasks whose data are not there are told, and have no score.

    Of a published suite the publisher's own checkpoints must be those that it pins, ``served``, the
    directory behind a server, too.
    """
    tasks = tasks_of(named, data)
    if is_published(named):
        _hold_to_pins(wanted, served, note)
    out = wanted.out or Path("evals") / named.replace("/", "-")
    found: dict[str, Any] = {}
    for task, place in tasks.places.items():
        tell(f"{tasks.suite}/{task}")
        read = tasks.reader(task) if is_published(named) else None
        single_wanted = attrs.evolve(wanted, benchmark=place, out=out / task)
        found[task] = evaluate(single_wanted, more, note, tell, read)
    text = "\n".join(_lines(tasks.suite, found, tasks.missing)) + "\n"
    summary = {
        "suite": named,
        "out": str(out),
        "missing": tasks.missing,
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


def _hold_to_pins(wanted: Wanted, served: Path | None, note: Say) -> None:
    """Refuses checkpoints of the publisher that the suite does not measure; all of them at once."""
    named = [*wanted.models, *([] if wanted.against is None else [wanted.against])]
    places = [*map(Path, named), *([] if served is None else [served])]
    wrong = []
    for place in places:
        if not (place / CONFIG_FILE).is_file():
            continue
        try:
            refuse_other(place, wanted.profile or CHAT)
        except LimiteError as error:
            wrong.append(str(error))
        for text in notes_on(place):
            note(text)
    if wrong:
        raise LimiteError("\n".join(wrong))


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
