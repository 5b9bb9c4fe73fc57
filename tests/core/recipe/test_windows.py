"""Supervised training on windows of documents: what runs, what a receipt says, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limite.core.discover import load_registry
from limite.core.errors import LimiteError, RunFailed, SettingsError
from limite.core.recipe.check import check_file
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.runners import sft
from limite.core.separation import is_held_out
from limite.core.train.data.windows import Window, Windows, cut
from limite.core.train.documents import Document
from limite.core.types import Answer, Problem
from tests.core.recipe.conftest import pages

TINY = Path(__file__).parent / "tiny.toml"
STEPS = ("stages.sft.steps=4", "stages.sft.checkpoint_every=2", "stages.sft.batch=6")


def quiet(_line: str) -> None:
    """Says nothing."""


def run(out: Path, *sets: str, name: str = "run") -> RunResult:
    changed = [f"stages.sft.{each}" if not each.startswith("model") else each for each in sets]
    return start(TINY, out=out, overrides=[*STEPS, *changed], name=name, only=["sft"], echo=quiet)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    with pages():
        return run(tmp_path_factory.mktemp("whole"), "windows.tokens=5")


def lines_of(result: RunResult) -> list[dict[str, Any]]:
    log = result.path / "stages/01-sft/metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_the_receipt_says_what_became_of_documents(whole: RunResult) -> None:
    told = whole.stages["sft"]["windows"]
    counts = told["training"]
    assert counts["documents"] == counts["retained"] == counts["supervised_endings"] == 60
    assert counts["repeated_targets"] == 5 * counts["windows"] - counts["unique_targets"]
    assert 0 < counts["without_target"] == counts["windows"] - told["order"]["rows"]
    assert "overlap-final-window" in whole.report.read_text(encoding="utf-8")
    assert all(line["loss"] > 0 for line in lines_of(whole))


def test_a_stopped_stage_goes_on_to_the_same_bits(
    whole: RunResult, tmp_path: Path, digest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, contract = sft.update, sft.order_contract

    def stop_in_the_fourth(session: Any, *rest: Any) -> Any:
        if session.clocks.step == 3:
            raise KeyboardInterrupt
        return update(session, *rest)

    monkeypatch.setattr(sft, "update", stop_in_the_fourth)
    with pytest.raises(RunStopped):
        run(tmp_path, "windows.tokens=5")
    monkeypatch.setattr(sft, "update", update)
    other = {"policy": "drop-tail"}
    monkeypatch.setattr(sft, "order_contract", lambda *a, **b: {**contract(*a, **b), **other})
    with pytest.raises(LimiteError, match='policy: "overlap-final-window" -> "drop-tail"'):
        go_on(tmp_path / "run", echo=quiet)
    monkeypatch.setattr(sft, "order_contract", contract)
    go_on(tmp_path / "run", echo=quiet)
    assert digest(tmp_path / "run") == digest(whole.path)


def test_variants_of_a_model_share_order_seed_and_tokens(whole: RunResult, tmp_path: Path) -> None:
    other = run(
        tmp_path, "windows.tokens=5", "model.attention={ type = 'simplicial', layers = [1] }"
    )
    assert other.stages["sft"]["windows"] == whole.stages["sft"]["windows"]
    ours, theirs = lines_of(other), lines_of(whole)
    assert [line["tokens"] for line in ours] == [line["tokens"] for line in theirs]
    assert ours[-1]["loss"] != theirs[-1]["loss"]


def test_any_cut_into_micro_batches_gives_the_same_update(whole: RunResult, tmp_path: Path) -> None:
    parts = run(tmp_path, "windows.tokens=5", "microbatch_tokens=7")
    for ours, theirs in zip(lines_of(parts), lines_of(whole), strict=True):
        assert ours["loss"] == pytest.approx(theirs["loss"], rel=1e-4)


def test_a_short_document_that_is_included_is_what_a_whole_one_is() -> None:
    document = Document(ids=tuple(range(10)), prompt_tokens=4, style="direct")
    (window,) = cut([10], Windows(tokens=10, short="include"))
    for targets in ("all", "response"):
        row = sft.targets_of(document, targets, window)
        assert row == sft.targets_of(document, targets)


def test_a_window_counts_what_is_a_target() -> None:
    document = Document(ids=tuple(range(10)), prompt_tokens=4, style="direct")

    def row(start: int, stop: int, targets: str) -> tuple[list[int], list[int]]:
        found = sft.targets_of(document, targets, Window(0, start, stop))
        return list(found.prompt), list(found.completion)

    assert row(0, 5, "all") == ([0], [1, 2, 3, 4])
    assert row(0, 5, "response") == ([0, 1, 2, 3], [4])
    assert row(5, 10, "response") == ([5], [6, 7, 8, 9])
    assert row(0, 3, "response") == ([0, 1, 2], [])


def test_windows_of_held_out_problems_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{number}x=0" for number in range(100)]
    held_out = next(each for each in texts if is_held_out(each))
    asked = Problem(
        problem=held_out,
        answer=Answer(type="integer", value="0"),
        solutions={"direct": "#0"},
    )
    found = sft.problems_of
    monkeypatch.setattr(sft, "problems_of", lambda *given: [*found(*given), asked])
    with pytest.raises(RunFailed, match="held-out problems to cut windows from, such as"):
        run(tmp_path, "windows.tokens=5")


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        ("windows.tokens=65", "must be at most the model's context of 64"),
        ("windows.tokens=40", "no document is long enough for a window of 40 targets"),
        ("windows={ tokens = 10, policy = 'drop-tail' }", "hold questions alone"),
        ("windows={ tokens = 8, short = 'exlude' }", "did you mean 'exclude'"),
        ("windows={ }", "windows.tokens"),
    ],
)
def test_mistakes_are_told_before_anything_runs(sets: str, told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        check_file(TINY, [f"stages.sft.{sets}"], load_registry())
    assert told in str(refused.value)


def test_the_plan_tells_what_windows_leave_out() -> None:
    def plan(*sets: str) -> Any:
        return check_file(TINY, [f"stages.sft.{each}" for each in sets], load_registry())[1].stages

    windows, *_ = plan("windows.tokens=5")
    assert "windows of 5 targets" in windows.notes[0]
    assert windows.trained_tokens == 60 * 16 * 6
    assert not plan()[0].notes
    assert plan("microbatch_tokens=20")[0].memory_bytes < plan()[0].memory_bytes
