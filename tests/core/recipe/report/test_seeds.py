"""Stages of several seeds as one line with a band, and side by side where terms are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from limite.core import jsonl
from limite.core.recipe.report import page, parts, read_run, seeds, summary
from limite.core.recipe.report.remarks import MOST, first_remarks, remarks

ACCURACY = {  # of each batch, by objective and seed
    ("grpo", 1): (0.4, 0.5, 0.6),
    ("grpo", 2): (0.3, 0.5, 0.9),
    ("dppo", 1): (0.4, 0.2, 0.1),
    ("dppo", 2): (0.2, 0.4, 0.2),
}


def a_run(folder: Path, rates: Sequence[float], kinds: Sequence[str] = ("grpo", "dppo")) -> Path:
    """Two seeds of each objective at each rate, evaluated after it."""
    recipe = 'name = "several"\nseed = 1\n\n[stages.sft]\ntype = "sft"\n'
    number = 1
    for place, rate in enumerate(rates):
        for kind, seed in ACCURACY:
            if kind not in kinds:
                continue
            name = f"{kind}-r{place}-{seed}"
            recipe += (
                f'\n[stages.{name}]\ntype = "rl"\nstart = "sft"\nseed = {seed}\n'
                f'objective = {{ type = "{kind}" }}\noptimizer = {{ lr = {rate} }}\n'
                f'\n[stages.after-{name}]\ntype = "eval"\nstart = "{name}"\n'
            )
            trained = folder / "stages" / f"{number + 1:02d}-{name}"
            trained.mkdir(parents=True)
            jsonl.write_jsonl(
                trained / "metrics.jsonl",
                [
                    {"step": step, "accuracy/sampled": value}
                    for step, value in enumerate(ACCURACY[kind, seed], start=1)
                ],
            )
            (trained / "receipt.json").write_text('{"type": "rl", "status": "finished"}')
            difference = {1: 0.1, 2: -0.04}[seed]
            against = {
                "stage": "before",
                "difference": difference,
                "interval": [difference - 0.05, difference + 0.05],
                "wording": "improved" if seed == 1 else "no observed difference",
            }
            measured = folder / "stages" / f"{number + 2:02d}-after-{name}"
            measured.mkdir(parents=True)
            results = {"score": 0.5, "interval": [0.4, 0.6], "against": against}
            (measured / "results.json").write_text(json.dumps(results))
            number += 2
    (folder / "recipe.toml").write_text(recipe)
    return folder


def corners_of(folder: Path) -> list[seeds.Corner]:
    run = read_run(folder)
    return seeds.corners(run, summary.evaluations(run))


def test_seeds_are_one_band_and_objectives_stand_side_by_side(tmp_path: Path) -> None:
    (corner,) = corners_of(a_run(tmp_path, [1e-3]))
    assert corner.title == ""
    grpo, dppo = corner.bands
    assert (grpo.name, dppo.name) == ("grpo", "dppo")
    assert grpo.mean == pytest.approx([0.35, 0.5, 0.75])
    assert grpo.low == [0.3, 0.5, 0.6]
    assert grpo.high == [0.4, 0.5, 0.9]
    assert dppo.mean == pytest.approx([0.3, 0.3, 0.15])
    assert grpo.changes == [0.1, -0.04]


def test_other_terms_stand_apart_under_what_differs(tmp_path: Path) -> None:
    corners = corners_of(a_run(tmp_path, [1e-3, 5e-4]))
    assert [corner.title for corner in corners] == ["lr 0.001", "lr 0.0005"]
    assert [[band.name for band in corner.bands] for corner in corners] == [["grpo", "dppo"]] * 2


def test_one_objective_keeps_what_its_seeds_are_called(tmp_path: Path) -> None:
    (corner,) = corners_of(a_run(tmp_path, [1e-3], kinds=["grpo"]))
    assert [band.name for band in corner.bands] == ["grpo-r0"]


def test_a_band_ends_where_the_first_of_its_seeds_does(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [1e-3], kinds=["grpo"])
    metrics = next(folder.glob("stages/*-grpo-r0-1/metrics.jsonl"))
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:2]))
    (corner,) = corners_of(folder)
    (band,) = corner.bands
    assert band.steps == [1, 2]
    assert band.mean == pytest.approx([0.35, 0.5])
    assert band.low == [0.3, 0.5]


def test_stages_that_follow_each_other_are_no_seeds(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [1e-3], kinds=["grpo"])
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('start = "sft"\n', ""))
    run = read_run(folder)
    assert seeds.together(run) == set()  # the second begins with the weights of the first
    assert seeds.section(run, summary.evaluations(run)) == ""


def test_an_evaluation_that_names_no_start_is_of_the_stage_before(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [1e-3], kinds=["grpo"])
    recipe = folder / "recipe.toml"
    recipe.write_text(re.sub(r'start = "grpo-r0-\d"\n', "", recipe.read_text()))
    (corner,) = corners_of(folder)
    assert corner.bands[0].changes == [0.1, -0.04]


def test_seeds_that_were_not_measured_have_no_counts(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [1e-3], kinds=["grpo"])
    for results in folder.glob("stages/*/results.json"):
        results.unlink()
    text = page.render(read_run(folder))
    row = text[text.index("<tbody>", text.index("<h2>Seeds together</h2>")) :]
    cells = re.findall(r">([^<>]+)</t[hd]>", row[: row.index("</tr>")])
    assert cells == ["grpo-r0", "2", "35.0%", "75.0%", "–", "–", "–", "–"]


def test_the_page_has_the_table_and_a_chart_of_each(tmp_path: Path) -> None:
    html = page.render(read_run(a_run(tmp_path, [1e-3])))
    text = html[html.index("<h2>Seeds together</h2>") :]
    assert len(re.findall(r'aria-labelledby="seeds0b\d-title', text)) == 2
    row = text[text.index("<tbody>") : text.index("</tr>", text.index("<tbody>"))]
    cells = re.findall(r">([^<>]+)</t[hd]>", row)
    assert cells == ["grpo", "2", "35.0%", "75.0%", "+3.0", "−4.0 to +10.0", "1", "0"]
    assert "Held out +3.0 points, by seed −4.0 to +10.0." in text
    assert "<h2>Curves of grpo-r0-1" in html


def test_many_stages_have_no_curves_of_their_own(tmp_path: Path) -> None:
    run = read_run(a_run(tmp_path, [1e-3, 2e-3, 3e-3, 4e-3]))
    assert len(seeds.together(run)) == 16
    html = page.render(run)
    assert "<h2>Curves of" not in html
    assert "the files of each stage have them" in html
    assert [stage.name for stage in seeds.uncrowded(run).stages] == ["sft"]
    assert html.count('aria-labelledby="seeds') == 8


def test_stages_that_differ_in_more_than_a_seed_are_no_band(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [1e-3], kinds=["grpo"])
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("lr = 0.001", "lr = 0.002", 1))
    run = read_run(folder)
    assert seeds.together(run) == set()
    assert seeds.section(run, summary.evaluations(run)) == ""


def test_a_table_of_many_rows_scrolls() -> None:
    row = ["<td>1</td>"]
    assert "box scroll tall" in parts.table("many", ["a"], [row] * (parts.MOST_ROWS + 1))
    assert "box scroll tall" not in parts.table("few", ["a"], [row] * parts.MOST_ROWS)


def test_of_many_remarks_the_first_stand_for_the_others(tmp_path: Path) -> None:
    folder = a_run(tmp_path, [1e-3, 2e-3, 3e-3, 4e-3])
    for results in folder.glob("stages/*/results.json"):
        said = json.loads(results.read_text())
        said["against"]["wording"] = "no observed difference"
        results.write_text(json.dumps(said))
    told = first_remarks(read_run(folder))
    assert len(told) == MOST + 1
    assert told[0].startswith("grpo-r0-1: no improvement")
    assert len(remarks(read_run(folder))) == 16
    assert told[-1] == "and 4 remarks like these on later stages"
