"""Texts that a run makes: of problems to pretrain on, by a teacher that is a stage, its own."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.recipe.check import check_file
from limite.core.recipe.context import StageContext
from limite.core.recipe.engine import RunResult, start
from limite.core.recipe.load import load_recipe
from limite.core.recipe.only import needed_by
from limite.core.recipe.runners.own_solutions import own_documents
from limite.core.recipe.stages import OwnSolutions
from limite.core.recipe.verify import verify_run
from limite.core.rollout.stop import StopRequest
from limite.core.rollout.store import read_groups
from limite.core.separation import is_held_out
from limite.core.tokenizer import CharacterTokenizer
from limite.core.types import Group

HERE = Path(__file__).parent
RECIPE = HERE / "programme.toml"


def quiet(_line: str) -> None:
    """Says nothing."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return start(RECIPE, out=tmp_path_factory.mktemp("whole"), echo=quiet)


def seen(result: RunResult, name: str) -> StageContext:
    """A stage as it saw the finished run."""
    from limite.core.recipe.rundir import RunDirectory

    loaded = load_recipe(RECIPE, (), load_registry())
    run = RunDirectory.open(result.path)
    with StopRequest("") as stop:
        return StageContext.of(run, loaded.recipe, load_registry(), name, stop, quiet, False)


def asked(result: RunResult, stage: str) -> list[Group]:
    return [
        group
        for place in sorted((result.path / "stages" / stage / "sampled").iterdir())
        for group in read_groups(read_jsonl(place))
    ]


def test_all_of_it_runs_and_is_as_the_receipts_say(whole: RunResult) -> None:
    assert [receipt["status"] for receipt in whole.stages.values()] == ["finished"] * 8
    assert verify_run(whole.path).violations == []
    left = [path.parent.name for path in whole.path.glob("stages/*/data")]
    assert left == []


def test_texts_of_problems_are_read_as_a_source(whole: RunResult) -> None:
    (told,) = whole.stages["base"]["sources"]
    assert told["targets"] >= whole.stages["base"]["tokens"] == 60 * 300
    assert told["passes"] > 5  # of sixty short texts
    assert told["left_out_documents"] == 0
    losses = [line["loss"] for line in read_jsonl(whole.path / "stages/01-base/metrics.jsonl")]
    assert losses[-1] < 0.6 * losses[0]


def test_a_teacher_of_the_run_is_asked_and_what_it_says_is_learned(whole: RunResult) -> None:
    groups = asked(whole, "03-kd")
    assert len({group.problem.id for group in groups}) == 40
    assert not any(is_held_out(group.problem.problem) for group in groups)
    ended = [each for each in groups if each.responses[0].finish_reason == "eos"]
    told = whole.stages["kd"]
    assert told["traces"] + told["held_out_traces"] == len(ended) > 10
    # The student writes its own; its teacher writes nothing.
    assert not (whole.path / "stages/04-on-policy/sampled").exists()
    assert len(list((whole.path / "stages/04-on-policy/rollouts").iterdir())) == 2


def test_only_right_answers_of_a_teacher_are_learned_unless_it_is_said(
    whole: RunResult, tmp_path: Path
) -> None:
    right = sum(group.correct[0] for group in asked(whole, "03-kd"))
    assert 0 < right < 40
    run = start(
        whole.path, only=["kd"], overrides=["stages.kd.taught.keep=right"], out=tmp_path, echo=quiet
    )
    told = run.stages["kd"]
    assert told["traces"] + told["held_out_traces"] == right


def test_own_right_responses_are_learned_the_newest_first(whole: RunResult) -> None:
    folder = whole.path / "stages/05-rl/rollouts"
    wanted: list[tuple[str, tuple[int, ...]]] = []
    for place in sorted(folder.iterdir(), reverse=True):
        for group in read_groups(read_jsonl(place)):
            for response, right in zip(group.responses, group.correct, strict=True):
                if right:
                    ids = (*response.prompt_ids, *response.completion_ids)
                    if (group.problem.id, ids) not in wanted:
                        wanted.append((group.problem.id, ids))
    once = [ids for number, (problem, ids) in enumerate(wanted)
            if problem not in [each for each, _ in wanted[:number]]]  # fmt: skip
    assert len(once) > 2
    context = seen(whole, "own")
    found = own_documents(context, OwnSolutions(rollouts=("rl",)))
    assert [document.ids for document in found] == once
    few = own_documents(context, OwnSolutions(rollouts=("rl",), documents=2, per_problem=9))
    assert [document.ids for document in few] == [ids for _, ids in wanted][:2]
    end = CharacterTokenizer().eos_id
    for document in found:
        assert document.ids[-1] == end
        assert document.ids[document.prompt_tokens - 1] != end
    assert whole.stages["own"]["documents"] == min(30, len(once))
    assert whole.stages["both"]["documents"] == 20 + min(3, len(wanted))


