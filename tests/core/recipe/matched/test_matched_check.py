"""What is not matched is found before anything is trained, and told by its setting."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
import tomli_w
from click.testing import CliRunner

from limite.core.cli.main import cli
from limite.core.config import unstructure
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.recipe.folders import without_none
from limite.core.recipe.load import load_recipe
from limite.core.recipe.matched.check import LoadedComparison, check_any

PAIR = Path(__file__).with_name("pair.py")


def checked(path: Path, *overrides: str) -> LoadedComparison:
    found = check_any(path, overrides, load_registry())
    assert isinstance(found, LoadedComparison)
    return found


def mistakes(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        check_any(path, overrides, load_registry())
    return [str(each) for each in raised.value.mistakes]


def altered(tmp_path: Path, more: str) -> Path:
    """The pair with lines added to its file."""
    place = tmp_path / "altered.py"
    place.write_text(PAIR.read_text() + dedent(more))
    return place


def test_a_matched_pair_is_a_run_of_each_variant_at_each_seed() -> None:
    found = checked(PAIR)
    assert list(found.members) == ["ordinary-1", "simplicial-1", "ordinary-2", "simplicial-2"]
    for member, loaded in found.members.values():
        assert (loaded.recipe.name, loaded.recipe.seed) == (member.variant, member.seed)
    one, other = found.plans.values()
    assert one.parameters < other.parameters
    assert [a.trained_tokens for a in one.stages] == [b.trained_tokens for b in other.stages]


def test_what_is_written_back_is_the_same_comparison(tmp_path: Path) -> None:
    found = checked(PAIR)
    place = tmp_path / "again.toml"
    place.write_text(tomli_w.dumps(without_none(found.data)))
    again = checked(place)
    assert again.matched == found.matched
    assert again.data == unstructure(found.matched, load_registry())


def test_a_setting_is_changed_in_every_variant_or_in_one() -> None:
    stages = [each.stages for each in checked(PAIR, "stages.rl.steps=3").matched.variants.values()]
    assert [each["rl"].steps for each in stages] == [3, 3]  # type: ignore[attr-defined]
    assert checked(PAIR, "seeds=[9]").matched.seeds == (9,)
    (told,) = mistakes(PAIR, "variants.simplicial.stages.rl.steps=3")
    assert told.startswith("--set variants.simplicial.stages.rl.steps=3: ")
    assert "variants.simplicial.stages.rl.steps: must equal that of 'ordinary': 2 there" in told


def test_everything_that_differs_is_named_at_once() -> None:
    differences = {
        "stages.sft.documents=41": "stages.sft.documents: must equal",  # data
        "stages.sft.problems.difficulty=[0.0, 0.5]": "stages.sft.problems.difficulty: must equal",
        "stages.sft.seed=3": "stages.sft.seed: must equal that of 'ordinary': nothing there, 3",
        "seed=3": "seed: must equal that of 'ordinary': 1 there, 3 here",
        "stages.rl.rollouts=3": "stages.rl.rollouts: must equal",  # budget
        "stages.rl.objective.type=grpo": "stages.rl.objective.type: must equal",
        "model.context=48": "model.context: must equal that of 'ordinary': 64 tokens there, 48",
        r'tokenizer.alphabet="zyxwvutsrqponmlkjihgfedcba #?.;,=()/*-+9876543210\n"': "tokenizer",
    }
    told = mistakes(PAIR, *(f"variants.simplicial.{override}" for override in differences))
    assert len(told) == len(differences) + 1  # GRPO brings an advantage of its own
    for said in differences.values():
        assert any(f"variants.simplicial.{said}" in each for each in told), (said, told)


def test_stages_that_differ_are_named_with_their_line(tmp_path: Path) -> None:
    more = """
        from attrs import evolve
        short = {name: ordinary.stages[name] for name in ("sft", "after")}
        renamed = {**short, "rl2": ordinary.stages["rl"]}
        other = {**ordinary.stages, "rl": ordinary.stages["sft"]}
        turned = {name: ordinary.stages[name] for name in ("rl", "sft", "after")}
        recipe = evolve(recipe, seeds=(), variants={
            "ordinary": ordinary,
            "short": evolve(simplicial, stages=short),
            "renamed": evolve(simplicial, stages=renamed),
            "other": evolve(simplicial, stages=other),
            "turned": evolve(simplicial, stages=turned),
        })
    """
    told = mistakes(altered(tmp_path, more))
    assert any("variants.short.stages: lacks the stage 'rl' of 'ordinary'" in t for t in told)
    assert any("rl2: 'ordinary' has no such stage; did you mean 'rl'?" in t for t in told)
    assert any("variants.other.stages.rl: is 'sft' here and 'rl' in" in t for t in told)
    assert any("variants.turned.stages: come in another order than" in t for t in told)
    assert all(each.startswith(f"{tmp_path / 'altered.py'}:") for each in told)


def test_what_varies_must_be_there_and_must_vary(tmp_path: Path) -> None:
    told = mistakes(PAIR, 'varies=["model", "stages.rl.object", "stages.rl.steps"]')
    assert any("unknown setting 'stages.rl.object'; did you mean 'stages.rl.ob" in t for t in told)
    assert any("varies[2]: no variant differs in 'stages.rl.steps'" in t for t in told)
    more = "recipe = evolve(recipe, variants={'a': ordinary, 'b': ordinary})"
    told = mistakes(altered(tmp_path, more))
    assert any("variants.b: is the same as 'a' in every setting" in each for each in told)
    told = mistakes(altered(tmp_path, "recipe = evolve(recipe, variants={'a': ordinary})"))
    assert any("needs at least two variants, got 1" in each for each in told)


def test_other_settings_than_the_model_can_be_compared() -> None:
    rates = "variants.simplicial.stages.rl.optimizer.lr=2e-3"
    allowed = 'varies=["model", "stages.rl.optimizer.lr"]'
    assert checked(PAIR, rates, allowed).matched.varies == ("model", "stages.rl.optimizer.lr")


def test_several_seeds_need_problems_that_do_not_change_with_them(tmp_path: Path) -> None:
    more = """
        from attrs import evolve
        stages = {**ordinary.stages, "after": evolve(ordinary.stages["after"], seed=None)}
        names = {"ordinary": ordinary, "simplicial": simplicial}
        both = {name: evolve(each, stages=stages) for name, each in names.items()}
        recipe = evolve(recipe, variants=both)
    """
    told = mistakes(altered(tmp_path, more))
    assert any("stages.after.seed: is needed with 2 training seeds" in each for each in told)
    assert checked(altered(tmp_path, more), "seeds=[]").matched.seeds == ()


@pytest.mark.parametrize("name", ["pass-rate", "uniform"])
def test_a_curriculum_that_follows_outcomes_is_refused(name: str) -> None:
    """Of one kind of problem there is nothing to choose; of several, what is solved decides."""
    several = "stages.rl.problems.sources={linear-equation = 1, gcd = 1, sum-chain = 1}"
    if name == "uniform":
        checked(PAIR, f"stages.rl.curriculum.type={name}", several, "stages.rl.problems.levels=2")
        return
    checked(PAIR, f"stages.rl.curriculum.type={name}")
    told = mistakes(PAIR, f"stages.rl.curriculum.type={name}", several)
    assert any(
        "curriculum: 'pass-rate' chooses problems by what the model solves" in t for t in told
    )


def test_a_schedule_that_keeps_what_has_contrast_is_refused() -> None:
    told = mistakes(PAIR, "stages.rl.rollout_schedule.type=dynamic")
    assert any(
        "rollout_schedule: 'dynamic' keeps groups by what the model solves" in t for t in told
    )


def test_mistakes_of_variants_and_of_the_comparison_are_told_at_once() -> None:
    told = mistakes(PAIR, "stages.rl.optimizer.lr=-1", "variants.simplicial.stages.sft.step=3")
    assert sum("optimizer.lr: must be > 0.0" in each for each in told) == 2
    assert any("stages.sft.step: unknown key" in each for each in told)
    told = mistakes(PAIR, "stages.rl.rollouts=1", "variants.simplicial.stages.sft.steps=31")
    assert any("stages.rl.rollouts: the advantage cannot use groups of 1" in t for t in told)
    assert any("stages.sft.steps: must equal" in each for each in told)


def test_where_one_recipe_is_wanted_a_comparison_is_refused() -> None:
    with pytest.raises(LimiteError, match="compares 2 recipes, and one is wanted here"):
        load_recipe(PAIR)


def test_check_shows_the_plan_of_every_variant() -> None:
    done = CliRunner().invoke(cli, ["check", str(PAIR)])
    assert done.exit_code == 0, done.output
    assert "pair.py, variant ordinary: sound" in done.output
    assert "4 runs: ordinary-1, simplicial-1, ordinary-2, simplicial-2" in done.output
    (page,) = json.loads(CliRunner().invoke(cli, ["check", str(PAIR), "--json"]).output)
    assert list(page["variants"]) == ["ordinary", "simplicial"]
    assert page["plan"] is None
