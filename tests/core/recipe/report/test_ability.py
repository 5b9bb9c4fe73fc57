"""What the page says beside intervals: p-values, several comparisons together, majorities."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limite.core.recipe.report import ability, charts, page, read_run, summary

MakeRun = Callable[..., Path]


def page_of(folder: Path) -> str:
    run = read_run(folder)
    return ability.accuracy(run, summary.evaluations(run))


def change(folder: Path, stage: str, **fields: Any) -> None:
    place = folder / "stages" / stage / "results.json"
    results = json.loads(place.read_text())
    against = {"stage": "x", "interval": [0.1, 0.3], "wording": "improved", "difference": 0.2}
    against |= results.get("against", {})
    results["against"] = against | fields
    results["majority"] = {"score": 0.625}
    place.write_text(json.dumps(results))


def test_an_older_run_has_neither_p_values_nor_majorities(make_run: MakeRun) -> None:
    page = page_of(make_run(rl_steps=2, sft_steps=2))
    assert ">p<" not in page
    assert "Holm" not in page
    assert "Majority" not in page


def test_several_comparisons_have_adjusted_p_values(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    seen = "with 30 problems x 4 you can see differences of about <9> points"
    change(folder, "04-after-rl", p_value=0.0213, power={"text": seen})
    page = page_of(folder)
    assert "0.0213" in page
    assert "Holm" not in page
    assert "62.5%" in page
    assert "points: four of five such measurements would find a true difference of that" in page
    assert ">Verdict<" in page
    change(folder, "04-after-rl", p_value=0.0)
    assert ">&lt; 0.001<" in page_of(folder)
    change(folder, "04-after-rl", p_value=0.0213)
    change(folder, "02-after-sft", p_value=0.041)
    page = page_of(folder)
    assert "Holm" in page
    assert "0.0426" in page  # twice the smaller one, and the larger one is not below it
    assert "the p-values after Holm are." in page


def test_the_verdict_on_a_stage_stands_beside_its_name(make_run: MakeRun) -> None:
    whole = page.render(read_run(make_run(rl_steps=2, sft_steps=2)))
    stages = whole[whole.index("Stages of the run, in order") :]
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', stages)
    assert heads[:3] == ["#", "Stage", "Verdict"]


def test_an_axis_that_does_not_begin_at_zero_says_so(make_run: MakeRun) -> None:
    low, _ = charts.span([0.5, 0.4, 0.6])
    said = f" The axis begins at {100 * low:.1f}%, not at 0."
    assert ability.cut_axis([(0.5, (0.4, 0.6))]) == said
    assert ability.cut_axis([(0.1, (0.0, 0.6))]) == ""
    assert "The axis begins at " in page_of(make_run(rl_steps=2, sft_steps=2))


def test_a_damaged_p_value_is_left_out(make_run: MakeRun) -> None:
    folder = make_run(rl_steps=2, sft_steps=2)
    for wrong in (7.0, "small", None):
        change(folder, "04-after-rl", p_value=wrong, power="much")
        assert ">p<" not in page_of(folder)
