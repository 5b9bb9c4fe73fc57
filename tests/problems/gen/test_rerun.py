"""``limite-gen check`` and the programs that records hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from limite.core.types import Answer, Problem
from limite.problems import files
from limite.problems.sandbox import pool

SUM = "def solve():\n    return 2 + 2\n"
EVEN = "def verify(answer):\n    return int(answer) % 2 == 0\n"


def written(text: str, value: str, program: str = "", kind: str = "integer", **more) -> Problem:
    """A problem as a model writes it: with the program that gave its answer."""
    return Problem(
        problem=text,
        answer=Answer(type=kind, value=value),
        extra={"program": program} if program else {},
        **{"source": {"kind": "llm"}, **more},
    )


CASES = {
    "right": (written("2 + 2?", "4", SUM), ""),
    "equal by value": (
        written("0.5?", "1/2", "def solve():\n    return '2/' + str(2 + 2)\n", "rational"),
        "",
    ),
    "another value": (written("2 + 3?", "5", SUM), "its program gives 4, and its answer is 5"),
    "chance": (
        written("2 + 4?", "6", f"import random\n{SUM}"),
        "its program: program-forbidden: it imports random",
    ),
    "hash seeds": (
        written("a?", "a", "def solve():\n    return str(hash('a') + 1)\n", "string"),
        "its program: program-not-deterministic: ",
    ),
    "no solve": (written("2 + 5?", "7", "print(3 + 4)"), "its program: program-no-entry: "),
    "of elsewhere": (written("2 + 6?", "8", "print(3 + 5)", source={"kind": "import"}), ""),
    "taken by its checker": (
        written("An even number?", EVEN, SUM, "python", solutions={"words": "\\boxed{6}"}),
        "",
    ),
    "not taken": (
        written("An odd number?", EVEN.replace("== 0", "== 1"), SUM, "python"),
        "its program gives 4, which its checker takes for wrong",
    ),
    "solution not taken": (
        written("Another one?", EVEN, kind="python", solutions={"words": "so \\boxed{3}"}),
        "words: wrong: the checker says False",
    ),
    "solution that states none": (
        written("Any?", EVEN, kind="python", solutions={"words": "Take some."}),
        "",
    ),
}


def test_every_program_is_run_again_and_tells_what_is_wrong(gen: Callable, tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    files.write_problems(place, [problem for problem, _ in CASES.values()])
    ended = gen("check", place, "--json")
    page = json.loads(ended.out)
    assert ended.code == 1
    told = {line.split(": ", 1)[0]: line.split(": ", 1)[1] for line in page["mistakes"]}
    for number, (name, (_, wrong)) in enumerate(CASES.items(), start=1):
        found = told.pop(f"{place}:{number}", "")
        assert found.startswith(wrong), name
        assert bool(found) == bool(wrong), name
    assert not told
    assert page["programs_run"] == 8
    unrun = gen("check", place, "--no-programs", "--json")
    assert unrun.code == 0
    assert json.loads(unrun.out)["programs_run"] == 0


def test_programs_may_be_given_packages_and_less_time(gen: Callable, tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    program = "import attr\n\ndef solve():\n    return len(attr.__name__)\n"
    files.write_problems(place, [written("Four?", "4", program)])
    ended = gen("check", place)
    assert ended.code == 1
    assert "No module named 'attr'" in ended.err
    assert "--package NAME lets programs import one" in ended.err
    assert gen("check", place, "--package", "attr").code == 0
    files.write_problems(place, [written("When?", "4", "def solve():\n    while True: 1 + 1\n")])
    ended = gen("check", place, "--program-seconds", 0.2)
    assert "its program: program-timeout: " in ended.err


@pytest.fixture
def new_pools(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has run no program yet."""
    monkeypatch.setattr(pool, "_KEPT", {})
    yield
    for each in pool._KEPT.values():
        each.close()


@pytest.mark.usefixtures("new_pools")
def test_where_there_is_no_sandbox_nothing_is_run_unless_that_is_meant(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIMITE_SANDBOX", "rlimits")
    mine, checker = written("2 + 2?", "4", SUM), written("Even?", EVEN, kind="python")
    place, responses = tmp_path / "p.jsonl", tmp_path / "r.jsonl"
    answered = {"id": checker.id, "response": "\\boxed{4}"}
    responses.write_text(json.dumps(answered) + "\n")
    files.write_problems(place, [mine])
    ended = gen("check", place)
    assert ended.code
    assert "has no walls" in ended.err
    files.write_problems(place, [mine, checker])
    ended = gen("check", place, "--allow-weak-sandbox")
    assert ended.code == 0
    assert "it can read files, reach the network" in ended.err
    assert "has no walls" in gen("grade", place, "--responses", responses).err
    ended = gen("grade", place, "--responses", responses, "--allow-weak-sandbox", "--json")
    assert json.loads(ended.out)["right"] == 1
    assert "has no walls" in gen("grade", place, "--responses", responses).err  # not for good
