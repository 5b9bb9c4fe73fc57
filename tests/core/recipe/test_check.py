"""What is found before anything runs: columns, shapes, stages that do not fit, and the cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
import torch

from limite.core.config import structure
from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError
from limite.core.hookspecs import Registration
from limite.core.recipe import problem_checks
from limite.core.recipe.check import check_file, check_recipe
from limite.core.recipe.load import load_recipe
from limite.core.recipe.look import look_over
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import Recipe, stage_seeds
from limite.core.recipe.stages import RL, Eval
from limite.core.registry import Registry
from limite.core.seeds import Seeds

BASE = """\
name = "a"
[model]
width = 16
layers = 2
head_width = 8
mlp_width = 24
context = 96
[stages.sft]
type = "sft"
problems = { sources = { sum-chain = 1 }, difficulty = [0.0, 0.3] }
styles = { direct = 1, coarse = 1 }
documents = 100
steps = 10
batch = 4
[stages.before]
type = "eval"
problems = { sources = { sum-chain = 1 }, difficulty = [0.0, 0.3] }
count = 20
max_tokens = 16
[stages.rl]
type = "rl"
problems = { sources = { sum-chain = 1, gcd = 1 }, difficulty = [0.0, 0.3], levels = 2 }
steps = 3
groups = 4
max_tokens = 16
[stages.after]
type = "eval"
problems = { sources = { sum-chain = 1 }, difficulty = [0.0, 0.3] }
count = 20
max_tokens = 16
against = "before"
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipes") / "a.toml"
    path.write_text(BASE, encoding="utf-8")
    return path


