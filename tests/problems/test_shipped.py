"""The problems that come with limite: made again they are the same, and recipes find them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.recipe.check import check_file
from limite.core.separation import is_held_out, text_hash
from limite.problems.files import read_problems
from limite.problems.shipped import stories

FILE = Path(stories.__file__).with_name("stories.jsonl")
RECIPE = """
name = "stories"
model = { width = 16, layers = 2, heads = 2, kv_heads = 1, head_width = 8, mlp_width = 24 }
tokenizer = { alphabet = "\\n 0123456789+-*/=;#.,?abcdefghijklmnopqrstuvwxyzABCDEFHITW" }
[stages.rl]
type = "rl"
problems = { sources = { "limite:stories.jsonl" = 1 } }
max_tokens = 20
curriculum = "targeted"
"""


def test_every_answer_is_that_of_its_program() -> None:
    """The first of each story; all of them were made in the same way."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    again = [json.loads(json.dumps(line)) for line in stories.records(each=1)]
    assert again == [json.loads(line) for line in lines[: len(again)]]
    assert len(again) == len(stories.STORIES) == 16


def test_they_are_distinct_problems_with_solutions() -> None:
    problems = read_problems(FILE, distinct=True)
    assert len(problems) == 16 * stories.EACH
    assert len({text_hash(problem.problem) for problem in problems}) == len(problems)
    held_out = sum(is_held_out(problem.problem) for problem in problems)
    assert 30 < held_out < 80
    for problem in problems:
        assert problem.solutions["words"].endswith(f"#{problem.answer.value}")
        assert problem.source["kind"] == "authored"


def test_a_recipe_names_them_wherever_it_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.toml").write_text(RECIPE)
    loaded, _ = check_file("own.toml", (), load_registry())
    assert loaded.recipe.stages["rl"].files == ("limite:stories.jsonl",)
    Path("wrong.toml").write_text(RECIPE.replace("stories.jsonl", "storys.jsonl"))
    with pytest.raises(SettingsError, match=r"limite:storys\.jsonl"):
        check_file("wrong.toml", (), load_registry())
