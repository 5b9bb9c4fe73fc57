"""Stages whose curriculum chooses single problems: what is asked, resumed, and refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from limite import Mix
from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.jsonl import read_jsonl
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.problem_source import ProblemSource
from limite.core.recipe.runners import rl
from limite.core.recipe.single_problems import SingleProblems
from limite.core.recipe.verify import verify_run
from limite.core.seeds import Seeds
from limite.core.separation import is_held_out, text_hash
from limite.problems.files import record_of
from tests.core.recipe.conftest import TINY, quiet

STAGE = "03-rl"


def write(place: Path, records: list[dict[str, Any]]) -> None:
    place.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A file of 60 problems, some of them measured, and a pool of the first ten and five others."""
    mix = Mix({"linear-equation": 1}, difficulty=(0.0, 0.0))
    made = ProblemSource(mix, load_registry(), Seeds(5), held_out=False).distinct(65)
    records = [record_of(each) for each in made]
    for number, record in enumerate(records[:30]):
        rate = {"pass_rate": number % 5 / 4, "samples": 8, "policy": "some"}
        record["difficulty"] = {**record["difficulty"], **rate}
    write(tmp_path / "all.jsonl", records[:60])
    write(tmp_path / "pool.jsonl", [*records[:10], *records[60:]])
    return str(tmp_path / "all.jsonl"), str(tmp_path / "pool.jsonl")


def overrides(files: tuple[str, str], curriculum: str, *more: str) -> list[str]:
    every, pool = files
    return [
        f'stages.rl.problems.sources={{"{every}"=4,"{pool}"=1}}',
        f"stages.rl.curriculum={curriculum}",
        "stages.rl.checkpoint_every=1",
        "stages.rl.steps=3",
        "stages.rl.groups=6",
        "stages.rl.rollouts=4",
        *more,
    ]


def annealed(files: tuple[str, str]) -> str:
    return f'{{type="annealed",pool="{files[1]}",steps=3}}'


TARGETED = '{type="targeted",calibrated=4}'


def asked(result: RunResult, step: int) -> list[str]:
    """The problems of a batch, in their order."""
    lines = read_jsonl(result.path / f"stages/{STAGE}/rollouts/{step:06d}.jsonl.zst")
    return list(dict.fromkeys(line["problem"]["problem"] for line in lines))


def texts(path: str) -> list[str]:
    return [json.loads(line)["problem"] for line in Path(path).read_text().splitlines()]


def test_every_problem_is_an_arm_once(files: tuple[str, str]) -> None:
    every, pool = files
    found = SingleProblems(Mix({every: 4.0, pool: 1.0}))
    assert len(found.arms) == 65
    assert len({arm.name for arm in found.arms}) == 65
    weights = Counter({arm.files: arm.weight for arm in found.arms})
    assert weights == {
        (every,): pytest.approx(4 / 60),
        (every, pool): pytest.approx(4 / 60 + 1 / 15),
        (pool,): pytest.approx(1 / 15),
    }
    assert sum(arm.weight for arm in found.arms) == pytest.approx(5.0)
    assert [arm.pass_rate for arm in found.arms[:6]] == [0.0, 0.25, 0.5, 0.75, 1.0, 0.0]
    assert found.arms[40].pass_rate is None
    for place in (0, 9, 59, 64):
        problem, arm = found.draw(place, 1, 2, 3), found.arms[place]
        assert arm.name == f"{arm.files[0]}#{text_hash(problem.problem)}"
        assert problem.meta["arm"] == arm.files[0]


