"""Runs over several training seeds: variances by hand, coverage by simulation, and the command."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from limite.core.cli.main import main
from limite.core.errors import LimiteError
from limite.evaluate.intervals import accuracy_interval, difference_interval
from limite.evaluate.significance import sign_flip
from limite.evaluate.training_seeds import (
    RECIPE,
    WEIGHTS,
    difference,
    of_recipe,
    sampling_deviation,
    satterthwaite,
    spread,
)


def test_the_two_variances_by_hand():
    found = spread([[4, 0, 2], [4, 2, 3]], 4)
    assert found.estimate == pytest.approx(15 / 24)
    assert found.runs == pytest.approx((0.5, 0.75))
    assert found.of_seeds == pytest.approx(0.125**2 * 2 / 2)
    means = [1.0, 0.25, 0.625]
    assert found.of_problems == pytest.approx(sum((m - 0.625) ** 2 for m in means) / 2 / 3)
    told = of_recipe([[4, 0, 2], [4, 2, 3]], 4, 0.95)
    assert told["between_seed_deviation"] == pytest.approx(0.125 * sqrt(2))
    assert (told["about"], told["training_seeds"]) == (RECIPE, 2)


def test_degrees_of_freedom_lie_between_the_least_and_the_sum():
    assert satterthwaite([(1.0, 5), (0.0, 3)]) == pytest.approx(5)
    assert satterthwaite([(1.0, 5), (1.0, 5)]) == pytest.approx(10)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=40))
def test_a_single_run_is_the_evaluation_it_is(counts):
    told = of_recipe([counts], 4, 0.95)
    found = accuracy_interval(counts, 4)
    assert told["over_problems"] == [found.low, found.high]
    assert told["over_both"] is None
    assert told["between_seed_deviation"] is None
    assert told["about"] == WEIGHTS


table = st.integers(2, 20).flatmap(
    lambda problems: st.lists(
        st.lists(st.integers(0, 4), min_size=problems, max_size=problems), min_size=2, max_size=4
    )
)


@given(table, st.data())
def test_pairs_mirror_and_both_is_never_inside_problems(values, data):
    size = len(values[0])
    other = data.draw(
        st.lists(st.lists(st.integers(0, 4), min_size=size, max_size=size), min_size=1, max_size=3)
    )
    there, back = difference(values, other, 4, 0.95), difference(other, values, 4, 0.95)
    assert there["estimate"] == pytest.approx(-back["estimate"])
    assert there["p_value"] == pytest.approx(back["p_value"])
    assert there["about"] == (RECIPE if there["over_both"] else WEIGHTS)
    if there["over_both"]:
        assert there["over_both"][0] <= there["over_problems"][0]
        assert there["over_both"][1] >= there["over_problems"][1]
    if len(other) == 1:
        assert there["about"] == WEIGHTS


@given(table)
def test_single_runs_are_compared_as_evaluations_are(values):
    told = difference(values[:1], values[1:2], 4, 0.95)
    changes = [new - old for old, new in zip(values[0], values[1], strict=True)]
    found = difference_interval(changes, 4)
    assert told["over_problems"] == [found.low, found.high]
    assert told["p_value"] == sign_flip(changes)


def test_sampling_alone_is_told_from_training():
    draw = np.random.default_rng(1)
    chances = draw.beta(1, 1, 400)
    runs = draw.binomial(4, chances, (200, 400))  # one set of weights, measured 200 times
    found = spread(runs.tolist(), 4)
    assert found.of_seeds is not None
    assert sqrt(found.of_seeds * 200) == pytest.approx(
        sampling_deviation(runs.tolist(), 4), rel=0.2
    )
    assert sampling_deviation([[0, 1]], 1) is None


def test_training_seeds_are_covered_only_by_the_interval_over_both():
    """300 recipes of three seeds whose runs differ by 5 points, on 100 problems."""
    draw = np.random.default_rng(4)
    covered = {"over_problems": 0, "over_both": 0}
    for _ in range(300):
        chances = draw.beta(2, 2, 100)
        shift = 0.05 * draw.standard_normal((3, 1))
        runs = draw.binomial(4, np.clip(chances + shift, 0, 1))
        told = of_recipe(runs.tolist(), 4, 0.95)
        for name in covered:
            covered[name] += told[name][0] <= 0.5 <= told[name][1]
    assert covered["over_both"] / 300 >= 0.93
    assert covered["over_problems"] / 300 <= 0.9


def test_tables_that_do_not_fit_are_refused():
    for call in (
        lambda: spread([], 4),
        lambda: spread([[1, 2], [1]], 4),
        lambda: difference([[1, 2]], [[1]], 4, 0.95),
    ):
        with pytest.raises(LimiteError):
            call()


@pytest.fixture
def make(tmp_path):
    """Writes the folder of a run that was measured: ``make("a", seed=1, counts=[...])``."""

    def made(
        folder, *, seed, counts, before=None, recipe="plain", steps=5, protocol="p", **results
    ):
        path = tmp_path / folder
        names = ["before", "after"] if before else ["after"]
        stages = {name: {"type": "eval", "seed": 1} for name in names}
        plain = {
            "name": recipe,
            "seed": seed,
            "stages": {"rl": {"type": "rl", "steps": steps}, **stages},
        }
        path.mkdir()
        (path / "recipe.toml").write_text(tomli_w.dumps(plain))
        (path / "receipt.json").write_text(json.dumps({"parameters": 10}))
        for name, found in zip(names, [before, counts] if before else [counts], strict=True):
            number = list(plain["stages"]).index(name) + 1
            stage = path / "stages" / f"{number:02d}-{name}"
            stage.mkdir(parents=True)
            value = {
                "complete": True,
                "samples": 4,
                "protocol_id": protocol,
                "protocol": {"seed": protocol},
                "per_problem": [{"id": str(n), "correct": c} for n, c in enumerate(found)],
                **({"against": {"stage": "before"}} if before and name == "after" else {}),
                **results,
            }
            (stage / "results.json").write_text(json.dumps(value))
        return path

    return made


def call(capsys, *arguments):
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["compare", *map(str, arguments)])
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


LOW, HIGH = [0, 1, 1, 2, 0, 1, 2, 0] * 4, [2, 3, 3, 4, 2, 3, 4, 3] * 4


def test_seeds_of_one_recipe_are_one_recipe(make, capsys):
    runs = [
        make("a", seed=1, counts=HIGH, before=LOW),
        make("b", seed=2, counts=HIGH[::-1], before=LOW),
        make("c", seed=3, counts=[*HIGH[:-1], 0], before=LOW),
    ]
    code, out, _ = call(capsys, *runs)
    assert code == 0
    assert "plain, stage after: " in out
    assert "3 training seeds" in out
    assert "between seeds: standard deviation " in out
    assert "of 3 seeds; sampling responses alone makes " in out
    assert f"improved; about {RECIPE}" in out
    code, out, _ = call(capsys, runs[0])
    assert "single run" in out
    assert f"about {WEIGHTS}" in out
    assert "not variation between training runs" in out


def test_recipes_are_compared_in_pairs_with_holm(make, capsys):
    runs = [
        make(f"{name}{seed}", seed=seed, counts=counts, recipe=name, steps=steps)
        for name, counts, steps in (("x", LOW, 1), ("y", HIGH, 2), ("z", LOW[::-1], 3))
        for seed in (1, 2)
    ]
    code, out, _ = call(capsys, *runs, "--json")
    found = json.loads(out)
    assert code == 0
    assert [len(each["seeds"]) for each in found["recipes"]] == [2, 2, 2]
    assert [each["wording"] for each in found["comparisons"]] == [
        "improved", "no observed difference", "regressed",
    ]  # fmt: skip
    assert all(each["holm_p_value"] >= each["p_value"] for each in found["comparisons"])
    assert found["comparisons"][0]["differs_in"] == ["stages.rl.steps (1 -> 2)"]
    code, out, _ = call(capsys, *runs)
    assert "after Holm for 3 comparisons" in out
    assert call(capsys, *runs)[1] == out


def test_one_run_each_is_about_the_weights(make, capsys):
    runs = [make("a", seed=1, counts=LOW), make("b", seed=1, counts=HIGH, steps=6)]
    code, out, _ = call(capsys, *runs)
    assert code == 0
    assert "plain (b) against plain (a): " in out
    assert "single run: how far training seeds differ is not known" in out


def test_other_protocols_are_refused_or_said_first(make, capsys):
    runs = [make("a", seed=1, counts=LOW), make("b", seed=2, counts=HIGH, protocol="q")]
    code, _, err = call(capsys, *runs)
    assert code == 2
    assert "different protocols" in err
    assert "give stages.after.seed" in err
    assert err.count('"') % 2 == 0
    code, out, _ = call(capsys, *runs, "--allow-protocol-mismatch")
    assert code == 0
    assert out.startswith("PROTOCOL MISMATCH: ")


def test_what_cannot_be_compared_is_named(make, capsys):
    a = make("a", seed=1, counts=LOW)
    for other, said in (
        (make("b", seed=1, counts=HIGH), "one recipe with one seed (1)"),
        (make("c", seed=2, counts=HIGH[:-1]), "measured on other problems"),
        (make("d", seed=3, counts=HIGH, complete=False), "not of a complete set"),
        ("nowhere", "no such run"),
    ):
        code, _, err = call(capsys, a, other)
        assert code == 2
        assert said in err
    code, _, err = call(capsys, a, "--stage", "aftr")
    assert code == 2
    assert "did you mean 'after'?" in err
