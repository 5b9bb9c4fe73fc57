"""Benchmarks by name, from a plugin or limite's own, and from the places that hold problems."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.hookspecs import Registrar
from limite.core.jsonl import write_json
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Answer, Problem
from limite.evaluate import problem_sets
from limite.evaluate.problem_sets import installed, of_benchmark, problem_set, seal_of
from limite.evaluate.profiles import Profile
from limite.problems.verifiers.exact import Exact
from limite.problems.verifiers.mathematics import Mathematics
from tests.evaluate.asked import problem


@attrs.frozen(kw_only=True)
class Doubles:
    """Two doubles."""

    licence: ClassVar[str] = "CC0-1.0"
    samples: ClassVar[int] = 2
    verifier: ClassVar[str] = "exact"

    def problems(self) -> Sequence[Problem]:
        return [
            Problem(problem=f"2*{each}=?", answer=Answer(type="integer", value=str(2 * each)))
            for each in (3, 4)
        ]

    def question(self, asked: Problem) -> str:
        return f"double={asked.problem}"


@attrs.frozen(kw_only=True)
class Failing:
    """Raises when it is asked for its problems."""

    def problems(self) -> Sequence[Problem]:
        raise OSError("the disk is gone")


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    registrar = Registrar()
    registrar.benchmark("doubles", Doubles)
    registrar.benchmark("failing", Failing)
    registry = load_registry()
    monkeypatch.setattr(registry, "_entries", list(registry._entries))
    registry.add(registrar.registrations, distribution="limite-more", version="1")


@pytest.mark.usefixtures("plugin")
def test_a_plugin_s_benchmark_is_asked_in_its_own_words():
    found = problem_set("doubles", Mathematics())
    assert (found.samples, found.licence) == (2, "CC0-1.0")
    assert found.record["sha256"] == seal_of(Doubles().problems())
    profile = Profile(kind="base-few-shot", questions=found.questions)
    assert profile.text(found.problems[0]) == "Problem: double=2*3=?\nSolution:"
    tokenizer = CharacterTokenizer()
    zero_shot = Profile(kind="base-zero-shot", instruction="no", questions=found.questions)
    shown = tokenizer.decode(zero_shot.ids(found.problems[0], tokenizer))
    assert "double=2*3=?" in shown
    assert "no" not in shown
    assert zero_shot.record["id"] != Profile(kind="base-zero-shot", instruction="no").record["id"]
    listed = {each["name"]: each for each in installed()}
    assert (listed["doubles"]["problems"], listed["doubles"]["what"]) == (2, "Two doubles.")
    assert listed["failing"]["what"] == "[broken: the disk is gone]"
    assert "limite-sums" in listed
    assert problem_set("limite-more/doubles", Mathematics()).samples == 2


def test_a_set_that_is_not_what_its_seal_says_is_never_asked():
    class Resealed(Doubles):
        sha256 = "0" * 64

    with pytest.raises(LimiteError, match=r"'d': its problems are not those that its seal 0000"):
        of_benchmark("d", Resealed(), Mathematics())

    class Wrong(Doubles):
        def problems(self) -> Sequence[Problem]:
            return [*super().problems(), *super().problems()]

    with pytest.raises(LimiteError, match="benchmark d:3: the problem of line 1 again"):
        of_benchmark("d", Wrong(), Mathematics())


def test_a_verifier_that_a_benchmark_is_not_meant_for_is_refused_in_a_sentence():
    with pytest.raises(LimiteError) as refused:
        problem_set("limite-easy", Exact())
    assert str(refused.value) == (
        "benchmark 'limite-easy': Exact cannot judge 29 of its 120 answers; it is meant for "
        "--verifier mathematics"
    )


def save(folder: Path, rows: list[dict[str, Any]]) -> None:
    """As ``Dataset.save_to_disk`` leaves it."""
    folder.mkdir(parents=True)
    write_json(folder / "state.json", {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    arrow = importlib.import_module("pyarrow")
    names = {name: None for row in rows for name in row}
    table = arrow.Table.from_pylist([{**names, **row} for row in rows])
    with (
        arrow.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
        arrow.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table, max_chunksize=2)


def test_a_saved_data_set_is_what_its_lines_are(tmp_path):
    rows = [problem(each, tags=["a"]) for each in range(5)]
    rows[1]["meta"] = {"arm": "sums"}
    rows[2]["answer"] = {"type": "real", "value": "2.5", "params": {"decimals": 1}}
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    lines = problem_set(str(tmp_path / "a.jsonl"), Mathematics())
    folder = tmp_path / "sets" / "test"
    if importlib.util.find_spec("pyarrow") is None:
        folder.mkdir(parents=True)
        (folder / "a.arrow").touch()
        write_json(folder / "state.json", {"_data_files": [{"filename": "a.arrow"}]})
        with pytest.raises(LimiteError, match=r"pip install 'limite\[data\]'"):
            problem_set(str(folder), Mathematics())
        return
    save(folder, rows)
    found = problem_set(str(folder), Mathematics())
    assert (found.name, found.problems) == ("test", lines.problems)
    assert seal_of(found.problems) == seal_of(lines.problems)
    write_json(tmp_path / "sets" / "dataset_dict.json", {"splits": ["test"]})
    with pytest.raises(LimiteError, match=r"holds splits of a data set.*sets/test"):
        problem_set(str(tmp_path / "sets"), Mathematics())
    save(tmp_path / "other", [{"question": "1+1?", "answer": "2"}])
    with pytest.raises(LimiteError, match=r"other:1: expected columns 'problem', 'answer'"):
        problem_set(str(tmp_path / "other"), Mathematics())


def test_a_folder_that_is_no_data_set_and_a_misspelt_name_are_told(tmp_path):
    with pytest.raises(LimiteError, match=r"is a folder without state\.json"):
        problem_set(str(tmp_path), Mathematics())
    with pytest.raises(LimiteError, match="did you mean 'limite-easy'"):
        problem_set("limite-eazy", Mathematics())
    assert problem_sets.benchmark_named("nowhere/limite-easy") is None


def test_one_question_with_two_answers_is_refused(tmp_path):
    two = [problem(1), problem(1, answer={"type": "integer", "value": "3"})]
    (tmp_path / "p.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in two))
    with pytest.raises(LimiteError, match=r"p\.jsonl:2: asks what line 1 asks, and has another"):
        problem_set(str(tmp_path / "p.jsonl"), Mathematics())
