"""No mistake in a recipe hides another one in the same stage, so that one check tells all."""

from __future__ import annotations

from pathlib import Path

import pytest

from limite.core.discover import load_registry
from limite.core.errors import SettingsError
from limite.core.recipe.check import check_file

MODEL = """\
name = "a"
[model]
width = 16
layers = 2
head_width = 8
mlp_width = 24
context = 96
"""
SFT = """\
[stages.sft]
type = "sft"
problems = { sources = { sum-chain = 1 }, difficulty = [0.0, 0.3] }
documents = 50
steps = 40
batch = 4
"""
RL = """\
[stages.rl]
type = "rl"
problems = { sources = { sum-chain = 1 }, difficulty = [0.0, 0.3] }
steps = 3
groups = 4
max_tokens = 16
"""
EVAL = """\
[stages.after]
type = "eval"
problems = { sources = { sum-chain = 1 }, difficulty = [0.0, 0.3] }
count = 20
max_tokens = 16
"""
SOUP = """\
[stages.soup]
type = "soup"
of = ["sft@7", "sft@40", "./nowhere"]
"""


def told(folder: Path, text: str, *sets: str) -> list[str]:
    path = folder / "a.toml"
    path.write_text(MODEL + text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        check_file(path, sets, load_registry())
    return [f"{each.path}: {each.message}" for each in caught.value.mistakes]


def paths(lines: list[str]) -> list[str]:
    return sorted(line.partition(": ")[0] for line in lines)


MIX = "{ sources = { sum-chan = 1, gcd = -1, sum-chain = 1 }, difficulty = [0.5, 0.3], level = 3 }"
IN_MIX = ["difficulty", "level", "sources", "sources.sum-chan"]


@pytest.mark.parametrize(("text", "stage"), [(SFT, "sft"), (RL, "rl"), (EVAL, "after")])
def test_a_mixture_with_mistakes_hides_no_unknown_generator(
    text: str, stage: str, tmp_path: Path
) -> None:
    lines = told(tmp_path, text, f"stages.{stage}.problems={MIX}")
    assert paths(lines) == [f"stages.{stage}.problems.{each}" for each in IN_MIX]
    assert any("unknown generator 'sum-chan'; did you mean 'sum-chain'?" in each for each in lines)


def test_all_wrong_weights_are_told_at_once(tmp_path: Path) -> None:
    (line,) = told(tmp_path, SFT, "stages.sft.problems.sources={gcd=-1, sum-chain=2e9, product=1}")
    assert "the weight of 'gcd' must" in line
    assert "the weight of 'sum-chain' must" in line


@pytest.mark.parametrize(
    "wrong",
    [
        "stages.sft.problems.difficulty=[0.5, 0.3]",
        "stages.sft.problems.sources.gcd=-1",
        "stages.sft.documents=0",
        "stages.sft.steps=0",
    ],
)
def test_no_mistake_hides_a_style_that_there_is_not(wrong: str, tmp_path: Path) -> None:
    lines = told(tmp_path, SFT, wrong, "stages.sft.styles={ dirct = 1 }")
    assert len(lines) == 2
    assert any(
        each.startswith("stages.sft.styles.dirct: no solutions in this style from ")
        and each.endswith("; did you mean 'direct'?")
        for each in lines
    )


def test_a_wrong_weight_hides_no_style(tmp_path: Path) -> None:
    lines = told(tmp_path, SFT, "stages.sft.styles={ direct = -1, corse = 1 }")
    assert paths(lines) == ["stages.sft.styles", "stages.sft.styles.corse"]


def test_what_a_mixture_in_part_holds_is_not_judged_by_the_rest(tmp_path: Path) -> None:
    # Of one number alone there are too few problems, and the other generator could not be read.
    sets = [
        "stages.sft.documents=9999",
        "stages.sft.problems.sources={sum-chain=1, gcd=-1}",
        "stages.sft.problems.difficulty=[0.0, 0.0]",
    ]
    assert paths(told(tmp_path, SFT, *sets)) == ["stages.sft.problems.sources"]


def test_an_advantage_that_cannot_be_read_hides_no_wrong_start_of_a_critic(tmp_path: Path) -> None:
    lines = told(tmp_path, SFT + RL, "stages.rl.advantage=gea", 'stages.rl.critic={ start = "st" }')
    assert paths(lines) == ["stages.rl.advantage", "stages.rl.critic.start"]


@pytest.mark.parametrize(
    "wrong",
    ["temperature=0", "problems.difficulty=[0.5, 0.3]", "problems.sources={ sum-chan = 1 }"],
)
@pytest.mark.parametrize(("text", "stage"), [(RL, "rl"), (EVAL, "after")])
def test_no_mistake_hides_that_responses_are_longer_than_the_context(
    text: str, stage: str, wrong: str, tmp_path: Path
) -> None:
    lines = told(tmp_path, text, f"stages.{stage}.{wrong}", f"stages.{stage}.max_tokens=999")
    assert len(lines) == 2
    assert any(each.startswith(f"stages.{stage}.max_tokens: ") for each in lines)


def test_an_unknown_profile_hides_no_unknown_generator(tmp_path: Path) -> None:
    sets = ["stages.after.profile=chat", "stages.after.problems.sources={sum-chan=1}"]
    lines = told(tmp_path, EVAL, *sets)
    assert paths(lines) == ["stages.after.problems.sources.sum-chan", "stages.after.profile"]


def test_a_start_that_cannot_be_read_hides_no_other_stage_that_is_named(tmp_path: Path) -> None:
    lines = told(tmp_path, SFT + EVAL, "stages.after.start=3", "stages.after.against=before")
    assert paths(lines) == ["stages.after.against", "stages.after.start"]


def test_models_of_a_soup_hide_none_of_the_others(tmp_path: Path) -> None:
    lines = told(tmp_path, SFT + SOUP, "stages.soup.weights=7")
    assert paths(lines) == ["stages.soup.of[0]", "stages.soup.of[2]", "stages.soup.weights"]
    assert lines[0] == (
        "stages.soup.of[0]: the stage 'sft' leaves no checkpoint of step '7': it saves at step 40 "
        "alone"
    )


def test_of_a_stage_in_part_no_checkpoint_is_said_to_be_missing(tmp_path: Path) -> None:
    lines = told(tmp_path, SFT + SOUP, "stages.sft.steps=0")
    assert paths(lines) == ["stages.sft.steps", "stages.soup.of[2]"]


def test_a_stage_whose_type_is_misspelt_is_still_one_that_others_name(tmp_path: Path) -> None:
    broken = "stages.sft.type=stf"
    assert paths(told(tmp_path, SFT + RL, broken, "stages.rl.start=sft")) == ["stages.sft.type"]
    lines = told(tmp_path, SFT + RL, broken, "stages.rl.start=stf")
    assert "stages.rl.start: unknown stage 'stf'; did you mean 'sft'?" in lines


def test_without_a_near_one_the_stages_that_would_do_are_listed(tmp_path: Path) -> None:
    second = EVAL.replace("after", "later")
    (line,) = told(tmp_path, SFT + EVAL + second, "stages.later.against=elsewhere")
    assert line == "stages.later.against: unknown stage 'elsewhere'; one of 'after'"
    (line,) = told(tmp_path, SFT + EVAL, "stages.after.against=befor")
    assert line == (
        "stages.after.against: unknown stage 'befor'; no stage before this one would do"
    )


def test_a_misspelt_reference_is_one_mistake(tmp_path: Path) -> None:
    (line,) = told(tmp_path, SFT + RL, "stages.rl.reference=sftt")
    assert line == "stages.rl.reference: unknown stage 'sftt'; did you mean 'sft'?"


def test_no_stage_has_a_name_that_means_something_else(tmp_path: Path) -> None:
    (line,) = told(tmp_path, SFT.replace("stages.sft", "stages.start"))
    assert line.startswith("stages.start: a stage is not to be called that: as a 'reference' ")
    lines = told(tmp_path, SFT.replace("stages.sft", "stages.start"), "stages.start.steps=0")
    assert paths(lines) == ["stages.start", "stages.start.steps"]


def test_a_file_without_problems_is_told_at_the_setting_that_names_it(tmp_path: Path) -> None:
    empty, lined = tmp_path / "empty.jsonl", tmp_path / "lined.jsonl"
    empty.touch()
    lined.write_text("no\n", encoding="utf-8")
    text = SFT.replace("{ sum-chain = 1 }", f'{{ "{empty}" = 1, "{lined}" = 1 }}')
    (tmp_path / "a.toml").write_text(MODEL + text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        check_file(tmp_path / "a.toml", (), load_registry())
    of_recipe, of_line = map(str, caught.value.mistakes)
    assert of_recipe == (
        f'{tmp_path}/a.toml:10: stages.sft.problems.sources."{empty}": '
        "expected problems, one JSON object a line, got none"
    )
    assert of_line.startswith(f"{lined}:1: not JSON: ")