def test_held_out_problems_and_generators_are_no_arms(files: tuple[str, str]) -> None:
    mix = Mix({"linear-equation": 1}, difficulty=(0.0, 0.0))
    held = ProblemSource(mix, load_registry(), Seeds(5), held_out=True).distinct(3)
    every = Path(files[0])
    with every.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record_of(each)) + "\n" for each in held)
    found = SingleProblems(Mix({files[0]: 1.0}))
    assert len(found.arms) == 60
    assert not any(is_held_out(found.draw(place).problem) for place in range(60))
    with pytest.raises(LimiteError, match="'gcd' makes problems without end"):
        SingleProblems(Mix({files[0]: 1.0, "gcd": 1.0}))
    only_held = every.with_name("held.jsonl")
    write(only_held, [record_of(each) for each in held])
    with pytest.raises(LimiteError, match="no problem belongs to the part not held out"):
        SingleProblems(Mix({str(only_held): 1.0}))


def test_batches_of_an_annealed_pool_are_the_same_whatever_the_policy_does(
    finished: RunResult, files: tuple[str, str], tmp_path: Path
) -> None:
    results = [
        start(
            finished.path,
            out=tmp_path / str(rate),
            only=["rl"],
            overrides=overrides(files, annealed(files), f"stages.rl.optimizer.lr={rate}"),
            echo=quiet,
        )
        for rate in (1e-3, 0.1)
    ]
    pool = set(texts(files[1]))
    for step, least in zip(range(1, 4), (3, 2, 1), strict=True):
        batches = [asked(result, step) for result in results]
        assert batches[0] == batches[1]
        assert len(batches[0]) == 6
        assert len(pool & set(batches[0])) >= least
    assert all(verify_run(result.path).violations == [] for result in results)
    log = (results[0].path / f"stages/{STAGE}/metrics.jsonl").read_text().splitlines()
    arms = {name for line in log for name in json.loads(line) if name.startswith("arm/")}
    assert arms <= {f"arm/{path}" for path in files}


def test_a_stopped_stage_ends_with_the_same_bits(
    finished: RunResult,
    files: tuple[str, str],
    tmp_path: Path,
    digest: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terms: dict[str, Any] = {"only": ["rl"], "overrides": overrides(files, TARGETED), "echo": quiet}
    whole = start(finished.path, out=tmp_path / "whole", **terms)
    one_batch = rl.one_batch

    def stopping(context: Any, *arguments: Any) -> Any:
        metrics = one_batch(context, *arguments)
        if arguments[2].session.clocks.step == 1:
            context.stop.requested = True
        return metrics

    with monkeypatch.context() as patched:
        patched.setattr(rl, "one_batch", stopping)
        with pytest.raises(RunStopped):
            start(finished.path, out=tmp_path / "cut", **terms)
    resumed = go_on(next((tmp_path / "cut").iterdir()), echo=quiet)
    assert digest(resumed.path) == digest(whole.path)


def told(recipe: Path, *sets: str) -> str:
    with pytest.raises(LimiteError) as caught:
        check_file(recipe, sets, load_registry())
    return str(caught.value)


def test_what_a_curriculum_of_problems_cannot_use_is_told(files: tuple[str, str]) -> None:
    check_file(TINY, overrides(files, TARGETED), load_registry())
    assert "sources.linear-equation: 'linear-equation' makes problems without end" in told(
        TINY, 'stages.rl.curriculum="targeted"'
    )
    assert "groups: must be at most 65 groups, as many problems as there are" in told(
        TINY, *overrides(files, TARGETED, "stages.rl.groups=66")
    )
    for schedule, most in (("oversample", 72), ("dynamic", 650)):
        more = (f'stages.rl.rollout_schedule="{schedule}"', "stages.rl.groups=65")
        assert (
            "stages.rl.rollout_schedule: must be at most 65 groups, as many problems as there are "
            "to train on: the 'curriculum' asks none twice for a batch, and with this "
            f"'rollout_schedule' 65 groups may be {most}"
        ) in told(TINY, *overrides(files, TARGETED, *more))
    assert "'pool' names none of the files of 'problems': 'pool.jsonl'; there are /" in told(
        TINY, *overrides(files, '{type="annealed",pool="pool.jsonl"}')
    )
    wrong = told(TINY, *overrides(files, '{type="targeted",kappa=-1}'))
    assert "kappa: must be >= 0.0" in wrong
    assert len(wrong.splitlines()) == 1
