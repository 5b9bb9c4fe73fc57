"""Every row of the golden cases gets its verdict, in this process and through the worker."""

from __future__ import annotations

import collections
import json
from pathlib import Path
from typing import Any

import pytest

from limite.core.types import Answer, Verdict
from limite.problems import verify_all
from limite.problems.answers import CHECKED, TYPES
from limite.problems.sandbox.limits import Limits
from limite.problems.verifiers.checker import checked
from limite.problems.verifiers.judge import judge

GOLDEN = Path(__file__).parents[2] / "golden" / "verifier_cases.jsonl"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()
]
COMPARED = [row for row in ROWS if row["type"] in TYPES]


def answer(row: dict[str, Any]) -> Answer:
    return Answer(type=row["type"], value=row["gold"], params=row["params"])


def missed(rows: list[dict[str, Any]], verdicts: list[Verdict]) -> list[str]:
    return [
        f"{row['id']} {row['gold'][:40]!r} {row['answer'][:40]!r}: {verdict} ({row['why']})"
        for row, verdict in zip(rows, verdicts, strict=True)
        if verdict.correct != row["verdict"] or "gold" in verdict.reason
    ]


def test_every_row_is_met() -> None:
    verdicts = [
        judge(answer(row), row["answer"], extract=row["input"] == "response") for row in COMPARED
    ]
    assert missed(COMPARED, verdicts) == []


@pytest.mark.parametrize("given", ["answer", "response"])
def test_the_worker_gives_the_same_verdicts(given: str) -> None:
    rows = [row for row in COMPARED if row["input"] == given]
    pairs = [(answer(row), row["answer"]) for row in rows]
    assert missed(rows, verify_all(pairs, extract=given == "response")) == []


def test_programs_that_decide_meet_theirs_in_the_sandbox() -> None:
    left = [row for row in ROWS if row["type"] not in TYPES]
    assert collections.Counter(row["type"] for row in left) == {"python": 9}
    assert CHECKED == ("python",)
    verdicts = checked(
        [(answer(row), row["answer"]) for row in left], limits=Limits(cpu_s=0.3, wall_s=20)
    )
    assert missed(left, verdicts) == []
    reasons = [
        "says True",
        "says True",
        "says False",
        "raised ValueError",
        "in time",
        "says None",
        "limit: ",
        "raised PermissionError",
        "no verify()",
    ]
    for verdict, reason in zip(verdicts, reasons, strict=True):
        assert reason in verdict.reason


def test_no_program_is_run_in_this_process() -> None:
    for row in ROWS:
        if row["type"] in CHECKED:
            verdict = judge(answer(row), row["answer"], extract=False)
            assert verdict.outcome == "unreadable"
            assert "run in the sandbox" in verdict.reason
