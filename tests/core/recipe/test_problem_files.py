"""Files of problems in a mixture: what is drawn, on which side, and what is told of wrong ones."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from limite import Mix, Source
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.recipe.check import check_file
from limite.core.recipe.engine import go_on, start
from limite.core.recipe.load import load_recipe
from limite.core.recipe.problem_files import _unjudged
from limite.core.recipe.problem_source import ProblemSource, arms
from limite.core.seeds import Seeds
from limite.core.separation import is_held_out
from limite.core.types import Answer, Problem, Verdict
from limite.problems.files import record_of
from tests.core.recipe.conftest import quiet

RECIPE = """\
name = "a"
model = { width = 16, layers = 2, head_width = 8, mlp_width = 24, context = 96 }
[stages.sft]
type = "sft"
problems = { sources = { "FILE" = { weight = 2, pass_rate = [0.2, 0.8] }, sum-chain = 1 } }
documents = 30
steps = 2
batch = 4
[stages.rl]
type = "rl"
problems = { sources = { "FILE" = 1 } }
steps = 1
groups = 4
max_tokens = 12
[stages.after]
type = "eval"
problems = { sources = { "FILE" = 1 } }
count = 8
max_tokens = 12
"""


def measured(place: Path, count: int = 200) -> list[dict[str, Any]]:
    """A file of distinct problems with pass rates of 0, 1/8, ..., 1 in turn; its records."""
    source = ProblemSource(Mix({"gcd": 1}, difficulty=(0.2, 0.4)), load_registry(), Seeds(5), False)
    held = ProblemSource(Mix({"gcd": 1}, difficulty=(0.2, 0.4)), load_registry(), Seeds(5), True)
    made = source.distinct(count - count // 10) + held.distinct(count // 10)
    records = []
    for number, problem in enumerate(made):
        record = {**record_of(problem), "meta": {"line": number + 1}}
        rate = {"pass_rate": number % 9 / 8, "samples": 8, "policy": "some"}
        records.append({**record, "difficulty": {**problem.difficulty, **rate}})
    write(place, records)
    return records


def write(place: Path, records: list[dict[str, Any]]) -> None:
    place.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    measured(tmp_path / "problems.jsonl")
    return tmp_path / "problems.jsonl"


def source(mix: Mix, *, held_out: bool = False, seed: int = 1) -> ProblemSource:
    return ProblemSource(mix, load_registry(), Seeds(seed), held_out)


def recipe(tmp_path: Path, file: Path) -> Path:
    place = tmp_path / "a.toml"
    place.write_text(RECIPE.replace("FILE", str(file)), encoding="utf-8")
    return place


def told(path: Path) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        check_file(path, (), load_registry())
    return [
        f"{each.path or Path(str(each.file)).name}:{each.line}: {each.message}"
        for each in caught.value.mistakes
    ]


def test_draws_of_generators_are_what_they_were() -> None:
    mix = Mix({"sum-chain": 2, "gcd": 1, "linear-system": 1}, difficulty=(0.2, 0.8), levels=3)
    texts = []
    for held_out in (False, True):
        one = source(mix, held_out=held_out)
        texts += [each.problem for each in one.distinct(60)]
        texts += [one.draw(arm, 3, 1, 0).problem for arm in range(9)]
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert digest.startswith("4715aa0420b738683d23effea01e568b")


def test_an_entry_has_a_difficulty_of_its_own() -> None:
    mix = Mix({"gcd": Source(2, difficulty=(0.2, 0.4)), "sum-chain": 1}, levels=2)
    assert [(arm.name, arm.weight) for arm in arms(mix)] == [
        ("gcd@0.2-0.3", 1),
        ("gcd@0.3-0.4", 1),
        ("sum-chain@0-0.5", 0.5),
        ("sum-chain@0.5-1", 0.5),
    ]


def test_the_window_of_pass_rates_chooses(file: Path) -> None:
    some = source(Mix({str(file): Source(pass_rate=(0.25, 0.5))})).distinct(40)
    rates = Counter(each.difficulty["pass_rate"] for each in some)
    assert set(rates) == {0.25, 0.375, 0.5}
    assert {each.meta["arm"] for each in some} == {str(file)}


def test_a_file_is_chosen_by_the_dial_it_was_made_at(file: Path) -> None:
    levels = {json.loads(line)["difficulty"]["level"] for line in file.read_text().splitlines()}
    assert min(levels) < 25 < max(levels)
    some = source(Mix({str(file): Source(difficulty=(0.2, 0.25))})).distinct(20)
    assert {each.difficulty["level"] for each in some} <= set(range(20, 26))


def test_every_problem_of_a_file_is_taken_once_and_on_its_side(file: Path) -> None:
    mix = Mix({str(file): 1})
    training, asked = source(mix).distinct(180), source(mix, held_out=True).distinct(20)
    assert {each.meta["line"] for each in [*training, *asked]} == set(range(1, 201))
    assert not any(is_held_out(each.problem) for each in training)
    assert all(is_held_out(each.problem) for each in asked)
    assert source(mix).distinct(50) == training[:50]
    assert source(mix, seed=2).distinct(50) != training[:50]
    with pytest.raises(LimiteError, match=r"problems\.jsonl: only 180 distinct.*181 of the whole"):
        source(mix).distinct(181)


def test_a_draw_depends_on_seed_and_names_alone(file: Path) -> None:
    mix = Mix({str(file): 3, "gcd": 1})
    one, other = source(mix), source(mix)
    drawn = [one.draw(0, step, place) for step in range(5) for place in range(8)]
    assert [other.draw(0, step, place) for step in range(5) for place in range(8)] == drawn
    assert len({each.id for each in drawn}) > 25
    weights = Counter(each.meta["arm"] for each in one.distinct(40))
    assert weights == {str(file): 30, "gcd@0-1": 10}


def test_python_and_toml_say_the_same(tmp_path: Path, file: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from limite import Eval, Mix, Recipe\n"
        f"mix = Mix({{'gcd': 1.0, {str(file)!r}: {{'weight': 2, 'pass_rate': [0.2, 0.8]}}}})\n"
        "recipe = Recipe(name='a', stages={'e': Eval(problems=mix, count=3)})\n"
    )
    (tmp_path / "a.toml").write_text(
        'name = "a"\n[stages.e]\ntype = "eval"\ncount = 3\n[stages.e.problems.sources]\n'
        f'gcd = 1.0\n"{file}" = {{ weight = 2, pass_rate = [0.2, 0.8] }}\n'
    )
    python, toml = (load_recipe(tmp_path / name).recipe for name in ("a.py", "a.toml"))
    assert python == toml
    mix = toml.stages["e"].problems  # type: ignore[attr-defined]
    assert mix.sources == {"gcd": 1.0, str(file): Source(2.0, pass_rate=(0.2, 0.8))}
    assert Mix({str(file): {"weight": 2, "pass_rate": [0.2, 0.8]}}).files == (str(file),)  # type: ignore[dict-item]


def test_a_run_is_bound_to_the_file(tmp_path: Path, file: Path) -> None:
    found = start(recipe(tmp_path, file), out=tmp_path / "runs", echo=quiet)
    receipt = json.loads((found.path / "receipt.json").read_text())
    assert receipt["stage_files"] == {str(file): hashlib.sha256(file.read_bytes()).hexdigest()}
    assert found.results["after"]["problems"] == 8
    with file.open("a") as more:
        more.write("\n")
    with pytest.raises(LimiteError, match=r"stage_files.*problems\.jsonl"):
        go_on(found.path, echo=quiet)


def test_all_that_is_wrong_with_a_file_is_told_at_once(tmp_path: Path, file: Path) -> None:
    records = measured(file)
    del records[2]["difficulty"]["pass_rate"]
    records[3]["difficulty"]["pass_rate"] = 25
    records[4]["difficulty"]["pass_rate"] = True
    records[6]["answer"] = {"type": "interval", "value": "[0,1]"}
    del records[6]["id"]
    write(file, [*records, records[0]])
    with file.open("a") as more:
        more.write('{"problem": \n')
    assert told(recipe(tmp_path, file)) == [
        "problems.jsonl:3: difficulty: has no measured 'pass_rate'; `limite-gen calibrate` adds "
        "them",
        "problems.jsonl:4: difficulty: 'pass_rate' must be a number from 0 to 1, got 25",
        "problems.jsonl:5: difficulty: 'pass_rate' must be a number from 0 to 1, got True",
        "problems.jsonl:201: the problem of line 1 again",
        "problems.jsonl:202: not JSON: Expecting value: line 1 column 13 (char 12)",
        "problems.jsonl:7: answer: Exact cannot judge it: answers of type 'interval' are not "
        "compared exactly",
    ]


def test_answers_the_verifier_cannot_judge_are_told_by_line(tmp_path: Path, file: Path) -> None:
    records = measured(file)
    for number in (0, 8):  # outside of the window that supervised training has
        records[number]["answer"] = {"type": "interval", "value": "[0,1]"}
        del records[number]["id"]
    write(file, records)
    message = "answer: Exact cannot judge it: answers of type 'interval' are not compared exactly"
    assert told(recipe(tmp_path, file)) == [
        f"problems.jsonl:1: {message}",
        f"problems.jsonl:9: {message}",
    ]


def test_files_that_are_not_there_or_have_too_little_are_told(tmp_path: Path, file: Path) -> None:
    place = recipe(tmp_path, file)
    text = place.read_text().replace("[0.2, 0.8]", "[0.9, 0.95]").replace("count = 8", "count = 21")
    gone = tmp_path / "problem.jsonl"
    head, tail = text.split("[stages.rl]")
    place.write_text(f"{head}[stages.rl]{tail.replace(str(file), str(gone), 1)}")
    none, no_file, few = told(place)
    assert "none of 200 problems is within 'pass_rate' 0.9 to 0.95 (there: 0 to 1)" in none
    assert no_file.endswith("no such file; did you mean 'problems.jsonl'?")
    assert "only 20 distinct problems found in the 10% held out, and 21" in few


def test_a_generator_has_no_pass_rates(tmp_path: Path) -> None:
    place = tmp_path / "a.toml"
    place.write_text(
        'name = "a"\n[stages.e]\ntype = "eval"\n[stages.e.problems.sources]\n'
        "gcd = { pass_rate = [0, 1] }\n"
    )
    assert told(place) == [
        "stages.e.problems.sources.gcd.pass_rate:5: has no use: problems of the generator 'gcd' "
        "are made anew, and nobody measured them"
    ]
    with pytest.raises(LimiteError, match="'pass_rate' has no use"):
        source(Mix({"gcd": Source(pass_rate=(0.0, 1.0))}))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{ weihgt = 2 }", "did you mean 'weight'"),
        ("{ weight = -1 }", "must be finite and at least 0"),
        ("{ pass_rate = [0.8, 0.2] }", "within 0 and 1"),
        ("'much'", "expected float or Source"),
    ],
)
def test_wrong_settings_of_an_entry(tmp_path: Path, entry: str, message: str) -> None:
    place = tmp_path / "a.toml"
    place.write_text(
        'name = "a"\n[stages.e]\ntype = "eval"\n[stages.e.problems.sources]\n'
        f'gcd = 1\n"p.jsonl" = {entry}\n'
    )
    assert any(message in each for each in told(place))


@pytest.mark.parametrize("outcome", ["wrong", "unreadable"])
def test_a_checker_program_need_not_find_its_own_text_right(outcome: str) -> None:
    class Judge:
        def write(self, answer: Answer) -> str:
            return answer.value

        def __call__(self, answer: Answer, text: str) -> Verdict:
            return Verdict(outcome=outcome, reason="it says so")

    program = Answer(type="python", value="def verify(answer): return answer == '7'")
    told = _unjudged([Problem(problem="3+4=?", answer=program)], Judge())
    assert len(told) == (outcome == "unreadable")
