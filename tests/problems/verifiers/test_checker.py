"""A program decides only by saying True; whatever else it does is told as what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from limite.core.errors import LimiteError
from limite.core.types import Answer
from limite.problems import verify, verify_all
from limite.problems.answers import canonical
from limite.problems.gen.main import cli
from limite.problems.sandbox import pool as pools
from limite.problems.sandbox.faults import NoSandbox
from limite.problems.verifiers.mathematics import Mathematics

EVEN = "def verify(answer):\n    return int(answer) % 2 == 0\n"


def program(source: str, **params: object) -> Answer:
    return Answer(type="python", value=source, params=params)


ENDS = [
    (EVEN, "right", "says True"),
    ("def verify(answer): return False", "wrong", "says False"),
    ("def verify(answer): return 1", "wrong", "says 1"),
    ("def verify(answer): return 'True'", "wrong", "says 'True'"),
    ("def verify(answer): return [True]", "wrong", "says [True]"),
    ("def verify(answer): raise KeyError(answer)", "wrong", "raised KeyError"),
    ("def verify(answer): return True(", "unreadable", "no Python"),
    ("def verify(): return True", "wrong", "raised TypeError"),
    ("verify = True", "unreadable", "no verify()"),
    ("def verify(answer):\n    print(answer)\n    return True", "unreadable", "printed"),
    ("import os\ndef verify(answer): os._exit(0)", "unreadable", "ended with 0"),
    ("import sys\ndef verify(answer): sys.exit(0)", "wrong", "raised SystemExit"),
    ("def verify(answer): return bytearray(1 << 40) is not None", "unreadable", "limit: "),
    ("def verify(answer): return object()", "unreadable", "no plain data"),
    ("import ctypes\ndef verify(answer): ctypes.string_at(0)", "unreadable", "SIGSEGV"),
    ("def verify(answer): return open('/etc/passwd').read() != ''", "wrong", "raised "),
    ("", "unreadable", "missing"),
    ("#" * 70_000, "unreadable", "more than 64,000 characters"),
]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, tuple[str, str]]:
    found = verify_all([(program(source), "4") for source, _, _ in ENDS], extract=False)
    return {
        source: (verdict.outcome, verdict.reason)
        for (source, _, _), verdict in zip(ENDS, found, strict=True)
    }


@pytest.mark.parametrize(("source", "outcome", "said"), ENDS, ids=[each[0][:40] for each in ENDS])
def test_each_end(
    verdicts: dict[str, tuple[str, str]], source: str, outcome: str, said: str
) -> None:
    assert verdicts[source][0] == outcome
    assert said in verdicts[source][1]


def test_the_last_box_is_what_the_program_is_given() -> None:
    assert verify(program(EVEN), r"so \boxed{3} or rather \boxed{4}").correct
    assert verify(program(EVEN), "it is 4").reason == "no answer is stated"
    assert verify(program(EVEN), "it is 4\n#### 4", fallbacks=["hash"]).correct
    source = "def verify(answer): return answer == '\\u00e9\\\\frac12'"
    assert verify(program(source), "é\\frac12", extract=False).correct


def test_programs_stand_among_answers_of_other_types() -> None:
    number = Answer(type="integer", value="4", params={})
    pairs = [(number, "4"), (program(EVEN), "4"), (number, "5"), (program(EVEN), "5")]
    found = verify_all(pairs, extract=False)
    assert [each.outcome for each in found] == ["right", "right", "wrong", "wrong"]


def test_a_record_sets_limits_of_its_program_within_bounds() -> None:
    endless = "def verify(answer):\n    while True: pass"
    short = program(endless, limits={"cpu_s": 0.2})
    verdict = verify(short, "4", extract=False)
    assert verdict.outcome == "timed-out"
    assert canonical(short) == short
    for limits, said in (
        ({"cpu_s": 100}, "'cpu_s' is at most 60"),
        ({"open_files": 1000}, "'open_files' is no limit of a checker program"),
        ({"wall_s": "x"}, "'wall_s' must be a number"),
        ([], "are a table"),
    ):
        with pytest.raises(LimiteError, match=said):
            canonical(program(EVEN, limits=limits))


def test_without_a_sandbox_programs_are_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pools, "_KEPT", {})
    monkeypatch.setenv("LIMITE_SANDBOX", "bwrap")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoSandbox, match="bwrap is not installed"):
        verify(program(EVEN), "4", extract=False)
    number = Answer(type="integer", value="4", params={})
    pairs = [(number, r"\boxed{4}"), (program(EVEN), r"\boxed{4}")]
    with pytest.raises(NoSandbox, match="limite-gen doctor tells more"):
        Mathematics().judge(pairs)
    assert Mathematics().judge(pairs[:1])[0].correct


def test_check_runs_programs_and_finds_those_that_take_anything(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    sources = [EVEN, "def verify(answer): return True", "def check(answer): return True"]
    lines = [
        {"problem": f"Name an even number ({place}).", "answer": {"type": "python", "value": each}}
        for place, each in enumerate(sources)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ended = CliRunner().invoke(cli, ["check", str(path), "--json"])
    assert ended.exit_code == 1
    second, third = json.loads(ended.stdout)["mistakes"]
    assert "p.jsonl:2: its own answer: the checker takes a mere dash for right" in second
    assert "p.jsonl:3: its own answer: unreadable: the checker gave no verdict" in third
