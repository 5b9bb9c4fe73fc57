"""The commands that look after files of problems."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import attrs
import click
import pytest

from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.types import Answer, Problem
from limite.problems import files
from limite.problems.gen import main as module
from limite.problems.gen.list import families_shown, names_shown


@pytest.fixture
def made(gen: Callable, tmp_path: Path) -> Path:
    place = tmp_path / "p.jsonl.zst"
    assert gen("make", "sum-chain,gcd:2", "--count", 300, "-o", place).code == 0
    return place


def own(text: str, value: str, **fields) -> Problem:
    return Problem(problem=text, answer=Answer(type="integer", value=value), **fields)


@pytest.mark.parametrize("name", module.COMMANDS)
def test_every_command_is_there_and_has_help(gen: Callable, name: str) -> None:
    address, line = module.COMMANDS[name]
    command = getattr(importlib.import_module(address.partition(":")[0]), address.split(":")[1])
    assert isinstance(command, click.Command)
    assert line in gen("--help").out
    ended = gen(name, "--help")
    assert ended.code == 0
    assert "--debug" in ended.out
    assert "--json" in ended.out


def test_typos_get_a_suggestion(gen: Callable) -> None:
    assert "no command 'mkae'; did you mean 'make'?" in gen("mkae").err
    assert gen("mkae").code == 2


def test_families_are_listed_with_area_answers_and_dial(gen: Callable) -> None:
    rows = {row["name"]: row for row in json.loads(gen("list", "--json").out)}
    assert rows["gcd"]["area"] == "number-theory"
    assert rows["gcd"]["answer_types"] == ["integer"]
    assert rows["gcd"]["dial"]["divisor"] == [20.0, 60.0]
    assert "sum-chain" in gen("list").out
    assert "sum-chain" not in gen("list", "algebra").out
    assert "no area 'algbra'; did you mean 'algebra'?" in gen("list", "algbra").err
    assert "no area 'xyz'; there are algebra, " in gen("list", "xyz").err


def test_lists_fit_a_terminal() -> None:
    areas = {"algebra": ["vertex", "ages"], "calculus": [f"family-{n}" for n in range(30)]}
    lines = list(map(click.unstyle, names_shown(areas, 60)))
    assert lines[:3] == ["algebra (2)", "  ages, vertex", "calculus (30)"]
    assert len(lines) > 6
    assert all(len(line) <= 60 for line in lines)
    row = {
        "name": "ages",
        "space": None,
        "answer_types": ["integer", "tuple"],
        "summary": "How old somebody is, from what two ages are to each other.",
        "dial": {"times": (3.0, 6.0), "both": (0.0, 0.8)},
    }
    assert list(map(click.unstyle, families_shown([row], 40))) == [
        "ages  integer, tuple",
        "  How old somebody is, from what two",
        "  ages are to each other.",
        "  times 3-6, both 0-0.8",
        "  space not counted",
    ]


def test_a_family_is_shown_with_examples(gen: Callable) -> None:
    page = json.loads(gen("show", "gcd", "--json").out)
    assert [example["at"] for example in page["examples"]] == [0.0, 0.5, 1.0]
    assert page["settings"]["divisor"]["help"] == "largest answer"
    shown = gen("show", "gcd").out
    assert page["examples"][2]["problem"] in shown
    assert "divisor = [20.0, 60.0]" in shown
    assert "did you mean 'gcd'?" in gen("show", "gdc").err


def test_a_file_is_inspected(gen: Callable, made: Path, tmp_path: Path) -> None:
    page = json.loads(gen("inspect", made, "--json", "--samples", 2).out)
    assert page["problems"] == 300
    assert page["families"] == {"gcd": 200, "sum-chain": 100}
    assert sum(page["difficulty"].values()) == 300
    assert [each["line"] for each in page["samples"]] == [1, 151]
    twice = tmp_path / "twice.jsonl"
    write_jsonl(twice, map(files.record_of, [own("A", "1"), own("a.", "1"), own("A", "1")]))
    page = json.loads(gen("inspect", twice, "--json").out)
    assert (page["repeated"], page["look_alikes"]) == (1, 1)
    assert "300 problems, 0 repeated" in gen("inspect", made).out


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_a_picture_is_drawn(gen: Callable, made: Path, tmp_path: Path, suffix: str) -> None:
    place = tmp_path / f"plot{suffix}"
    assert gen("inspect", made, "--plot", place).code == 0
    assert place.stat().st_size > 5_000
    assert "exists; --force replaces it" in gen("inspect", made, "--plot", place).err
    assert "ends in .svg, .png or .pdf" in gen("inspect", made, "--plot", "plot.gif").err


def test_check_solves_everything_again(gen: Callable, made: Path, tmp_path: Path) -> None:
    ended = gen("check", made)
    assert ended.code == 0
    assert "300 problems, 300 solved again, 0 wrong" in ended.out
    problems = files.read_problems(made)
    first, other = problems[0], problems[1]
    wrong = attrs.evolve(first, answer=Answer(type="integer", value="99999"), solutions={})
    lying = attrs.evolve(first, solutions={"fine": "#99999"})
    listing = attrs.evolve(first, solutions={"fine": f"#1#{first.answer.value}"})
    unknown = attrs.evolve(other, source={**other.source, "generator": "gdc"})
    records = [*map(files.record_of, [first, wrong, lying, unknown, first])]
    records += [{**records[0], "id": "0"}, files.record_of(own("1+1=?", "2"))]
    records += [files.record_of(listing), files.record_of(own("1+1=?", "02"))]
    records += [files.record_of(own("1+1=?", "two"))]
    place = tmp_path / "wrong.jsonl"
    write_jsonl(place, records)
    ended = gen("check", place)
    assert ended.code == 1
    for line, reason in {
        2: "its family finds another answer",
        3: "fine: wrong: another value",
        4: "unknown generator 'gdc'; did you mean 'gcd'?",
        5: "the problem of line 1 again",
        6: "'id': is '0'",
        8: "fine: it marks more than one answer",
        9: "its own answer: '02' is not its canonical form, which is '2'",
        10: "its own answer: no answer of type 'integer': 'two'",
    }.items():
        assert f"{place}:{line}: " in ended.err
        assert reason in ended.err
    assert f"{place}:7: " not in ended.err
    place.write_bytes(place.read_bytes()[:-10])
    ended = gen("check", place, "--json")
    assert json.loads(ended.out)["read"] == 9
    assert "line 10 is unfinished" in ended.err


def test_a_split_has_no_problem_in_common(gen: Callable, made: Path, tmp_path: Path) -> None:
    train, held = tmp_path / "t.jsonl", tmp_path / "h.jsonl"
    ended = gen("split", made, "--train", train, "--held-out", held, "--share", 0.3)
    assert ended.code == 0
    parts = [files.read_problems(place) for place in (train, held)]
    assert {each.id for each in parts[0]}.isdisjoint(each.id for each in parts[1])
    assert sum(map(len, parts)) == 300
    assert 60 < len(parts[1]) < 120
    assert "no overlap found" in gen("overlap", held, train).out
    again = gen("split", made, "--train", train, "--held-out", held)
    assert again.code == 2
    assert "exists; --force replaces it" in again.err
    same = gen("split", made, "--train", held, "--held-out", held, "--force")
    assert "must be three different files" in same.err


def test_overlap_names_what_turns_up(gen: Callable, tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(30))
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    files.write_problems(a, [own("1 + 1 = ?", "2"), own(words + " x", "1"), own("new", "1")])
    files.write_problems(b, [own("1+1=?", "2"), own("1 +  1 = ?!", "3"), own(words, "1")])
    found = json.loads(gen("overlap", a, b, "--json").out)
    assert (found["checked"], found["exact"]) == (3, ["1 + 1 = ?"])
    assert (found["near"], found["reworded"], found["template"]) == ([words + " x"], [], [])
    assert [(each["kind"], each["row"], each["other_row"]) for each in found["matches"]] == [
        ("exact", 1, 2),
        ("near", 2, 3),
    ]
    shown = gen("overlap", a, b).out
    assert "1 exact and 1 near matches of 3 checked" in shown
    assert "exact: 1 + 1 = ?" in shown


def test_repetitions_are_left_out(gen: Callable, tmp_path: Path) -> None:
    a, b, out = (tmp_path / f"{name}.jsonl" for name in ("a", "b", "out"))
    files.write_problems(a, [own("A", "1"), own("a!", "1"), own("A", "1", tags=("again",))])
    files.write_problems(b, [own("a!", "1"), own("B", "1")])
    assert "3 read, 2 written, 1 repeated" in gen("dedup", a, "-o", out).out
    assert "1 written" in gen("dedup", a, "--text", "-o", out, "--force").out
    assert gen("merge", a, b, "-o", out, "--force").code == 0
    assert [each.problem for each in files.read_problems(out)] == ["A", "a!", "B"]
    assert "exists; --force replaces it" in gen("merge", a, b, "-o", out).err
    assert "no such file" in gen("dedup", tmp_path / "none.jsonl", "-o", out, "--force").err


def test_questions_in_other_words_and_templates_are_left_out(gen: Callable, tmp_path: Path) -> None:
    a, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    said = "Ana has {} apples and buys {} more at the market on Monday; how many are there now{}?"
    questions = [
        own(said.format(2, 3, ""), "5"),
        own(said.format(2, 3, " altogether"), "5"),
        own(said.format(2, 3, " now"), "6"),  # another answer: whatever it asks, it is no copy
        own(said.format(4, 5, ""), "9"),
        own(said.format(6, 1, ""), "7"),
    ]
    files.write_problems(a, questions)
    assert "4 written, 0 repeated, 1 reworded" in gen("dedup", a, "--near", "-o", out).out
    ended = gen("dedup", a, "--near", "--per-template", 2, "-o", out, "--force")
    assert "3 written, 0 repeated, 1 over_template, 1 reworded" in ended.out
    assert [each.answer.value for each in files.iterate(out)] == ["5", "6", "9"]


def test_prompts_with_golds(gen: Callable, made: Path, tmp_path: Path) -> None:
    first, out = files.read_problems(made)[0], tmp_path / "v.jsonl"
    prompt = [{"role": "user", "content": first.problem + "\nBox it."}]
    assert gen("export", made, "--format", "verl", "--instruction", "Box it.", "-o", out).code == 0
    row = next(read_jsonl(out))
    assert row["prompt"] == prompt
    assert row["reward_model"] == {"style": "rule", "ground_truth": first.answer.value}
    assert row["extra_info"]["id"] == first.id
    assert set(row) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    out = tmp_path / "t.jsonl.zst"
    assert gen("export", made, "--format", "trl", "--style", "fine", "-o", out).code == 0
    row = next(read_jsonl(out))
    assert (row["answer"], row["solution"]) == (first.answer.value, first.solutions["fine"])


def test_questions_with_solutions(gen: Callable, made: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.jsonl"
    assert gen("export", made, "--format", "openai-chat", "-o", out).code == 0
    question, reply = next(read_jsonl(out))["messages"]
    first = files.read_problems(made)[0]
    assert (question["role"], question["content"]) == ("user", first.problem)
    assert (reply["role"], reply["content"]) == ("assistant", first.solutions["fine"])
    asked = ("export", made, "--format", "openai-chat", "--force", "-o", out)
    ended = gen(*asked, "--style", "words")
    assert ended.code == 2
    assert "problem 1: it has no solution of style 'words'; there are coarse" in ended.err
    bare = tmp_path / "bare.jsonl"
    files.write_problems(bare, [own("A", "1")])
    ended = gen("export", bare, "--format", "openai-chat", "-o", tmp_path / "d.jsonl")
    assert "problem 1: it has no worked solution" in ended.err
    assert not (tmp_path / "d.jsonl").exists()


@pytest.mark.parametrize("form", ["parquet", "verl"])
def test_columns(gen: Callable, made: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "p.parquet"
    ended = gen("export", made, "--format", form, "-o", out)
    if importlib.util.find_spec("pyarrow") is None:
        assert ended.code == 2
        assert "pip install 'limite[data]'" in ended.err
        assert list(tmp_path.glob("*.parquet*")) == []
        return
    table = importlib.import_module("pyarrow.parquet").read_table(out)
    assert table.num_rows == 300
    rows, first = table.to_pylist(), files.read_problems(made)[0]
    if form == "parquet":
        assert rows[0]["id"] == first.id
        assert json.loads(rows[0]["solutions"]) == first.solutions
    else:
        assert rows[0]["prompt"] == [{"role": "user", "content": first.problem}]
    wrong = gen("export", made, "--format", "parquet", "-o", tmp_path / "p.jsonl")
    assert "ends in .parquet" in wrong.err


def test_responses_are_graded(gen: Callable, tmp_path: Path) -> None:
    place, responses, out = (tmp_path / f"{name}.jsonl" for name in ("p", "r", "v"))
    problems = [own("1+1=?", "2"), own("2+2=?", "4"), own("3+3=?", "6")]
    files.write_problems(place, problems)
    given = [(0, r"\boxed{2}"), (0, r"\boxed{3}"), (1, "no idea"), (1, r"so \boxed{8/2}")]
    write_jsonl(responses, [{"id": problems[n].id, "response": text} for n, text in given])
    page = json.loads(gen("grade", place, "--responses", responses, "-o", out, "--json").out)
    assert {name: page[name] for name in ("right", "wrong", "unreadable")} == {
        "right": 2,
        "wrong": 1,
        "unreadable": 1,
    }
    assert (page["responses"], page["without_response"], page["accuracy"]) == (4, 1, 0.5)
    outcomes = [each["outcome"] for each in read_jsonl(out)]
    assert outcomes == ["right", "wrong", "unreadable", "right"]
    marked = json.loads(
        gen("grade", place, "--responses", responses, "--verifier", "exact", "--json").out
    )
    assert marked["unreadable"] == 4
    ended = gen("grade", place, "--responses", responses)
    assert "4 responses: 2 right, 1 wrong, 1 unreadable, 0 timed-out" in ended.out
    assert "1 problems have no response" in ended.err
    write_jsonl(responses, [3, {"id": "x", "response": "y"}, {"id": problems[0].id}])
    ended = gen("grade", place, "--responses", responses)
    assert ended.code == 2
    for line, message in {
        1: "expected an object, got int",
        2: "'id': no problem has the id 'x'",
        3: "expected texts as 'id' and 'response'",
    }.items():
        assert f"{responses}:{line}: {message}" in ended.err


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1"])
def test_numbers_that_are_none_are_refused(gen: Callable, made: Path, value: str) -> None:
    for arguments in (
        ("check", made, "--deadline", value),
        ("split", made, "--train", "a.jsonl", "--held-out", "b.jsonl", "--share", value),
        ("calibrate", made, "--model", ".", "-o", "c.jsonl", "--temperature", value),
    ):
        ended = gen(*arguments)
        assert ended.code == 2
        assert "is not in the range" in ended.err


def test_inspect_tells_every_line_that_is_no_problem(gen: Callable, tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    good = json.dumps(files.record_of(own("1 + 1 = ?", "2")))
    place.write_text(f'{good}\n["x"]\n{good}\nno\n')
    ended = gen("inspect", place)
    assert ended.code == 2
    assert f"{place}:2: expected a problem as a JSON object, got list" in ended.err
    assert f"{place}:4: not JSON" in ended.err
    place.write_text("no\n" * 30)
    assert ": 20 more lines are wrong" in gen("inspect", place).err


def test_a_sample_of_a_huge_problem_is_cut(gen: Callable, tmp_path: Path) -> None:
    place = tmp_path / "p.jsonl"
    write_jsonl(place, [files.record_of(own("x" * 100_000, "1"))])
    shown = gen("inspect", place).out
    assert "… (100,000 characters)" in shown
    assert len(shown) < 10_000


def test_check_tells_how_far_it_has_come_beside_its_result(
    gen: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limite.problems.gen.progress.EVERY_S", 0.0)
    place = tmp_path / "p.jsonl"
    gen("make", "gcd", "--count", 130, "-o", place)
    ended = gen("check", place, "--json")
    assert json.loads(ended.out)["read"] == 130
    lines = ended.err.splitlines()
    assert [line.split(",")[0] for line in lines] == list(map(str, range(1, 131)))
    assert all(line.endswith("0 wrong") for line in lines)
