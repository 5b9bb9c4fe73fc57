"""Drawing problems: pure in its names, on one side of the split, distinct when asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.discover import load_registry
from limite.core.errors import LimiteError
from limite.core.jsonl import write_jsonl
from limite.core.recipe.problem_source import ProblemSource, arms, held_out_problems, rotation
from limite.core.recipe.stages import Eval, Mix
from limite.core.seeds import Seeds
from limite.core.separation import assert_separate, is_held_out, text_hash

MIX = Mix(
    {"sum-chain": 2, "gcd": 1, "linear-system": 1, "modular-expression": 0},
    difficulty=(0.2, 0.8),
    levels=3,
)


@pytest.fixture(scope="module")
def registry():
    return load_registry()


def source(registry, mix=MIX, seed=1, held_out=False):
    return ProblemSource(mix, registry, Seeds(seed), held_out)


def test_arms_are_generators_at_levels():
    found = arms(MIX)
    assert [arm.name for arm in found[:3]] == [
        "sum-chain@0.2-0.4",
        "sum-chain@0.4-0.6",
        "sum-chain@0.6-0.8",
    ]
    assert len(found) == 9
    assert sum(arm.weight for arm in found) == pytest.approx(4)
    assert found[0].difficulty[0] == 0.2
    assert found[2].difficulty[1] == 0.8
    assert len({arm.name for arm in found}) == 9


@given(
    seed=st.integers(0, 2**32),
    arm=st.integers(0, 8),
    names=st.lists(st.integers(0, 9) | st.text(max_size=3), max_size=3),
    held_out=st.booleans(),
)
def test_a_draw_depends_on_seed_and_names_alone(seed, arm, names, held_out):
    registry = load_registry()
    one = source(registry, seed=seed, held_out=held_out)
    problem = one.draw(arm, *names)
    one.draw((arm + 1) % 9, "something", "else")
    other = source(registry, seed=seed, held_out=held_out)
    assert one.draw(arm, *names) == problem == other.draw(arm, *names)
    assert is_held_out(problem.problem) == held_out
    assert problem.meta["arm"] == one.arms[arm].name
    level = problem.difficulty["level"] / 100
    low, high = one.arms[arm].difficulty
    assert low - 0.006 <= level <= high + 0.006


def test_names_and_seeds_make_other_problems(registry):
    sources = [source(registry, seed=seed) for seed in range(5)]
    drawn = {each.draw(8, name).problem for each in sources for name in "ab"}
    assert len(drawn) == 10


def test_distinct_problems_are_distinct_and_weighted(registry):
    problems = source(registry).distinct(360)
    assert len({problem.id for problem in problems}) == 360
    counts = Counter(problem.source["generator"] for problem in problems)
    assert counts == {"sum-chain": 180, "gcd": 90, "linear-system": 90}
    assert max(Counter(problem.meta["arm"] for problem in problems).values()) <= 60


def test_a_shorter_list_begins_the_longer_one(registry):
    assert source(registry).distinct(120)[:50] == source(registry).distinct(50)


def test_training_and_held_out_never_meet(registry):
    training = {text_hash(p.problem) for p in source(registry).distinct(1000)}
    held_out = {text_hash(p.problem) for p in source(registry, held_out=True).distinct(200)}
    assert_separate(training, held_out)
    assert not training & held_out


def test_a_family_that_runs_out_says_so(registry):
    easy = Mix({"gcd": 1}, difficulty=(0.0, 0.0))
    with pytest.raises(
        LimiteError, match=r"gcd at difficulty 0 to 0: only [\d,]+ distinct"
    ) as told:
        source(registry, easy, held_out=True).distinct(500)
    assert "500" in str(told.value)
    assert "difficulty" in str(told.value)


def test_a_family_with_nothing_on_one_side_says_so(registry):
    class Single:
        """One problem, over and over."""

        def sample(self, rng, difficulty):
            return problem

    single = source(registry)
    problem = single.draw(0, "one")
    single._generators = [Single()] * 9
    single.held_out = True
    with pytest.raises(LimiteError, match="too few distinct"):
        single.draw(0, "one")


def test_an_unknown_generator_is_named(registry):
    with pytest.raises(LimiteError, match="did you mean 'sum-chain'"):
        source(registry, Mix({"sum-chian": 1}))


@given(weights=st.lists(st.floats(0.01, 10), min_size=1, max_size=8), count=st.integers(0, 200))
def test_rotation_keeps_to_its_weights_all_along(weights, count):
    order = rotation(weights, count)
    assert len(order) == count
    taken = Counter()
    for turn, index in enumerate(order, start=1):
        taken[index] += 1
        for place, weight in enumerate(weights):
            assert abs(taken[place] - turn * weight / sum(weights)) < len(weights)


def test_rotation_of_equal_weights_is_round_robin():
    assert rotation([1, 1, 1], 6) == [0, 1, 2, 0, 1, 2]


def test_what_an_evaluation_asks_is_remembered_only_while_nothing_it_depends_on_changes(
    tmp_path: Path, registry
) -> None:
    file = tmp_path / "asked.jsonl"

    def write(word: str) -> None:
        lines = [
            {"problem": f"{word} {n}?", "answer": {"type": "integer", "value": str(n)}}
            for n in range(80)
        ]
        write_jsonl(file, lines)

    write("first")
    stage = Eval(problems=Mix({str(file): 1, "gcd": 1}), count=6)
    found = held_out_problems(stage, registry, Seeds(1))
    again = held_out_problems(stage, registry, Seeds(1))
    assert found == again
    again.clear()
    assert held_out_problems(stage, registry, Seeds(1)) == found
    assert held_out_problems(stage, registry, Seeds(2)) != found
    assert len(held_out_problems(attrs.evolve(stage, count=4), registry, Seeds(1))) == 4
    write("other")
    changed = held_out_problems(stage, registry, Seeds(1))
    assert any(problem.problem.startswith("other") for problem in changed)
    assert not any(problem.problem.startswith("first") for problem in changed)
