"""Every mistake about a soup is told before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.pretrained.export import export_model
from limite.core.recipe.check import check_file
from limite.core.recipe.engine import start
from limite.core.recipe.export import run_source
from limite.core.recipe.trained import trained
from tests.core.recipe.test_soup_stage import GREEDY, RECIPE, quiet


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a model of the recipe's architecture, in bfloat16."""
    folder = tmp_path_factory.mktemp("exported")
    found = start(RECIPE, out=folder, overrides=["stages.sft.steps=4"], only=["sft"], echo=quiet)
    export_model(run_source(trained(found.path, "sft")), folder / "model", dtype="bfloat16")
    return folder / "model"


def faults(*sets: str) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        check_file(RECIPE, sets, load_registry())
    return [f"{each.path}: {each.message}" for each in refused.value.mistakes]


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (['stages.soup.of=["one"]'], ["stages.soup.of: must name at least 2 models, got 1"]),
        (
            ['stages.soup.of=["one", "twoo"]'],
            ["stages.soup.of[1]: unknown stage 'twoo'; did you mean 'two'?"],
        ),
        (
            ['stages.soup.of=["one", "elsewhere"]'],
            [
                "stages.soup.of[1]: unknown stage 'elsewhere'; the path of a model has a slash, "
                "like './elsewhere'"
            ],
        ),
        (
            ['stages.soup.of=["more", "after", "one"]'],
            [
                "stages.soup.of[0]: the stage 'more' does not come before this one; stages run in "
                "order",
                "stages.soup.of[1]: the stage 'after' does not come before this one; stages run "
                "in order",
            ],
        ),
        (
            ['stages.soup.of=["one", "one"]'],
            ["stages.soup.of[1]: 'one' is there twice; give a model more weight with 'weights'"],
        ),
        (
            ['stages.soup.of=["one", "sft@5", "sft@16", "sft@x", "two@1"]'],
            [
                "stages.soup.of[1]: the stage 'sft' leaves no checkpoint of step '5': it saves "
                "every 4 of its 12 steps",
                "stages.soup.of[2]: the stage 'sft' leaves no checkpoint of step '16': it saves "
                "every 4 of its 12 steps",
                "stages.soup.of[3]: the stage 'sft' leaves no checkpoint of step 'x': it saves "
                "every 4 of its 12 steps",
                "stages.soup.of[4]: the stage 'two' leaves no checkpoint of step '1': it saves at "
                "step 3 alone",
            ],
        ),
        (
            ["stages.soup.weights=[0.5, 0.5]"],
            ["stages.soup.weights: expected 3, one for each model, got 2"],
        ),
        (
            ["stages.soup.weights=[0.5, 0.3, 0.3]"],
            [
                "stages.soup.weights: expected numbers that sum to 1, these sum to 1.1; in the "
                "same proportions that is 0.454545,0.272727,0.272727"
            ],
        ),
        (
            ["stages.soup.weights=[1.5, -0.5, 0.0]"],
            [
                "stages.soup.weights: expected numbers of at least 0, got -0.5 (number 2); an "
                "average lies among its models"
            ],
        ),
        (
            ['stages.soup.start="sft"', *GREEDY[:1], "stages.soup.weights=[0.5, 0.5, 0.0]"],
            [
                "stages.soup.start: has no use: a soup begins with the models that 'of' names",
                "stages.soup.weights: a greedy soup finds its own; leave out one of the two",
            ],
        ),
        (
            ["stages.soup.greedy={ count = 3 }"],
            [
                "stages.soup.greedy.problems: problems are drawn ('problems') or come from a file "
                "('benchmark'); neither is given"
            ],
        ),
        (
            ["stages.soup.greedy={ problems = { sources = { linear-equaton = 1 } } }"],
            [
                "stages.soup.greedy.problems.sources.linear-equaton: unknown generator "
                "'linear-equaton'; did you mean 'linear-equation'?"
            ],
        ),
        (
            [GREEDY[0].replace("max_tokens = 6", "max_tokens = 40")],
            [
                "stages.soup.greedy.max_tokens: a prompt of 15 tokens and max_tokens = 40 do not "
                "fit the context of 32 tokens"
            ],
        ),
        (
            [GREEDY[0].replace("count = 5", "count = 5000")],
            ["stages.soup.greedy.problems: linear-equation at difficulty 0 to 0: only"],
        ),
    ],
)
def test_mistakes_are_told_before_anything_runs(sets: list[str], told: list[str]) -> None:
    found = faults(*sets)
    assert len(found) == len(told), found
    for line, expected in zip(sorted(found), sorted(told), strict=True):
        assert line.startswith(expected), line


def test_models_that_differ_are_told_before_anything_runs(exported: Path, tmp_path: Path) -> None:
    assert check_file(RECIPE, [f'stages.soup.of=["one", "{exported}"]'], load_registry())
    wide = faults(f'stages.soup.of=["one", "{exported}"]', "model.mlp_width=32")
    both = f"the recipe and {exported}"
    assert wide[0].startswith("stages.soup.of[1]: config.json: ")
    assert "the recipe has 32" in wide[0]
    assert wide[1].startswith(f"stages.soup.of[1]: tensors: {both} differ in 6: ")
    assert len(wide) == 2
    alphabet = "tokenizer.alphabet=0123456789+-=?#\n x"
    other = faults(f'stages.soup.of=["{exported}", "one"]', alphabet)
    assert any("stages.soup.of[0]: " in line for line in other)
    (tmp_path / "empty").mkdir()
    missing = faults(f'stages.soup.of=["{tmp_path}/no", "{tmp_path}/empty", "one"]')
    assert missing == [
        f"stages.soup.of[0]: {tmp_path}/no: there is no such folder",
        f"stages.soup.of[1]: {tmp_path}/empty: is no model's directory, no run and no checkpoint "
        "of one",
    ]
