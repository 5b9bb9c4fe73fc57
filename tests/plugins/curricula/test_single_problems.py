"""Curricula that choose single problems: whom they prefer, and what they follow from."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from limite.core.errors import LimiteError
from limite.core.kinds import Arm
from limite.plugins.conformance.curriculum import curriculum_laws
from limite.plugins.curricula.annealed import Annealed
from limite.plugins.curricula.draws import weighted_sample
from limite.plugins.curricula.targeted import Targeted

POOL, ALL = "pool.jsonl", "all.jsonl"
COMPONENTS: dict[str, Any] = {
    "targeted": Targeted(),
    "targeted-sharp": Targeted(kappa=3.0, floor=1e-3, decay=0.5, calibrated=4.0),
    "targeted-forgetful": Targeted(decay=0.0, calibrated=0.5),
    "annealed": Annealed(pool=POOL, steps=4),
    "annealed-late": Annealed(pool=POOL, share=0.3, steps=1),
}
LAWS = {
    f"{name}-{law}": test
    for name, component in COMPONENTS.items()
    for law, test in curriculum_laws(component).items()
}


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_curricula_of_problems_obey(law: Callable[[], None]) -> None:
    law()


def problems(count: int, pool: int = 0, rates: dict[int, float] | None = None) -> list[Arm]:
    """The first ``pool`` of them stand in the pool as well."""
    return [
        Arm(
            name=f"{ALL}#{i}",
            weight=1 / count,
            difficulty=(0.0, 1.0),
            files=(POOL, ALL) if i < pool else (ALL,),
            pass_rate=(rates or {}).get(i),
        )
        for i in range(count)
    ]


def test_a_weighted_sample_goes_by_weight_and_leaves_out_what_is_taken() -> None:
    weights = [1.0, 3.0, 0.0, 4.0]
    drawn = Counter(
        weighted_sample(weights, 1, random.Random(seed), set())[0] for seed in range(4000)
    )
    for index, weight in enumerate(weights):
        share = weight / sum(weights)
        # Five standard errors of a share of 4,000.
        assert abs(drawn[index] / 4000 - share) <= 5 * (share * (1 - share) / 4000) ** 0.5
    taken = {1}
    assert sorted(weighted_sample(weights, 9, random.Random(1), taken)) == [0, 3]
    assert taken == {0, 1, 3}


def test_weights_follow_the_formula_for_each_problem() -> None:
    run = Targeted(floor=0.01).build(problems(4), seed=1)
    for arm, correct in enumerate([[], [True] * 6, [True, False], [False] * 18]):
        run.observe(arm, correct)
    assert run.pass_rates() == [1 / 2, 7 / 8, 2 / 4, 1 / 20]
    expected = [0.25, 4 * 7 / 64 / 4, 0.25, 4 * 19 / 400 / 4]
    assert run.weights() == pytest.approx(expected, rel=1e-12)
    sharp = Targeted(kappa=2.0, floor=0.1).build(problems(2), seed=1)
    sharp.observe(0, [True] * 6)
    sharp.observe(1, [False] * 18)
    assert sharp.weights() == pytest.approx([(4 * 7 / 64) ** 2 / 2, 0.05], rel=1e-12)


def test_counts_fade_with_steps_and_measured_rates_begin_them() -> None:
    run = Targeted(decay=0.5, calibrated=8.0).build(problems(2, rates={0: 0.75}), seed=1)
    assert run.pass_rates() == [7 / 10, 1 / 2]
    run.next(3, 1)
    assert run.pass_rates() == [7 / 10, 1 / 2]
    run.next(5, 1)
    assert run.pass_rates() == [(1.5 + 1) / (2 + 2), 1 / 2]
    with pytest.raises(ValueError, match="never go back"):
        run.next(4, 1)
    assert Targeted().build(problems(1, rates={0: 0.75}), seed=1).pass_rates() == [1 / 2]


def test_problems_solved_half_the_time_come_most_and_none_is_lost() -> None:
    """One in three problems is solved always, one never, one every other time."""
    run = Targeted(floor=0.05).build(problems(30), seed=3)
    seen: Counter[int] = Counter()
    for step in range(200):
        for arm in run.next(step, 6):
            seen[arm] += 1
            run.observe(arm, [arm % 3 > 0, arm % 3 > 1] * 4)
    half = sum(seen[arm] for arm in range(1, 30, 3))
    assert half > 2 * sum(seen[arm] for arm in range(0, 30, 3))
    assert half > 2 * sum(seen[arm] for arm in range(2, 30, 3))
    assert min(seen[arm] for arm in range(30)) > 0


def test_counts_of_other_problems_are_refused() -> None:
    run = Targeted().build(problems(3), seed=1)
    run.observe(2, [True])
    with pytest.raises(LimiteError, match="saved counts of 1 problems that this stage does not"):
        Targeted().build(problems(2), seed=1).restore(run.state())
    with pytest.raises(LimiteError, match="'calibrated' has no use"):
        Targeted(calibrated=1.0).build(problems(2), seed=1)


def test_the_pool_fades_as_the_formula_says() -> None:
    run = Annealed(pool=POOL, share=0.5, steps=128).build(problems(4000, pool=1000), seed=2)
    for step, least in [(0, 64), (32, 48), (64, 32), (127, 1), (128, 0), (500, 0)]:
        assert run.pool_share(step) == 0.5 * max(0.0, 1 - step / 128)
        drawn = run.next(step, 128)
        assert len(set(drawn)) == 128
        of_pool = sum(arm < 1000 for arm in drawn)
        # A quarter of all problems are in the pool: the rest brings some more of them.
        rest = 128 - least
        assert least <= of_pool <= least + rest / 4 + 5 * (rest * 3 / 16) ** 0.5


def test_the_rest_of_a_batch_comes_from_the_whole_set() -> None:
    run = Annealed(pool=POOL, steps=1).build(problems(40, pool=10), seed=2)
    seen = Counter(arm for step in range(1, 401) for arm in run.next(step, 8))
    assert all(abs(seen[arm] - 80) < 5 * 80**0.5 for arm in range(40))


def test_the_draw_follows_from_seed_and_step_alone() -> None:
    """A run that saw other outcomes, other steps and another number of them asks the same."""
    arms = problems(60, pool=20)
    first, second = (Annealed(pool=POOL).build(arms, seed=9) for _ in range(2))
    for step in (0, 1, 5):
        for arm in first.next(step, 16):
            first.observe(arm, [True, False])
    assert first.next(77, 16) == second.next(77, 16)
    assert first.state() == {} == json.loads(json.dumps(second.state()))
    assert Annealed(pool=POOL).build(arms, seed=8).next(77, 16) != second.next(77, 16)


def test_a_small_pool_is_made_up_for() -> None:
    drawn = Annealed(pool=POOL).build(problems(30, pool=2), seed=1).next(0, 20)
    assert len(set(drawn)) == 20
    assert {0, 1} <= set(drawn)


def test_a_pool_that_is_no_file_of_the_mixture_is_refused() -> None:
    with pytest.raises(LimiteError, match=r"'pool' names none .*'pol.jsonl'; did you mean 'pool"):
        Annealed(pool="pol.jsonl").build(problems(3, pool=1), seed=1)


@pytest.mark.parametrize(
    ("cls", "wrong"),
    [
        (Targeted, {"kappa": -0.1}),
        (Targeted, {"floor": 0.0}),
        (Targeted, {"decay": 1.01}),
        (Targeted, {"calibrated": -1.0}),
        (Annealed, {"share": 0.51, "pool": POOL}),
        (Annealed, {"steps": 0, "pool": POOL}),
    ],
)
def test_settings_out_of_range_are_refused(cls: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        cls(**wrong)