def test_what_a_stage_needs_is_known(whole: RunResult) -> None:
    recipe = load_recipe(RECIPE, (), load_registry()).recipe
    assert needed_by(recipe, "kd") == ["base", "teacher"]
    assert needed_by(recipe, "own") == ["rl"]
    assert needed_by(recipe, "both") == ["own", "rl"]


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (
            ["stages.kd.teacher=techer"],
            "stages.kd.teacher: unknown stage 'techer'; did you mean 'teacher'?",
        ),
        (
            ["stages.kd.teacher=own"],
            "stages.kd.teacher: the stage 'own' does not come before this one; stages run in order",
        ),
        (
            ["stages.kd.traces=some.jsonl"],
            "stages.kd.traces: has no use: with 'taught' the texts are answers to problems",
        ),
        (
            ["stages.base.made.styles.corse=1"],
            "stages.base.made.styles.corse: no solutions in this style from 'linear-equation'; "
            "did you mean 'coarse'?",
        ),
        (
            ["stages.base.made.documents=100000"],
            "stages.base.made.problems: linear-equation at difficulty 0 to 0: only",
        ),
        (
            ["stages.kd.taught.max_tokens=90"],
            "stages.kd.taught.max_tokens: a prompt of",
        ),
        (
            ['stages.own.own.rollouts=["teacher"]'],
            "stages.own.own.rollouts[0]: the stage 'teacher' does not record responses",
        ),
        (
            ["stages.own.own.rollouts=[]"],
            "stages.own.own.rollouts: must name at least one rl stage",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_cannot_work_is_told_before_anything_runs(sets: list[str], told: str) -> None:
    with pytest.raises(SettingsError) as error:
        check_file(RECIPE, sets, load_registry())
    assert told in str(error.value)


def test_nothing_to_learn_from_is_told(tmp_path: Path) -> None:
    text = RECIPE.read_text()
    broken = text.replace('own = { rollouts = ["rl"], documents = 30 }\n', "")
    broken = broken.replace("[stages.base.made]", "[stages.base.mode]")
    broken = broken.replace("[stages.on-policy.taught]", "[stages.on-policy.thought]")
    place = tmp_path / "broken.toml"
    place.write_text(broken)
    with pytest.raises(SettingsError) as error:
        check_file(place, (), load_registry())
    said = str(error.value)
    assert "stages.base.mode: unknown key; did you mean 'made'?" in said
    assert "stages.base.sources: is missing: texts come from 'sources', are 'made', or both" in said
    assert "stages.on-policy.traces: is missing: texts come from a file" in said
    assert "stages.own.problems: is missing: a supervised stage learns from" in said


def test_a_style_that_a_problem_lacks_is_left_to_others(tmp_path: Path) -> None:
    """Generators whose solutions are in other styles stand in one mixture."""
    lines: list[dict[str, Any]] = [
        {
            "problem": f"{number} apples and {number} more?",
            "answer": {"type": "integer", "value": str(2 * number)},
            "solutions": {"words": f"#{2 * number}"},
        }
        for number in range(40)
    ]
    file = tmp_path / "words.jsonl"
    write_jsonl(file, lines)
    mix = f'{{ sources = {{ linear-equation = 1, "{file}" = 1 }}, difficulty = [0.0, 0.0] }}'
    sets = [f"stages.teacher.problems={mix}", "stages.teacher.documents=30"]
    with pytest.raises(SettingsError, match="has solutions in none of these; its own are words"):
        check_file(RECIPE, sets, load_registry())
    styles = "stages.teacher.styles={ direct = 1, words = 2 }"
    check_file(RECIPE, [*sets, styles], load_registry())


@pytest.mark.nightly
def test_killed_at_any_point_and_resumed_is_the_undisturbed_run(tmp_path: Path) -> None:
    kills = 40
    seed = secrets.randbelow(2**32)
    done = subprocess.run(
        [sys.executable, HERE / "killed_runs.py", RECIPE, tmp_path, str(seed), str(kills)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}\n{done.stderr}"
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told["runs"]) == kills
    for run in told["runs"]:
        assert run["differs"] == [] == run["violations"], f"seed {seed}: {told}"
