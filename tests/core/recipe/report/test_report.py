"""The page of a run: complete, self-contained, the same bytes each time, and honest."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from limite.core import jsonl
from limite.core.errors import LimiteError
from limite.core.recipe.report import canvas, curves, read_run, write_report
from limite.core.recipe.report.data import as_data

INLINE = {"span", "strong", "small", "a"}
VOID = {"meta", "link", "br", "hr", "img", "input"}
MakeRun = Callable[..., Path]


class Page(HTMLParser):
    """A strict reading: tags nest, ids are unique, and what is addressed is collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.words.append("" if tag in INLINE else " ")
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href", "action", "data", "srcset"):
                self.addresses.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.words.append("" if tag in INLINE else " ")

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def read_page(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    for address in page.addresses:
        assert address == "data:," or address.removeprefix("#") in page.ids
    assert not {"script", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    assert not re.search(r"url\((?!#)|@import", text)
    return page


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}), encoding="utf-8")


def test_the_page_holds_everything_in_order(make_run: MakeRun) -> None:
    folder = make_run()
    path = write_report(folder)
    assert path == folder / "report.html"
    page = read_page(path)
    sections = [name for name in page.ids if not re.search(r"-(title|text)$|-[mp][0-9a-f]+$", name)]
    assert sections == [
        *("stages", "accuracy", "stage-1", "stage-3", "families"),
        *("gates", "samples", "recipe", "receipt"),
    ]
    for words in (
        "Held-out accuracy improved by 20.4 points from after-sft to after-rl (37.3% → 57.7%), "
        "95% paired interval [+16.5, +24.3].",
        "covers resampling of evaluation problems; not variation between training runs, "
        "seeds of training, graders or prompts",
        "Single run.",
        "failed 1 of 75, first at step 41",
        "execution, not capability",
        "groups of 8",
        "1,200 applied updates",
        "[stages.rl.health]",
        "d04c31c8f6a1",
        "No overlap found in the training stages of this run.",
        "Held-out problems",
    ):
        assert words in page.text
    assert path.stat().st_size < 400_000
    assert folder.joinpath("report.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_same_folder_gives_the_same_bytes(make_run: MakeRun, tmp_path: Path) -> None:
    folder = make_run(rl_steps=6, sft_steps=12)
    copy = tmp_path / "elsewhere" / folder.name
    shutil.copytree(folder, copy)
    first, second = write_report(folder), write_report(copy)
    assert first.read_bytes() == second.read_bytes()
    assert first.with_suffix(".png").read_bytes() == second.with_suffix(".png").read_bytes()
    again = first.read_bytes()
    assert write_report(folder).read_bytes() == again


@pytest.mark.parametrize(
    ("interval", "said", "claim", "sentence"),
    [
        ([0.01, 0.08], "improved", "improved", "improved by 4.0 points"),
        ([-0.09, -0.01], "regressed", "regressed", "regressed by 4.0 points"),
        ([0.0, 0.08], "no observed difference", "same", "No observed difference"),
        ([-0.02, 0.08], "no observed difference", "same", "contains 0"),
        (None, "improved", "none", "no interval, so no claim"),
        (["NaN", 0.1], "improved", "none", "no interval, so no claim"),
        ([0.0, 0.08], "improved", "none", "wording and interval disagree"),
        ([-0.02, 0.08], "regressed", "none", "wording and interval disagree"),
        ([0.01, 0.08], "no observed difference", "none", "wording and interval disagree"),
        ([-0.01, 0.08], "improved greatly", "none", "wording and interval disagree"),
    ],
)
def test_only_an_interval_that_excludes_zero_makes_a_claim(
    make_run: MakeRun, interval: Any, said: str, claim: str, sentence: str
) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    difference = -0.04 if claim == "regressed" else 0.04
    against = {"stage": "after-sft", "difference": difference, "wording": said}
    against["interval"] = interval
    change(folder / "stages/04-after-rl/results.json", against=against)
    data = as_data(read_run(folder))
    assert data["claim"] == claim
    assert sentence in data["headline"]
    assert "greatly" not in data["headline"]


def without_updates(folder: Path, contrast: float, *, failed: bool = False) -> None:
    """Rewrites the reinforced stage of a run as one that changed no weight."""
    stage = folder / "stages/03-rl"
    for name, fields in (
        ("metrics", {"optim/updates": 0, "contrast/share": contrast}),
        ("health", {"passed": not failed}),
    ):
        lines = list(jsonl.read_jsonl(stage / f"{name}.jsonl"))
        jsonl.write_jsonl(stage / f"{name}.jsonl", [{**line, **fields} for line in lines])
    against = {"stage": "after-sft", "difference": 0.0, "wording": "no observed difference"}
    against |= {"interval": [-0.01, 0.01], "method": "Wilson: the bootstrap has no spread here"}
    change(folder / "stages/04-after-rl/results.json", against=against)


def test_a_stage_that_made_no_update_says_so_before_its_gates(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=3, sft_steps=2)
    without_updates(folder, contrast=0.0)
    reason = "no update was made: no group had both right and wrong responses"
    data = as_data(read_run(folder))
    assert data["headline"].endswith(f"contains 0. In rl {reason}.")
    assert data["claim"] == "same"
    assert data["stages"][2]["verdict"] == reason
    page = read_page(write_report(folder))
    for words in ("all 3 passed; no update", "✓ passed; no update was made", "0 applied updates"):
        assert words in page.text
    assert "shows no spread" in page.text


def test_failed_gates_are_told_with_the_updates_they_kept_back(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=3, sft_steps=2)
    without_updates(folder, contrast=0.5, failed=True)
    data = as_data(read_run(folder))
    assert data["stages"][2]["verdict"] == (
        "execution: 3 of 3 gates failed, at 3 steps; "
        "no update was made, though groups had both right and wrong responses"
    )


def test_a_receipt_alone_tells_of_no_update(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=3, sft_steps=2)
    for name in ("metrics", "health"):
        (folder / f"stages/03-rl/{name}.jsonl").unlink()
    change(folder / "stages/03-rl/receipt.json", updates=0)
    assert as_data(read_run(folder))["stages"][2]["verdict"] == "no update was made"


def test_a_limit_is_drawn_only_for_what_it_limits(make_run: MakeRun) -> None:
    stage = read_run(make_run(rl_steps=3, sft_steps=2)).stages[2]
    with canvas.drawing():
        panels = {panel.title: panel for panel in curves.stage_panels(stage)[0]}
    outside = panels["Tokens outside the ratio band"]
    assert [name for name, _, _ in outside.legend] == ["outside", "limit of its gate"]
    left_out = panels["Tokens the objective leaves out"]
    assert not left_out.legend
    assert "No gate limits this" in left_out.note


def test_another_protocol_is_never_subtracted(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    change(folder / "stages/04-after-rl/results.json", protocol_id="another")
    data = as_data(read_run(folder))
    assert data["claim"] == "none"
    assert "not comparable" in data["headline"]


def test_a_run_stopped_on_its_way_says_so(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=9, sft_steps=12)
    shutil.rmtree(folder / "stages/04-after-rl")
    (folder / "stages/03-rl/receipt.json").unlink()
    page = read_page(write_report(folder))
    assert "Incomplete: 2 of 4 stages done; rl is unfinished after 9 of 75 steps." in page.text
    assert "Held-out accuracy is 37.3% in after-sft" in page.text
    assert "compared with nothing" in page.text
    assert "not reached" in page.text


def test_a_failed_stage_says_why(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=9, sft_steps=12)
    shutil.rmtree(folder / "stages/04-after-rl")
    reason = "stage 'rl' ended after step 9: nothing to learn <from>"
    (folder / "stages/03-rl/receipt.json").write_text(
        json.dumps({"stage": "rl", "type": "rl", "status": "failed", "error": reason})
    )
    data = as_data(read_run(folder))
    assert data["state"] == (
        f"Incomplete: 2 of 4 stages done; rl failed after 9 of 75 steps: {reason}."
    )
    assert data["stages"][2]["verdict"] == reason
    assert reason in read_page(write_report(folder)).text


def test_health_that_is_measured_now_and_then_is_called_so(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=9, sft_steps=2)
    now_and_then = "Gates and importance weights are measured once in 5 batches"
    assert now_and_then not in read_page(write_report(folder)).text
    path = folder / "recipe.toml"
    path.write_text(path.read_text().replace("every = 1", "every = 5"))
    assert now_and_then in read_page(write_report(folder)).text


def test_a_run_of_one_supervised_stage_claims_nothing(make_run: MakeRun) -> None:
    folder = make_run(sft_steps=5)
    for stage in ("02-after-sft", "03-rl", "04-after-rl"):
        shutil.rmtree(folder / "stages" / stage)
    (folder / "recipe.toml").write_text('[stages.sft]\ntype = "sft"\nsteps = 5\n')
    page = read_page(write_report(folder))
    assert "no held-out evaluation, so it shows nothing about ability" in page.text
    assert {"accuracy", "families", "gates", "samples"}.isdisjoint(page.ids)


def test_a_folder_with_nothing_but_a_recipe_has_a_page(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=1, sft_steps=1)
    shutil.rmtree(folder / "stages")
    page = read_page(write_report(folder))
    assert "No evaluation was reached" in page.text


def test_stages_a_run_was_not_asked_for_are_left_out(make_run: MakeRun) -> None:
    folder = make_run(sft_steps=5, rl_steps=2)
    for stage in ("02-after-sft", "03-rl", "04-after-rl"):
        shutil.rmtree(folder / "stages" / stage)
    change(folder / "receipt.json", only=["sft"])
    data = as_data(read_run(folder))
    assert data["state"] == "complete"
    assert [stage["status"] for stage in data["stages"]] == ["finished", *["left out"] * 3]
    assert "no held-out evaluation" in data["headline"]


def test_hostile_text_stays_text(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    evil = (
        '</pre><script>alert(1)</script><img src=x onerror=alert(2)> $x_1$ \x00\u202e"\ud800 &amp;'
    )
    jsonl.write_jsonl(
        folder / "stages/03-rl/rollouts/000001.jsonl.zst",
        [
            {
                "problem_id": evil,
                "problem": {"problem": evil},
                "text": evil * 500,
                "finish_reason": evil,
            }
        ],
    )
    jsonl.append_jsonl(
        folder / "stages/03-rl/metrics.jsonl",
        [{"step": 3, f"arm/{evil}@1": 0.5, evil: 1.0, "</svg><script>": 2.0}],
    )
    jsonl.append_jsonl(
        folder / "stages/03-rl/health.jsonl",
        [{"step": 3, "gate": evil, "figure": evil, "limit": evil, "passed": "yes"}],
    )
    by_arm = {evil: {"score": 0.5}, "$\\frac{1}{$@2": {"score": 0.25}}
    change(folder / "stages/04-after-rl/results.json", by_arm=by_arm)
    change(folder / "receipt.json", evil=evil)
    page = read_page(write_report(folder))
    assert "<script>alert(1)</script>" in page.text
    assert "⟨U+202E⟩" in page.text
    assert "more characters" in page.text


def test_what_is_not_finite_is_shown_and_breaks_nothing(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    lines = [
        {"step": step, "loss": value, "optim/lr": "NaN"}
        for step, value in enumerate([1.0, "NaN", "Infinity", "-Infinity", 0.5], start=1)
    ]
    jsonl.write_jsonl(folder / "stages/01-sft/metrics.jsonl", lines)
    page = read_page(write_report(folder))
    assert "Not finite at 3 steps, first at step 2" in page.text
    assert "learning rate: no finite values" in page.text


@pytest.mark.parametrize("huge", [3e38, 1e300, 1.7e308])
def test_numbers_as_large_as_a_broken_run_makes_them(make_run: MakeRun, huge: float) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    lines = [{"step": step, "loss": value} for step, value in enumerate([1.0, huge, -huge], 1)]
    jsonl.write_jsonl(folder / "stages/01-sft/metrics.jsonl", lines)
    jsonl.write_jsonl(
        folder / "stages/03-rl/metrics.jsonl",
        [{"step": 1, "time/rollout_s": huge, "time/learner_s": huge, "accuracy/sampled": huge}],
    )
    assert "loss: 1 at step 1" in read_page(write_report(folder)).text


def test_damaged_files_are_named_and_stop_nothing(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=4, sft_steps=4)
    for name in ("stages/01-sft/metrics.jsonl", "stages/03-rl/rollouts/000001.jsonl.zst"):
        (folder / name).write_bytes(b"")
    metrics = folder / "stages/03-rl/metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes()[:-40])
    (folder / "stages/03-rl/rollouts/000004.jsonl.zst").write_bytes(b"(\xb5/\xfdnot zstandard")
    (folder / "stages/04-after-rl/results.json").write_text("[1]")
    (folder / "recipe.toml").write_text("not = = toml")
    page = read_page(write_report(folder))
    assert "stages/03-rl/metrics.jsonl: its end is cut short; 3 lines were read" in page.text
    assert "stages/04-after-rl/results.json does not hold a JSON object" in page.text
    assert "recipe.toml:" in page.text


def test_ten_thousand_steps_stay_small(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=2, sft_steps=10_000)
    path = write_report(folder)
    assert "mean of 42 steps" in read_page(path).text
    assert path.stat().st_size < 400_000


def test_a_step_done_again_after_a_resume_counts_once(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=3, sft_steps=3)
    jsonl.append_jsonl(folder / "stages/03-rl/metrics.jsonl", [{"step": 2, "entropy/mean": 9.0}])
    stage = read_run(folder).stages[2]
    assert stage.step_axis() == [1, 2, 3]
    assert stage.column("entropy/mean")[1] == 9


def test_no_run_no_page(tmp_path: Path) -> None:
    (tmp_path / "quickstart-1f3a").mkdir()
    (tmp_path / "quickstart-1f3a" / "recipe.toml").write_text("")
    with pytest.raises(LimiteError, match=r"did you mean .*quickstart-1f3a"):
        write_report(tmp_path / "quickstart-1f3b")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LimiteError, match="not the folder of a run"):
        write_report(tmp_path / "empty")
