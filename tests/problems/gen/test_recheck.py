"""Solving the problems of a file again, whatever their texts were made into."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from limite.core.errors import LimiteError, Mistake
from limite.core.types import Answer, Problem
from limite.problems import files
from limite.problems.gen.recheck import Line, Rechecker

SUM = Problem(problem="1 + 1 = ?", answer=Answer(type="integer", value="2"))
FALSE = Problem(problem="1 + 2 = ?", answer=Answer(type="integer", value="03"))
ENDLESS = Problem(
    problem=f"How many of the integers from $1$ to ${'7' * 40}$, both included, have the digit $4$ "
    "exactly once?",
    answer=Answer(type="integer", value="3"),
    source={"kind": "procedural", "generator": "digit-counting", "params": {}},
)


def test_a_search_without_an_end_is_given_up(gen: Callable, tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    files.write_problems(place, [SUM, ENDLESS, FALSE])
    ended = gen("check", place, "--deadline", 2)
    assert ended.code == 1
    assert "3 problems, 0 solved again, 2 wrong" in ended.out
    assert f"{place}:2: it was not solved again within 2 s" in ended.err
    assert f"{place}:3: its own answer: '03' is not its canonical form" in ended.err


def test_a_process_that_was_killed_loses_nothing() -> None:
    with contextlib.closing(Rechecker("mathematics")) as rechecker:

        def lines() -> Iterator[Line]:
            for number in range(1, 201):
                if number == 150:
                    assert rechecker.pid is not None
                    os.kill(rechecker.pid, signal.SIGKILL)
                mistake = Mistake("no problem", line=number)
                yield number, (mistake if number % 7 == 0 else FALSE if number % 5 == 0 else SUM)

        results = list(rechecker(lines()))
    assert [number for (number, _), _ in results] == list(range(1, 201))
    for (number, found), (reason, again) in results:
        assert not again
        assert bool(reason) == (found is FALSE), number


def test_where_programs_cannot_run_no_problem_is_called_wrong(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Answer(type="python", value="def verify(answer):\n    return answer == '3'\n")
    place = tmp_path / "p.jsonl"
    files.write_problems(place, [SUM, Problem(problem="Say 3.", answer=program)])
    for choice, message in {
        "bwrap": "programs of strangers need a sandbox, and none can be had here (bwrap: ",
        "none": "no sandbox 'none'; there are namespaces, bwrap, landlock, rlimits",
        "rlimits": "the sandbox 'rlimits' has no walls",
    }.items():
        monkeypatch.setenv("LIMITE_SANDBOX", choice)
        monkeypatch.setenv("PATH", "/nowhere")
        ended = gen("check", place)
        assert ended.code == 1
        assert message in ended.err
        assert "p.jsonl:2" not in ended.err


def test_an_unknown_verifier_is_told_at_once() -> None:
    with pytest.raises(LimiteError, match="did you mean 'mathematics'"):
        Rechecker("mathematic")
