"""Why a stage may not have improved: each cause past its limit, the worst of several first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from limite.core.recipe.report.causes import causes, unimproved
from limite.core.recipe.report.read import Run, StageRun


def rl(**figures: float) -> StageRun:
    healthy = {
        "contrast/share": 0.7,
        "contrast/all_wrong_share": 0.2,
        "contrast/all_correct_share": 0.1,
        "ending/length_share": 0.01,
        "optim/updates": 9,
    }
    line = {
        "step": 1,
        **healthy,
        **{name.replace("__", "/"): each for name, each in figures.items()},
    }
    return StageRun(
        name="rl", number=2, kind="rl", settings={"type": "rl"}, begun=True, metrics=[line]
    )


def evaluation(name: str, change: tuple[float, float, float] | None, **more: Any) -> StageRun:
    results: dict[str, Any] = {
        "score": 0.5,
        "correct": 50,
        "total": 100,
        "problems": 50,
        "samples": 2,
        "confidence": 0.95,
        "interval": [0.4, 0.6],
        "protocol_id": "one",
        "endings": {"eos": 100, "length": 0, "repetition": 0},
        **more,
    }
    if change is not None:
        difference, low, high = change
        said = "improved" if low > 0 else "regressed" if high < 0 else "no observed difference"
        results["against"] = {
            "stage": "before",
            "difference": difference,
            "interval": [low, high],
            "wording": said,
        }
    return StageRun(
        name=name, number=3, kind="eval", settings={"start": "rl"}, begun=True, results=results
    )


def told(stage: StageRun, seen: StageRun) -> list[str]:
    stages = [evaluation("before", None), stage, seen]
    run = Run(
        name="run", path=Path(), recipe_text="", recipe={}, receipt={}, stages=stages, notes=()
    )
    return list(unimproved(run))


def test_what_improved_is_not_spoken_of() -> None:
    assert told(rl(contrast__share=0.1), evaluation("after", (0.1, 0.05, 0.15))) == []


def test_what_did_not_is_told_with_its_interval_and_no_made_up_cause() -> None:
    (line,) = told(rl(), evaluation("after", (0.01, -0.02, 0.04)))
    assert line.startswith("rl: no improvement is shown against before (+1.0 points [")
    assert line.endswith("none of the usual causes is seen in what was measured")
    (line,) = told(rl(), evaluation("after", (-0.1, -0.14, -0.06)))
    assert line.startswith("rl: less is solved against before")


@pytest.mark.parametrize(
    ("figures", "results", "wanted"),
    [
        (
            {"contrast__share": 0.1, "contrast__all_wrong_share": 0.9},
            {},
            "no contrast: 90.0% of groups taught nothing; make problems easier",
        ),
        (
            {"contrast__share": 0.2, "contrast__all_wrong_share": 0.1,
             "contrast__all_correct_share": 0.7},
            {},
            "no contrast: 80.0% of groups taught nothing; make problems harder",
        ),
        ({"ending__length_share": 0.3}, {}, "truncation: 30.0% of responses in training"),
        ({}, {"endings": {"eos": 60, "length": 40}}, "truncation: 40.0% of responses of the eval"),
        ({"ending__repetitive_share": 0.05}, {}, "repetition: 5.0% of responses"),
        ({"optim__updates": 0}, {}, "no update was made"),
    ],
    ids=["too-hard", "too-easy", "cut", "cut-in-evaluation", "repetition", "no-update"],
)  # fmt: skip
def test_a_cause_is_named_where_its_figure_is_past_its_limit(
    figures: Mapping[str, float], results: Mapping[str, Any], wanted: str
) -> None:
    (line,) = told(rl(**figures), evaluation("after", (0.0, -0.1, 0.1), **results))
    assert f"the likeliest cause: {wanted}" in line


def test_of_several_the_one_furthest_past_its_limit_is_told() -> None:
    stage = rl(contrast__share=0.3, ending__length_share=0.9)
    (line,) = told(stage, evaluation("after", (0.0, -0.1, 0.1)))
    assert "truncation" in line
    assert len(causes(stage, evaluation("after", None))) == 2


def test_documents_without_endings_and_a_mismatch_are_named() -> None:
    windows = {"training": {"ending_share": 0.1}}
    stage = StageRun(
        name="rl", number=2, kind="sft", settings={}, begun=True, receipt={"windows": windows}
    )
    (line,) = told(stage, evaluation("after", (0.0, -0.1, 0.1)))
    assert "missing endings: the end of 90.0% of documents is no target" in line
    gates = [
        {"step": step, "gate": "ratio/mean_weight", "passed": step > 2} for step in range(1, 5)
    ]
    stage = StageRun(name="rl", number=2, kind="rl", settings={}, begun=True, health=gates)
    (line,) = told(stage, evaluation("after", (0.0, -0.1, 0.1)))
    assert "mismatch: at 2 of 4 steps" in line