def told(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        check_file(path, overrides, load_registry())
    return [f"{mistake.path}: {mistake.message}" for mistake in caught.value.mistakes]


def mixing(rows: int, tokens: float) -> int:
    """What looking at tokens costs in two layers of 2 heads of 8 channels, local of 16."""
    pairs = sum(min(seen, 16) for seen in range(1, round(tokens) + 1))
    return rows * 2 * (4 * 2 * 8 * pairs)  # products of queries and keys, of weights and values


def test_a_sound_recipe_gets_a_plan(recipe: Path) -> None:
    loaded, plan = check_file(recipe, (), load_registry())
    assert plan == check_recipe(loaded, load_registry())
    sft, before, rl, after = plan.stages
    assert [stage.type for stage in plan.stages] == ["sft", "eval", "rl", "eval"]
    assert (sft.steps, sft.updates, sft.sampled_tokens) == (10, 10, 0)
    assert 10 * 4 * 8 < sft.trained_tokens < 10 * 4 * 60
    assert sft.operations == 6 * plan.parameters * sft.trained_tokens + 3 * mixing(
        10 * 4, sft.trained_tokens / 40
    )
    assert before.sampled_tokens == 20 * 4 * 16
    assert rl.sampled_tokens == 3 * 4 * 8 * 16
    assert rl.trained_tokens > rl.sampled_tokens
    assert rl.operations == 8 * plan.parameters * rl.trained_tokens + 4 * mixing(
        3 * 4 * 8, rl.trained_tokens / 96
    )
    assert rl.objective == "dppo"
    assert rl.reads == ("advantage", "behavior_logp")
    assert attrs.evolve(after, name="before") == before
    assert all(stage.memory_bytes > 4 * plan.parameters for stage in plan.stages)


@pytest.mark.parametrize(
    ("schedule", "most"),
    [
        ("{ type = 'dynamic', max_rounds = 3 }", 3 * 4),
        ("{ type = 'oversample', factor = 1.3 }", 6),
    ],
)
def test_a_plan_counts_what_is_sampled_and_left_out(recipe: Path, schedule: str, most: int) -> None:
    change = f"stages.rl.rollout_schedule={schedule}"
    plan, plain = (check_file(recipe, sets, load_registry())[1] for sets in ((change,), ()))
    assert plan.stages[2].sampled_tokens == 3 * most * 8 * 16
    assert plan.stages[2].trained_tokens == plain.stages[2].trained_tokens
    assert plan.stages[2].operations > plain.stages[2].operations


def test_a_microbatch_counts_no_more_tokens_than_there_are(recipe: Path) -> None:
    def memory(*overrides: str) -> int:
        return check_file(recipe, overrides, load_registry())[1].stages[2].memory_bytes

    wide, wider = (memory(f"stages.rl.microbatch_tokens={n}") for n in (100_000, 200_000))
    assert memory("stages.rl.microbatch_tokens=1") < wide == wider
    assert memory("stages.rl.microbatch_tokens=200000", "stages.rl.groups=8") > wider


@pytest.mark.parametrize(
    ("sets", "messages"),
    [
        (
            ["stages.rl.off_policy_updates=5"],
            [
                "stages.rl.off_policy_updates: must be at most 3 with 4 groups, as every update "
                "needs a group of its own, got 5"
            ],
        ),
        (
            ["stages.rl.rollouts=1"],
            [
                "stages.rl.rollouts: the advantage cannot use groups of 1: "
                "baseline 'mean' needs at least two responses, got 1"
            ],
        ),
        (
            [
                "stages.rl.rollouts=1",
                "stages.rl.objective=reinforce",
                'stages.rl.advantage={ type = "group", baseline = "none", scale = "none" }',
                "stages.rl.rollout_schedule=dynamic",
            ],
            [
                "stages.rl.rollouts: must be at least 2 with a 'rollout_schedule' that keeps "
                "groups with right and wrong answers, got 1; 'complete-episodes' keeps all"
            ],
        ),
        (
            [
                "stages.rl.rollouts=1",
                "stages.rl.objective=reinforce",
                'stages.rl.advantage={ type = "group", baseline = "none", scale = "none" }',
                "stages.rl.rollout_schedule=oversample",
            ],
            [
                "stages.rl.rollouts: must be at least 2 with a 'rollout_schedule' that keeps "
                "groups with right and wrong answers, got 1; 'complete-episodes' keeps all"
            ],
        ),
        (["stages.rl.start=sfd"], ["stages.rl.start: unknown stage 'sfd'; did you mean 'sft'?"]),
        (
            ["stages.rl.start=before"],
            ["stages.rl.start: the stage 'before' does not train"],
        ),
        (
            ["stages.sft.start=rl"],
            ["stages.sft.start: the stage 'rl' does not come before this one; stages run in order"],
        ),
        (
            ["stages.after.against=befor"],
            ["stages.after.against: unknown stage 'befor'; did you mean 'before'?"],
        ),
        (
            ["stages.after.against=sft"],
            ["stages.after.against: the stage 'sft' does not evaluate"],
        ),
        (
            ["stages.after.count=30", "stages.after.problems.levels=2"],
            [
                "stages.after.problems: must equal that of 'before' to be compared with it",
                "stages.after.count: must equal that of 'before' to be compared with it: "
                "20 there, 30 here",
            ],
        ),
        (
            ["stages.rl.problems.sources.gdc=1"],
            ["stages.rl.problems.sources.gdc: unknown generator 'gdc'; did you mean 'gcd'?"],
        ),
        (
            ["stages.sft.styles.corse=1"],
            [
                "stages.sft.styles.corse: no solutions in this style from 'sum-chain'; "
                "did you mean 'coarse'?"
            ],
        ),
        (
            ["stages.rl.health.mean_weight_low=3.0"],
            [
                "stages.rl.health.mean_weight_low: 'mean_weight_low' (3.0) must be at most "
                "'mean_weight_high' (2.0)"
            ],
        ),
        (["stages.rl.seed=-1"], ["stages.rl.seed: must be >= 0, got -1"]),
        (
            ["model.vocabulary=5"],
            ["model.vocabulary: must be at least the tokenizer's 54 ids, got 5"],
        ),
        (
            ["model.kv_heads=3"],
            ["model.heads: 'heads' (2) must be a multiple of 'kv_heads' (3)"],
        ),
        (
            ["model.rope_pairs=9"],
            ["model.rope_pairs: 'rope_pairs' (9) must be at most half of 'head_width' (4)"],
        ),
        (
            ["stages.rl.budget=native-context"],
            [
                "stages.rl.max_tokens: with budget 'native-context' max_tokens must be the "
                "context, 96, got 16"
            ],
        ),
    ],
)
def test_what_cannot_work_is_named(sets: list[str], messages: list[str], recipe: Path) -> None:
    assert told(recipe, *sets) == messages


HUGE = {
    "model.layers": 100_000_000,
    "model.width": 10**9,
    "model.heads": 10**12,
    "model.context": 10**11,
    "model.vocabulary": 10**15,
    "model.padded_vocabulary": 10**30,
    "model.rope_base": 1e300,
    "stages.sft.documents": 10**14,
    "stages.sft.steps": 10**26,
    "stages.sft.optimizer.lr": 1e300,
    "stages.sft.optimizer.eps": 1e300,
    "stages.sft.styles.direct": 1e308,
    "stages.rl.groups": 10**14,
    "stages.rl.rollouts": 10**14,
    "stages.rl.optimizer.lr": 1e300,
    "stages.rl.optimizer.weight_decay": 1e300,
    "stages.rl.lr_schedule.warmup_steps": 10**400,
    "stages.rl.temperature": 1e300,
    "stages.before.count": 10**14,
    "stages.before.samples": 10**14,
    "seed": 10**30,
}


@pytest.mark.parametrize("path", HUGE)
def test_no_number_is_too_large_to_be_refused(path: str, recipe: Path) -> None:
    lines = told(recipe, f"{path}={HUGE[path]}")
    assert lines[0].startswith(path.removesuffix(".direct") + ": ")
    assert " must be " in lines[0]


def test_the_largest_numbers_can_be_checked(recipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_checks, "ASKED", 300)
    monkeypatch.setattr(problem_checks, "DOCUMENTS", 300)
    sets = ["model.layers=50", "model.context=16777216", "model.width=1000000"]
    sets += ["stages.sft.documents=100000000", "stages.sft.steps=1000000000"]
    sets += ["stages.sft.problems.difficulty=[0.5, 1.0]", "model.vocabulary=16777216"]
    sets += [f"stages.{name}.count=100000000" for name in ("before", "after")]
    sets += [f"stages.{name}.problems.difficulty=[0.5, 1.0]" for name in ("before", "after")]
    _, plan = check_file(recipe, sets, load_registry())
    assert plan.parameters > 10**13


def test_texts_must_fit_the_context(recipe: Path) -> None:
    assert told(recipe, "stages.rl.max_tokens=95")[0].startswith(
        "stages.rl.max_tokens: a prompt of "
    )
    lines = told(recipe, "model.context=8")
    assert [line.partition(":")[0] for line in lines] == [
        "stages.sft.problems",
        "stages.before.max_tokens",
        "stages.rl.max_tokens",
        "stages.after.max_tokens",
    ]
    assert "more than the model's context of 8 (model.context)" in lines[0]


def test_the_tokenizer_must_know_every_character(recipe: Path) -> None:
    assert set(told(recipe, 'tokenizer.alphabet="0123456789+=?#\\n"')) == {
        "tokenizer.alphabet: lacks '-', ';', which problems of 'sft' contain",
        "tokenizer.alphabet: lacks '-', which problems of 'before' contain",
        "tokenizer.alphabet: lacks '(', ')', ',', '-', 'c', 'd', 'g', "
        "which problems of 'rl' contain",
        "tokenizer.alphabet: lacks '-', which problems of 'after' contain",
    }


def test_too_few_problems_are_noticed(recipe: Path) -> None:
    (line,) = told(recipe, "stages.sft.problems.difficulty=[0.0, 0.0]", "stages.sft.documents=9999")
    assert line.startswith("stages.sft.problems: sum-chain at difficulty 0 to 0: only ")


def test_too_few_held_out_problems_are_noticed_before_anything_is_trained(recipe: Path) -> None:
    few = "problems.difficulty=[0.0, 0.0]"
    sets = [f"stages.before.{few}", f"stages.after.{few}"]
    sets += ["stages.before.count=400", "stages.after.count=400"]
    lines = told(recipe, *sets)
    assert [line.partition(":")[0] for line in lines] == [
        "stages.before.problems",
        "stages.after.problems",
    ]
    assert "distinct problems found in the 10% held out, and 400 of the whole mixture" in lines[0]


def test_how_many_problems_are_wanted_is_told_in_full(recipe: Path) -> None:
    few = "problems.difficulty=[0.0, 0.0]"
    sets = [f"stages.{name}.{few}" for name in ("before", "after")]
    sets += [f"stages.{name}.count=100000" for name in ("before", "after")]
    sets += [f"stages.sft.{few}", "stages.sft.documents=20000"]
    lines = told(recipe, *sets)
    wanted = [line.partition(", and ")[2].partition(" of the whole mixture")[0] for line in lines]
    assert wanted == ["20,000", "100,000", "100,000"]


def test_an_evaluation_is_judged_by_the_very_problems_it_will_ask(recipe: Path) -> None:
    registry = load_registry()
    loaded = load_recipe(recipe, ["stages.before.seed=5", "stages.after.seed=5"], registry)
    texts = look_over(loaded.recipe, registry).texts
    for name in ("before", "after"):
        stage = loaded.recipe.stages[name]
        assert isinstance(stage, Eval)
        asked = held_out_problems(stage, registry, Seeds(5).child("evaluation"))
        prompts = [len(loaded.recipe.tokenizer.render_prompt(problem)) for problem in asked]
        assert texts[name].prompts == prompts


def test_stages_of_one_own_seed_draw_from_different_streams(recipe: Path) -> None:
    loaded = load_recipe(recipe, ["stages.sft.seed=5", "stages.rl.seed=5"])
    draws = [stage_seeds(loaded.recipe, name).integer("problems") for name in ("sft", "rl")]
    assert draws[0] != draws[1]
    other = load_recipe(recipe, ["seed=9", "stages.sft.seed=5"])
    assert stage_seeds(other.recipe, "sft").integer("problems") == draws[0]


def test_mistakes_of_reading_and_of_checking_are_told_together(recipe: Path) -> None:
    sets = [
        "seed=7.5",
        "model.kv_heads=3",
        "stages.sft.optimizer.lr=-1",
        "stages.before.problems.sources={}",
        "stages.rl.rolouts=3",
        "stages.rl.off_policy_updates=9",
        "stages.rl.start=sfd",
        "stages.sft.styles.corse=1",
    ]
    assert sorted(line.partition(":")[0] for line in told(recipe, *sets)) == sorted(
        [
            "seed",
            "model.heads",
            "stages.sft.optimizer.lr",
            "stages.sft.styles.corse",
            "stages.before.problems.sources",
            "stages.rl.rolouts",
            "stages.rl.off_policy_updates",
            "stages.rl.start",
        ]
    )


@attrs.frozen(kw_only=True)
class Teacher:
    """Reads a column that no stage supplies yet."""

    needs: ClassVar[frozenset[str]] = frozenset({"logp", "teacher_top"})

    def __call__(self, batch: Any) -> Any:
        raise AssertionError("a check runs no objective")


@attrs.frozen(kw_only=True)
class Nothing:
    """Gives no credit at all."""

    def __call__(self, group: Any) -> torch.Tensor:
        return torch.zeros(len(group.responses))


@attrs.frozen(kw_only=True)
class Stubborn:
    """Refuses its schedule or its parameters."""

    def __call__(self, step: int, total_steps: int) -> float:
        raise ValueError(f"cannot last {total_steps} steps")

    def build(self, named_parameters: Any) -> Any:
        raise LimiteError("knows no such parameters")


@pytest.fixture(scope="module")
def others() -> Registry:
    """The built-ins with a few components that ask for the impossible."""
    registry = Registry()
    registry.add(
        Registration(kind=entry.kind, name=entry.name, target=entry.target)
        for entry in load_registry().entries()
    )
    extra = {
        ("objective", "teacher"): Teacher,
        ("advantage", "nothing"): Nothing,
        ("lr_schedule", "stubborn"): Stubborn,
    }
    more = [Registration(kind=k, name=n, target=c) for (k, n), c in extra.items()]
    registry.add(more, distribution="limite-other")
    optimizer = attrs.make_class("Other", {}, bases=(Stubborn,), frozen=True, kw_only=True)
    registry.add(
        [Registration(kind="optimizer", name="stubborn", target=optimizer)], distribution="limite-o"
    )
    return registry


def test_components_are_asked(recipe: Path, others: Registry) -> None:
    sets = [
        "stages.rl.objective=teacher",
        "stages.rl.advantage=nothing",
        "stages.rl.optimizer=stubborn",
        "stages.sft.lr_schedule=stubborn",
    ]
    loaded = load_recipe(recipe, sets, others)
    with pytest.raises(SettingsError) as caught:
        check_recipe(loaded, others)
    assert str(caught.value).splitlines() == [
        "--set stages.rl.objective=teacher: stages.rl.objective: 'teacher' reads teacher_top, "
        "which an rl stage lacks; it has advantage, behavior_logp, behavior_topk_logp, entropy, "
        "logp, topk_logp",
        "--set stages.rl.optimizer=stubborn: stages.rl.optimizer: knows no such parameters",
        "--set stages.sft.lr_schedule=stubborn: stages.sft.lr_schedule: cannot last 10 steps",
        f"{recipe}:20: stages.rl.rollouts: with groups of 8 every advantage "
        "is 0, and nothing can be learned",
    ]


@pytest.mark.parametrize("objective", ["dpoo", "adamw", "3", "{ lr = 1 }", "[1]", "''"])
def test_an_objective_that_cannot_be_read_hides_no_other_mistake(
    recipe: Path, objective: str
) -> None:
    lines = told(recipe, f"stages.rl.objective={objective}", "seed=1.5")
    assert any(line.startswith("seed: ") for line in lines)
    assert any(line.startswith("stages.rl.objective") for line in lines)


@pytest.mark.parametrize("field", [field.name for field in attrs.fields(RL)])
def test_any_setting_may_be_beyond_reading(recipe: Path, field: str) -> None:
    lines = told(recipe, f"stages.rl.{field}={{ nonsense = [] }}", "seed=1.5")
    assert any(line.startswith(f"stages.rl.{field}") for line in lines)
    assert any(line.startswith("seed: ") for line in lines)


@attrs.frozen(kw_only=True)
class Raising:
    """Raises what no component should, whatever it is asked."""

    def __call__(self, *asked: Any) -> Any:
        raise ZeroDivisionError("oh dear")

    def build(self, named_parameters: Any) -> Any:
        raise KeyError("lr")

    def sample(self, stream: Any, difficulty: float) -> Any:
        return self(stream)

    def check(self, problem: Any) -> bool:
        return True


def test_a_component_that_raises_is_a_mistake(recipe: Path) -> None:
    raising = {
        kind: attrs.make_class(f"Raising{kind}", {}, bases=(Raising,), frozen=True, kw_only=True)
        for kind in ("advantage", "lr_schedule", "optimizer", "generator")
    }
    registry = Registry()
    registry.add(
        Registration(kind=entry.kind, name=entry.name, target=entry.target)
        for entry in load_registry().entries()
    )
    more = [Registration(kind=kind, name="raising", target=cls) for kind, cls in raising.items()]
    registry.add(more, distribution="limite-raising")
    sets = [f"stages.rl.{kind}=raising" for kind in raising if kind != "generator"]
    loaded = load_recipe(recipe, [*sets, "stages.sft.problems.sources={raising = 1}"], registry)
    with pytest.raises(SettingsError) as caught:
        check_recipe(loaded, registry)
    assert {(mistake.path, mistake.message) for mistake in caught.value.mistakes} == {
        ("stages.sft.problems", "raising at difficulty 0 to 0.3: ZeroDivisionError: oh dear"),
        ("stages.rl.advantage", "failed on a group of 8: ZeroDivisionError: oh dear"),
        ("stages.rl.lr_schedule", "ZeroDivisionError: oh dear"),
        ("stages.rl.optimizer", "KeyError: 'lr'"),
    }


def test_a_check_reads_no_weights_and_uses_no_global_randomness(recipe: Path) -> None:
    before = torch.random.get_rng_state()
    loaded = load_recipe(recipe)
    found = look_over(loaded.recipe, load_registry())
    assert found.decoder is not None
    assert {parameter.device.type for parameter in found.decoder.parameters()} == {"meta"}
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_value_made_in_python_can_be_checked_too(recipe: Path) -> None:
    data = load_recipe(recipe).data
    value = structure(data, Recipe, load_registry())
    assert look_over(value, load_registry()).faults == []


def _divides(instance: Any, attribute: Any, value: int) -> None:
    assert 12 // value


@attrs.frozen(kw_only=True)
class Brittle:
    """Fails in ways of its own when it is made."""

    share: int = attrs.field(default=1, validator=_divides)

    def __attrs_post_init__(self) -> None:
        if self.share == 2:
            raise KeyError("two")

    def __call__(self, group: Any) -> torch.Tensor:
        return torch.ones(len(group.responses))


def test_a_component_that_cannot_be_made_is_a_mistake(recipe: Path) -> None:
    registry = Registry()
    registry.add(
        Registration(kind=entry.kind, name=entry.name, target=entry.target)
        for entry in load_registry().entries()
    )
    more = [Registration(kind="advantage", name="brittle", target=Brittle)]
    registry.add(more, distribution="limite-brittle")

    def messages(share: int) -> list[tuple[str, str]]:
        sets = [f"stages.rl.advantage={{ type = 'brittle', share = {share} }}"]
        with pytest.raises(SettingsError) as caught:
            check_file(recipe, sets, registry)
        return [(mistake.path, mistake.message) for mistake in caught.value.mistakes]

    assert messages(0)[0][0] == "stages.rl.advantage.share"
    assert messages(0)[0][1].startswith("ZeroDivisionError: ")
    assert messages(2) == [("stages.rl.advantage", "Brittle cannot be made: KeyError: 'two'")]
