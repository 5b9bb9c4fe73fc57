"""A comparison end to end: every run is an ordinary one, and what is said of them is so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from limite.core.cli.main import cli
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, write_json
from limite.core.receipts import FINISHED, LEFT, write_receipt
from limite.core.recipe import engine, run_receipt
from limite.core.recipe.context import RunStopped
from limite.core.recipe.matched.folder import COMPARISON, MatchedDirectory
from limite.core.recipe.matched.run import MatchedResult, resume, start
from limite.core.recipe.matched.verify import verify_comparison
from limite.core.recipe.rundir import RunDirectory
from limite.core.recipe.trained import trained
from limite.core.seeds import Seeds
from limite.evaluate.matched import asked, comparison_of
from limite.evaluate.matched_page import render
from limite.evaluate.runs_compared import compare_runs
from tests.core.recipe.matched.test_matched_check import PAIR, checked

NAMES = ["ordinary-1", "simplicial-1", "ordinary-2", "simplicial-2"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> MatchedResult:
    found = start(PAIR, out=tmp_path_factory.mktemp("runs"), echo=lambda _line: None)
    assert isinstance(found, MatchedResult)
    return found


def test_it_leaves_runs_like_any_other(done: MatchedResult) -> None:
    folder = MatchedDirectory.open(done.path)
    assert list(folder.members()) == NAMES
    assert all(folder.is_finished(name) for name in NAMES)
    assert done.path.name.startswith("pair-")
    for name in NAMES:
        assert trained(done.path / name).stage == "rl"
    assert verify_comparison(done.path).violations == []


def test_the_difference_is_that_of_limite_compare(done: MatchedResult) -> None:
    found = done.comparison
    plain = compare_runs(
        [done.path / name for name in NAMES], stage="after", confidence=0.95, allow_mismatch=False
    )
    (pair,) = found["measured"]["after"]["comparisons"]
    assert (pair["before"], pair["after"]) == ("ordinary", "simplicial")
    assert json.loads(json.dumps(plain["comparisons"])) == [pair]
    assert pair["training_seeds"] == [2, 2]
    assert [each["seeds"] for each in found["measured"]["after"]["recipes"]] == [[1, 2], [1, 2]]


def test_a_variant_alone_is_the_same_run(done: MatchedResult, tmp_path: Path) -> None:
    """Nothing of a comparison reaches into its runs."""
    alone = engine.start(
        done.path / "simplicial-2" / "recipe.toml", out=tmp_path, echo=lambda _line: None
    )
    ours, theirs = (
        read_json(next((path / "stages" / "02-rl" / "checkpoints").glob("*2/manifest.json")))
        for path in (alone.path, done.path / "simplicial-2")
    )
    assert ours["files"]["model.safetensors"] == theirs["files"]["model.safetensors"]


def test_the_page_says_where_its_axis_of_accuracies_begins(done: MatchedResult) -> None:
    found = json.loads(json.dumps(done.comparison))
    for each in found["measured"]["after"]["recipes"]:
        each |= {"estimate": 0.5, "over_problems": [0.4, 0.6], "over_both": [0.4, 0.6]}
    assert "are right. The axis begins at 37.6%, not at 0." in render(found)


def test_what_was_matched_is_read_from_the_runs(done: MatchedResult) -> None:
    first, second = (RunDirectory.open(done.path / name) for name in NAMES[:2])
    assert asked(first, "rl") == asked(second, "rl")
    assert len(asked(first, "rl")) == 2
    assert "problems asked in 'rl': the same in each of 4 steps" in done.comparison["matched"]
    assert any(
        each.startswith("tokens learned from in 'sft'") for each in done.comparison["matched"]
    )
    told = "\n".join(done.comparison["not_matched"])
    took = done.comparison["took"]
    numbers = [f"{took[name]['parameters']:,} ({name})" for name in ("ordinary", "simplicial")]
    assert f"parameters: {', '.join(numbers)}" in told
    assert "kernel of simplicial_attention: none (ordinary)" in told
    assert took["ordinary"]["operations_at_most"] < took["simplicial"]["operations_at_most"]


def test_problems_that_differ_are_named(done: MatchedResult, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(done.path, copy)
    rollouts = copy / "simplicial-1" / "stages" / "02-rl" / "rollouts"
    (rollouts / "000002.jsonl.zst").write_bytes((rollouts / "000001.jsonl.zst").read_bytes())
    told = comparison_of(copy)["not_matched"]
    assert "problems asked in 'rl': simplicial-1 from ordinary-1 from step 2 on" in told
    wrong = [str(each) for each in verify_comparison(copy).violations]
    assert any(each.startswith("simplicial-1/stages/02-rl/") for each in wrong)
    assert any(each.startswith("comparison.json: is not what the runs say") for each in wrong)


def test_what_was_changed_afterwards_is_found(done: MatchedResult, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(done.path, copy)
    found: dict[str, Any] = read_json(copy / COMPARISON)
    found["measured"]["after"]["comparisons"][0]["estimate"] = 0.5
    write_json(copy / COMPARISON, found)
    assert [str(each) for each in verify_comparison(copy).violations] == [
        "comparison.json: is not what the runs say"
    ]
    text = (copy / "matched.toml").read_text().replace("seeds = [\n    1,", "seeds = [\n    3,")
    (copy / "matched.toml").write_text(text)
    shutil.copy(copy / "ordinary-1" / "recipe.toml", copy / "ordinary-2" / "recipe.toml")
    wrong = "\n".join(str(each) for each in verify_comparison(copy).violations)
    assert "matched.toml: is not the comparison in receipt.json" in wrong
    assert "ordinary-2/recipe.toml: is not what matched.toml says: seed: 2 -> 1" in wrong


def test_the_weights_both_have_begin_alike() -> None:
    one, other = (
        dict(recipe.model.decoder(40, Seeds(1).child("weights"), values=True).named_parameters())  # type: ignore[union-attr]
        for recipe in checked(PAIR).matched.variants.values()
    )
    assert one.keys() < other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_stop_is_heard_and_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: MatchedResult
) -> None:
    told: list[str] = []

    def stopping(line: str) -> None:
        told.append(line)
        if line.startswith("run 2 of 2"):
            raise KeyboardInterrupt

    with pytest.raises(RunStopped, match=r"limite resume .*/pair$"):
        start(PAIR, overrides=["seeds=[1]"], out=tmp_path, name="pair", echo=stopping)
    folder = MatchedDirectory.open(tmp_path / "pair")
    assert [folder.is_finished(name) for name in NAMES[:2]] == [True, False]
    with pytest.raises(LimiteError, match="not finished: simplicial-1; go on with it"):
        comparison_of(folder.path)

    monkeypatch.setattr(run_receipt, "make_receipt", other_version)
    with pytest.raises(LimiteError, match="its runs would not be matched"):
        resume(folder.path, echo=told.append, live=False)
    monkeypatch.undo()
    again = resume(folder.path, echo=told.append, live=False)
    assert "run 1 of 2: ordinary, seed 1: finished before" in told
    assert again.comparison["seeds"] == [1]
    assert verify_comparison(folder.path).violations == []
    mine, theirs = (
        read_json(path / "simplicial-1" / "stages" / "03-after" / "results.json")
        for path in (folder.path, done.path)
    )
    assert mine["per_problem"] == theirs["per_problem"]


def test_a_run_that_was_killed_behind_its_last_stage_is_gone_on_from(
    done: MatchedResult, tmp_path: Path
) -> None:
    copy, told = tmp_path / "pair", list[str]()
    shutil.copytree(done.path, copy)
    run = RunDirectory.open(copy / "simplicial-2")
    whole = run.receipt()
    *_, last = run.stage_names
    bound = {name: each for name, each in whole[FINISHED].items() if name != last}
    killed = {key: each for key, each in whole.items() if key != LEFT} | {FINISHED: bound}
    write_receipt(run.path / "receipt.json", killed)
    (run.path / ".receipt.json.tmp-0123abcd").write_text("{", encoding="utf-8")
    resume(copy, echo=told.append, live=False)
    assert "run 3 of 4: ordinary, seed 2: finished before" in told
    assert "run 4 of 4: simplicial, seed 2: finished before" not in told
    again = RunDirectory.open(copy / "simplicial-2").receipt()
    assert again[LEFT] == whole[LEFT]
    assert again[FINISHED][last]["sha256"] == whole[FINISHED][last]["sha256"]
    assert not list(run.path.glob(".receipt*"))
    assert verify_comparison(copy).violations == []


def other_version(**known: Any) -> dict[str, Any]:
    from limite.core.receipts import make_receipt

    return {**make_receipt(**known), "limite_sha256": "another"}


def test_the_commands(done: MatchedResult, tmp_path: Path) -> None:
    def called(*words: str) -> str:
        result = CliRunner().invoke(cli, list(words))
        assert result.exit_code == 0, result.output
        return result.output

    assert "4 runs" in called("verify", str(done.path))
    page = tmp_path / "page.html"
    text = called("report", str(done.path), "--out", str(page))
    assert "simplicial against ordinary" in text
    assert "not matched:" in text
    assert page.read_bytes() == done.report.read_bytes()
    assert json.loads(called("report", str(done.path), "--json"))["stage"] == "after"
    assert "finished before" in called("resume", str(done.path))
    refused = CliRunner().invoke(cli, ["resume", str(done.path), "--set", "seeds=[1]"])
    assert refused.exit_code != 0
