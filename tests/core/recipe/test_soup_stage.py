"""The stage that averages policies: its arithmetic, its receipt, exact resume, and its mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from limite.core.checkpoint.read import read_checkpoint
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.pretrained.export import directory_source, export_model
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.export import run_source
from limite.core.recipe.load import load_recipe
from limite.core.recipe.members import weights_of
from limite.core.recipe.only import needed_by, untouched
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import evaluation_seeds
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.runners import soup as runner
from limite.core.recipe.stages import Member
from limite.core.recipe.trained import trained, trained_at
from limite.core.rollout.stop import StopRequest
from limite.core.separation import text_hash
from tests.core.recipe.conftest import pages

RECIPE = Path(__file__).parent / "soup.toml"
MIX = "{ sources = { linear-equation = 1 }, difficulty = [0.0, 0.0] }"
GREEDY = (
    f"stages.soup.greedy={{ problems = {MIX}, count = 5, samples = 2, max_tokens = 6 }}",
    "stages.sft.steps=4",
    'stages.soup.of=["one", "two", "sft"]',
)


def quiet(_line: str) -> None:
    """Says nothing."""


def run(out: Path, *sets: str, name: str | None = None, echo: Any = quiet) -> RunResult:
    return start(RECIPE, out=out, overrides=sets, name=name, echo=echo)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    with pages():
        return run(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    with pages():
        return run(tmp_path_factory.mktemp("greedy"), *GREEDY)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, whole: RunResult) -> Path:
    """The directory of a model that grew from the same one, in bfloat16."""
    place = tmp_path_factory.mktemp("exported") / "model"
    export_model(run_source(trained(whole.path, "one")), place, dtype="bfloat16")
    return place


def weights(result: RunResult, stage: str, step: int) -> dict[str, torch.Tensor]:
    place = result.path / "stages" / stage / "checkpoints" / f"step-{step:06d}"
    return dict(read_checkpoint(place).payloads["model"])


def receipt(result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (result.path / "stages" / "04-soup" / "soup.json").read_text()
    )
    return found


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )


def mean_of(parts: list[dict[str, torch.Tensor]], shares: list[float]) -> dict[str, torch.Tensor]:
    return {
        name: sum(
            (share * part[name].double() for share, part in zip(shares, parts, strict=True)),
            start=torch.zeros(()),
        ).float()
        for name in parts[0]
    }


def test_the_average_is_of_stages_and_of_a_checkpoint(whole: RunResult) -> None:
    parts = [weights(whole, "02-one", 3), weights(whole, "03-two", 3), weights(whole, "01-sft", 4)]
    found = weights(whole, "04-soup", 1)
    torch.testing.assert_close(found, mean_of(parts, [1 / 3] * 3), rtol=1.2e-7, atol=1e-9)
    assert not same(found, parts[0])
    told = receipt(whole)
    assert told["method"] == "uniform"
    assert [(each["name"], each["stage"], each["step"]) for each in told["models"]] == [
        ("one", "one", 3),
        ("two", "two", 3),
        ("sft@4", "sft", 4),
    ]
    assert [each["weight"] for each in told["models"]] == [1 / 3] * 3
    assert all(len(digest) == 64 for each in told["models"] for digest in each["sha256"].values())
    stage = whole.stages["soup"]
    assert (stage["steps"], stage["method"], stage["start"]) == (1, "uniform", None)
    assert stage["models"] == told["models"]
    assert "soup.json" in stage["files"]


def test_a_checkpoint_that_a_stage_never_came_to_is_said_to_be_so(whole: RunResult) -> None:
    run, recipe = RunDirectory.open(whole.path), load_recipe(RECIPE).recipe
    with pytest.raises(LimiteError, match="sft@16: stage 'sft' ended after step 12, before its"):
        weights_of(run, recipe, Member.of("sft@16"))


def test_a_checkpoint_that_is_asked_for_stays_beside_the_newest(whole: RunResult) -> None:
    kept = sorted(each.name for each in (whole.path / "stages/01-sft/checkpoints").iterdir())
    assert kept == ["step-000004", "step-000012"]


def test_later_stages_go_on_from_the_average(whole: RunResult) -> None:
    assert whole.stages["more"]["start"]["stage"] == "soup"
    assert whole.stages["after"]["start"]["stage"] == "soup"
    assert trained(whole.path, "soup").step == 1
    recipe = load_recipe(RECIPE).recipe
    assert needed_by(recipe, "soup") == ["one", "two", "sft"]
    assert untouched(recipe, ["two"]) == ["sft", "one"]


def test_an_average_can_be_exported(whole: RunResult, tmp_path: Path) -> None:
    done = export_model(run_source(trained(whole.path, "soup")), tmp_path / "out")
    assert done.dtype == "float32"


def test_a_run_goes_on_to_the_same_bits(
    whole: RunResult, tmp_path: Path, digest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[StopRequest] = []
    before = StopRequest.__enter__

    def enter(self: StopRequest) -> StopRequest:
        stops.append(self)
        return before(self)

    def echo(line: str) -> None:
        if line.startswith("soup:"):
            stops[-1].requested = True

    monkeypatch.setattr(StopRequest, "__enter__", enter)
    with pytest.raises(RunStopped):
        run(tmp_path, name="stopped", echo=echo)
    done = go_on(tmp_path / "stopped", echo=quiet)
    assert digest(done.path) == digest(whole.path)
    # One that was killed between the checkpoint and the receipt makes the very same again.
    (done.path / "stages/04-soup/receipt.json").unlink()
    shutil.rmtree(done.path / "stages/05-more")
    again = go_on(done.path, echo=quiet)
    assert digest(again.path) == digest(whole.path)


def test_weights_are_used_and_those_that_nearly_sum_to_1_are_scaled(tmp_path: Path) -> None:
    shares = [0.5, 0.2999999, 0.2]
    found = run(tmp_path, f"stages.soup.weights={shares}", "stages.more.steps=1")
    parts = [weights(found, "02-one", 3), weights(found, "03-two", 3), weights(found, "01-sft", 4)]
    exact = [share / sum(shares) for share in shares]
    torch.testing.assert_close(
        weights(found, "04-soup", 1), mean_of(parts, exact), rtol=1.2e-7, atol=1e-9
    )
    assert receipt(found)["method"] == "weighted"


def test_the_same_model_by_every_path_gives_itself(
    whole: RunResult, exported: Path, tmp_path: Path
) -> None:
    checkpoint = whole.path / "stages/02-one/checkpoints/step-000003"
    again = tmp_path / "again"
    export_model(run_source(trained(whole.path, "one")), again)
    of = json.dumps(["one", str(again), str(checkpoint)])
    found = run(tmp_path, f"stages.soup.of={of}", "stages.more.steps=1")
    assert same(weights(found, "04-soup", 1), weights(whole, "02-one", 3))
    assert [each.get("path") for each in receipt(found)["models"]] == [
        None,
        str(again),
        str(checkpoint),
    ]
    bound = json.loads((found.path / "receipt.json").read_text())["stage_files"]
    assert set(bound) == {
        str(again / "config.json"),
        str(again / "model.safetensors"),
        str(checkpoint / "manifest.json"),
    }


def test_a_narrower_directory_is_averaged_at_the_width_of_the_run(
    whole: RunResult, exported: Path, tmp_path: Path
) -> None:
    of = json.dumps([str(exported), "two", f"{whole.path}"])
    found = run(tmp_path, f"stages.soup.of={of}", "stages.more.steps=1")
    source = directory_source(exported)
    narrow = {name: source.tensors.deferred(own).make() for name, own in source.tensor_of.items()}
    assert torch.bfloat16 in {part.dtype for part in narrow.values()}
    parts = [narrow, weights(found, "03-two", 3), weights(whole, "05-more", 2)]
    stored = weights(found, "04-soup", 1)
    torch.testing.assert_close(stored, mean_of(parts, [1 / 3] * 3), rtol=1.2e-7, atol=1e-9)


def test_a_directory_that_changed_does_not_go_on(
    whole: RunResult, exported: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(exported, tmp_path / "copy"))
    of = json.dumps(["one", f"{copy}"])
    found = run(tmp_path, f"stages.soup.of={of}", "stages.more.steps=1")
    text = (copy / "config.json").read_text()
    (copy / "config.json").write_text(text + "\n")
    with pytest.raises(LimiteError, match=r"stage_files.*config\.json"):
        go_on(found.path, echo=quiet)


def test_a_greedy_soup_measures_and_says_what_it_tried(greedy: RunResult) -> None:
    told = receipt(greedy)
    assert told["method"] == "greedy"
    steps = told["greedy"]["steps"]
    assert len(told["greedy"]["single"]) == len(steps) == 3
    assert steps[0]["kept"] is True
    best = max(each["correct"] for each in told["greedy"]["single"])
    kept = [each["correct"] for each in steps if each["kept"]]
    assert kept[0] == best
    assert kept == sorted(kept)
    assert all(each["total"] == 10 for each in steps)
    chosen = told["greedy"]["chosen"]
    assert {each["name"] for each in told["models"] if each["weight"]} == set(chosen)
    assert told["protocol"]["temperature"] == 1.0
    assert told["protocol"]["samples"] == 2
    trials = list(read_jsonl(greedy.path / "stages/04-soup/trials.jsonl"))
    assert [each["models"] for each in trials][:3] == [["one"], ["two"], ["sft"]]


def test_a_greedy_soup_is_chosen_by_problems_that_no_evaluation_asks(greedy: RunResult) -> None:
    recipe = load_recipe(greedy.path / "recipe.toml").recipe
    seeds = evaluation_seeds(recipe, "after")
    asked = held_out_problems(recipe.stages["after"], load_registry(), seeds)
    stored = list(read_jsonl(greedy.path / "stages/04-soup/problems.jsonl.zst"))
    tasted = {text_hash(each["problem"]) for each in stored}
    assert len(tasted) == 5
    assert tasted.isdisjoint(text_hash(each.problem) for each in asked)
    results = greedy.results["after"]
    assert results["separation"]["shared"] == 0


def test_a_greedy_soup_that_was_stopped_asks_nothing_twice(
    greedy: RunResult, tmp_path: Path, digest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops: list[StopRequest] = []
    measured: list[str] = []
    before = StopRequest.__enter__
    measure = runner.measuring

    def enter(self: StopRequest) -> StopRequest:
        stops.append(self)
        return before(self)

    def echo(line: str) -> None:
        if line.startswith("soup: two:"):
            stops[-1].requested = True

    def counting(*arguments: Any) -> Any:
        made = measure(*arguments)

        def call(models: tuple[int, ...]) -> Any:
            measured.append(str(models))
            return made(models)

        return call

    monkeypatch.setattr(StopRequest, "__enter__", enter)
    monkeypatch.setattr(runner, "measuring", counting)
    with pytest.raises(RunStopped, match="what it has measured is kept"):
        run(tmp_path, *GREEDY, name="stopped", echo=echo)
    assert measured == ["(0,)", "(1,)"]
    done = go_on(tmp_path / "stopped", echo=quiet)
    assert len(measured) == len(set(measured)) == 5
    assert digest(done.path) == digest(greedy.path)
    assert (done.path / "stages/04-soup/trials.jsonl").read_bytes() == (
        greedy.path / "stages/04-soup/trials.jsonl"
    ).read_bytes()


def problem(number: int) -> dict[str, Any]:
    return {"problem": f"{number}+1=?", "answer": {"type": "integer", "value": str(number + 1)}}


def test_a_benchmark_chooses_too_and_must_not_have_been_trained_on(tmp_path: Path) -> None:
    place = tmp_path / "problems.jsonl"
    write_jsonl(place, [problem(number) for number in range(4)])
    terms = f'{{ benchmark = "{place}", samples = 1, max_tokens = 4 }}'
    found = run(tmp_path, f"stages.soup.greedy={terms}", "stages.more.steps=1")
    assert receipt(found)["greedy"]["steps"][0]["total"] == 4
    bound = json.loads((found.path / "receipt.json").read_text())["stage_files"]
    assert list(bound) == [str(place)]
    seen = list(read_jsonl(found.path / "stages/01-sft/metrics.jsonl"))
    assert seen
    recipe = load_recipe(found.path / "recipe.toml").recipe
    assert recipe.stages["soup"].files == (str(place),)


def test_what_is_no_checkpoint_of_a_policy_is_refused(whole: RunResult, tmp_path: Path) -> None:
    found = trained_at(whole.path / "stages/01-sft/checkpoints/step-000004")
    assert (found.stage, found.step, found.finished) == ("sft", 4, False)
    with pytest.raises(LimiteError, match="not a checkpoint within the folder of a run"):
        trained_at(whole.path / "stages/01-sft")
    with pytest.raises(LimiteError, match="not a checkpoint within the folder of a run"):
        trained_at(tmp_path / "checkpoints/step-000001")


def test_the_report_shows_what_the_average_is_of(whole: RunResult, greedy: RunResult) -> None:
    page = whole.report.read_text()
    assert "an average of models" in page
    assert "average of 3 models, uniform" in page
    assert "stage sft, step 4" in page
    assert "What was tried" not in page
    chosen = greedy.report.read_text()
    assert "What was tried" in chosen
    assert "models, greedy" in chosen


def test_a_benchmark_that_was_trained_on_is_refused(tmp_path: Path) -> None:
    pairs = [
        {"prompt": f"{number}+1=?", "chosen": f"#{number + 1}", "rejected": f"#{number}"}
        for number in range(30)
    ]
    write_jsonl(tmp_path / "pairs.jsonl", pairs)
    write_jsonl(tmp_path / "problems.jsonl", [problem(number) for number in range(4)])
    terms = f'{{ benchmark = "{tmp_path}/problems.jsonl", samples = 1, max_tokens = 4 }}'
    of_pairs = f'type = "preference", pairs = "{tmp_path}/pairs.jsonl"'
    two = f"{{ {of_pairs}, steps = 1, batch = 2, held_out = 0.0 }}"
    with pytest.raises(SettingsError, match="trains on 4 problems that 'soup' asks"):
        run(tmp_path, f"stages.soup.greedy={terms}", f"stages.two={two}")
