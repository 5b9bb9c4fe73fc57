"""``limite-gen import``: every layout, and rows that are none."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limite.core.jsonl import read_jsonl, write_jsonl
from limite.problems import files

ROWS: dict[str, dict[str, Any]] = {
    "hash": {"question": "What is 6 times 3?", "answer": "6*3 is 18.\n#### 18"},
    "boxed": {"problem": "What is 6 times 3?", "solution": "It is $\\boxed{18}$.", "level": 2},
    "expected-answer": {
        "problem": "What is 6 times 3?",
        "expected_answer": "18",
        "generated_solution": "It is 18.",
    },
    "question-answer": {"question": "What is 6 times 3?", "answer": "18", "metadata": {"a": 1}},
    "verl": {
        "prompt": [{"role": "user", "content": "What is 6 times 3?"}],
        "data_source": "d",
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "18"},
        "extra_info": {"split": "train", "index": 0},
    },
    "verification-info": {
        "problem_id": "p1",
        "task_type": "verifiable_math",
        "prompt": "What is 6 times 3?",
        "gold_standard_solution": "It is 18.",
        "verification_info": '{"ground_truth": "18"}',
        "metadata": {},
    },
    "trl": {"prompt": [{"role": "user", "content": "What is 6 times 3?"}], "answer": 18},
    "final-answer": {
        "question": "What is 6 times 3?",
        "final_answer": "18",
        "rationale": "print(6 * 3)",
        "metadata": {"a": 1},
    },
}


@pytest.fixture
def take(gen: Callable, tmp_path: Path):
    """Writes rows, imports them, and gives how it ended with the problems."""

    def call(rows: list[Any], layout: str, *more: object):
        place, out = tmp_path / "set.jsonl", tmp_path / "out.jsonl"
        write_jsonl(place, rows)
        ended = gen("import", place, "--format", layout, "-o", out, "--force", *more)
        return ended, list(files.iterate(out)) if out.exists() else []

    return call


@pytest.mark.parametrize("layout", ROWS)
def test_every_layout_is_read(take: Callable, layout: str) -> None:
    ended, (problem,) = take([ROWS[layout]], layout, "--tag", "arithmetic/product")
    assert ended.code == 0
    assert problem.problem == "What is 6 times 3?"
    assert (problem.answer.type, problem.answer.value) == ("integer", "18")
    assert problem.source == {"kind": "import", "dataset": "set", "row": 1}
    assert problem.tags == ("arithmetic/product",)
    if layout in ("hash", "boxed", "expected-answer", "verification-info"):
        assert problem.solutions["words"]
    for column in ("metadata", "ability", "level", "problem_id"):
        assert (column in problem.meta) == (column in ROWS[layout])
    assert problem.extra.get("program", "") == ROWS[layout].get("rationale", "")


def test_types_are_tried_in_order_and_nothing_is_guessed(take: Callable) -> None:
    rows = [
        {"question": "a", "answer": answer}
        for answer in ("007", "\\frac{2}{4}", "$x^2+1$", "(2, 1)", "the red one", 0.5)
    ]
    ended, problems = take(rows, "question-answer")
    assert ended.code == 1
    assert [each.answer.value for each in problems] == ["7", "1/2"]
    assert "row 3: no answer of type 'integer'" in ended.err
    assert "row 6: 'answer' is a float" in ended.err
    assert "4 rows were rejected" in ended.err
    types = "integer,rational,expression,tuple,string"
    ended, problems = take(
        rows, "question-answer", "--types", types, "--params", '{"variables": ["x"]}'
    )
    assert [each.answer.type for each in problems] == types.split(",")
    assert "1 expression" in ended.out


def test_rows_that_are_none_are_rejected_by_number(take: Callable, tmp_path: Path) -> None:
    rows = [
        "text",
        {"question": "a"},
        {"question": "a", "answer": "no mark"},
        {"question": "a", "answer": "#### 1\n#### 2"},
        {"question": "", "answer": "#### 1"},
        {"question": "a", "answer": "#### 1"},
    ]
    ended, problems = take(rows, "hash")
    assert ended.code == 1
    assert len(problems) == 1
    rejected = list(read_jsonl(tmp_path / "out.jsonl.rejected.jsonl"))
    assert [each["row"] for each in rejected] == [1, 2, 3, 4, 5]
    assert "expected an object, got str" in rejected[0]["reason"]
    assert take([rows[-1]], "hash")[0].code == 0
    assert not (tmp_path / "out.jsonl.rejected.jsonl").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": []},
        {"prompt": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]},
        {"prompt": [{"role": "assistant", "content": "a"}]},
        {"reward_model": "no json"},
        {"reward_model": {}},
        {"reward_model": {"ground_truth": ["18"]}},
    ],
)
def test_prompts_that_ask_more_than_one_thing_are_rejected(take: Callable, change: dict) -> None:
    ended, problems = take([ROWS["verl"] | change], "verl")
    assert (ended.code, problems) == (1, [])


@pytest.mark.parametrize("form", ["verl", "trl"])
def test_what_was_exported_comes_back(gen: Callable, tmp_path: Path, form: str) -> None:
    made, there, back = (tmp_path / f"{name}.jsonl" for name in ("made", "there", "back"))
    gen("make", "gcd,modular-inverse", "--count", 20, "-o", made)
    gen("export", made, "--format", form, "-o", there)
    assert gen("import", there, "--format", form, "-o", back).code == 0
    assert [each.id for each in files.iterate(back)] == [each.id for each in files.iterate(made)]


def test_lists_are_read(gen: Callable, tmp_path: Path) -> None:
    place, out = tmp_path / "set.json", tmp_path / "out.jsonl"
    place.write_text(json.dumps([ROWS["hash"]] * 2))
    assert gen("import", place, "--format", "hash", "-o", out).code == 0
    assert [each.source["row"] for each in files.iterate(out)] == [1, 2]
    for name, text in (("set.json", "{}"), ("bad.json", "{"), ("bad.parquet", "x")):
        (tmp_path / name).write_text(text)
        assert gen("import", tmp_path / name, "--format", "trl", "-o", out, "--force").code == 2


def test_parquet_is_read_where_its_extra_is_installed(gen: Callable, tmp_path: Path) -> None:
    packed, out = tmp_path / "set.parquet", tmp_path / "out.jsonl"
    gen("make", "gcd", "--count", 5, "-o", tmp_path / "p.jsonl")
    gen("export", tmp_path / "p.jsonl", "--format", "trl", "-o", packed)
    ended = gen("import", packed, "--format", "trl", "-o", out)
    if importlib.util.find_spec("pyarrow") is None:
        assert "pip install 'limite[data]'" in ended.err
        return
    assert [each.id for each in files.iterate(out)] == [
        each.id for each in files.iterate(tmp_path / "p.jsonl")
    ]


def test_mistakes_are_told(gen: Callable, tmp_path: Path) -> None:
    place = tmp_path / "set.jsonl"
    write_jsonl(place, [ROWS["hash"]])
    common = ("import", place, "--format", "hash", "-o", tmp_path / "out.jsonl")
    assert "did you mean 'integer'" in gen(*common, "--types", "intger").err
    assert "expected a JSON object" in gen(*common, "--params", "[1]").err
    assert "no such file" in gen("import", tmp_path / "none.jsonl", *common[2:]).err
