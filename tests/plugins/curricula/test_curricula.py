from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.kinds import Arm, Curriculum
from limite.plugins.conformance.curriculum import curriculum_laws
from limite.plugins.curricula.pass_rate import PassRate, PassRateRun
from limite.plugins.curricula.uniform import Uniform, balanced_draw

COMPONENTS: dict[str, Curriculum] = {
    "uniform": Uniform(),
    "pass-rate": PassRate(),
    "pass-rate-sharp": PassRate(kappa=3.0, floor=1e-3, decay=0.5),
    "pass-rate-forgetful": PassRate(decay=0.0),
}
LAWS = {
    f"{name}-{law}": test
    for name, component in COMPONENTS.items()
    for law, test in curriculum_laws(component).items()
}


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_curricula_obey(law: Callable[[], None]) -> None:
    law()


def arms(*weights: float) -> list[Arm]:
    return [
        Arm(name=f"arm-{i}", weight=weight, difficulty=(0.0, 1.0))
        for i, weight in enumerate(weights)
    ]


@given(
    st.lists(st.floats(0, 10), min_size=1, max_size=6).filter(lambda w: sum(w) > 1e-3),
    st.integers(1, 50),
    st.integers(0, 2**32),
)
def test_a_balanced_draw_rounds_each_share_up_or_down(
    weights: list[float], count: int, seed: int
) -> None:
    drawn = Counter(balanced_draw(weights, count, random.Random(seed)))
    assert drawn.total() == count
    for arm, weight in enumerate(weights):
        # Half a tooth in a million is rounding of the sums of floats.
        assert abs(drawn[arm] - count * weight / sum(weights)) < 1 + 1e-6
        assert weight > 0 or not drawn[arm]


def test_a_balanced_draw_is_fair_on_average() -> None:
    weights = [1.0, 2.5, 0.5]
    drawn = Counter(
        arm for seed in range(4000) for arm in balanced_draw(weights, 3, random.Random(seed))
    )
    for arm, weight in enumerate(weights):
        # Each count of a draw is a Bernoulli rest of variance at most 1/4: five standard errors.
        assert abs(drawn[arm] / 4000 - 3 * weight / 4) < 5 * 0.5 / 4000**0.5


def test_orders_are_shuffled() -> None:
    drawn = Uniform().build(arms(1, 1, 1), seed=4).next(0, 30)
    assert drawn != sorted(drawn)


@pytest.mark.parametrize("settings", [Uniform(), PassRate()])
def test_problems_asked_for_one_by_one_are_of_all_kinds(settings: Curriculum) -> None:
    weights = (1.0, 2.0, 1.0)
    run = settings.build(arms(*weights), seed=5)
    drawn = Counter(run.next(7, 1)[0] for _ in range(2000))
    for arm, weight in enumerate(weights):
        assert abs(drawn[arm] / 2000 - weight / 4) < 5 * 0.5 / 2000**0.5  # five standard errors
    # What a step asks for first is what it was asked alone, whatever steps before it have asked.
    alone = settings.build(arms(*weights), seed=5)
    assert run.next(8, 9) == alone.next(8, 9)
    assert run.next(8, 9) == alone.next(8, 9)


def built(settings: PassRate, outcomes: Sequence[Sequence[bool]], *weights: float) -> PassRateRun:
    run = settings.build(arms(*(weights or [1.0] * len(outcomes))), seed=1)
    for arm, correct in enumerate(outcomes):
        run.observe(arm, correct)
    return run


def test_preference_follows_the_formula() -> None:
    run = built(PassRate(floor=0.01), [[], [True] * 6, [True, False], [False] * 18], 1, 1, 2, 1)
    assert run.pass_rates() == [1 / 2, 7 / 8, 2 / 4, 1 / 20]
    assert run.weights() == pytest.approx([1.0, 4 * 7 / 64, 2.0, 4 * 19 / 400], rel=1e-12)
    sharp = built(PassRate(kappa=2.0, floor=0.1), [[], [True] * 6, [False] * 18])
    assert sharp.weights() == pytest.approx([1.0, (4 * 7 / 64) ** 2, 0.1], rel=1e-12)


def test_kappa_zero_prefers_nothing() -> None:
    run = built(PassRate(kappa=0.0), [[True] * 50, [False] * 50, []])
    assert run.weights() == [1.0, 1.0, 1.0]


def test_counts_fade_with_steps_and_not_with_asking_again() -> None:
    run = built(PassRate(decay=0.5), [[True] * 8])
    run.next(3, 1)
    assert run.pass_rates() == [9 / 10]
    run.next(4, 1)
    assert run.pass_rates() == [5 / 6]
    run.next(4, 1)
    assert run.pass_rates() == [5 / 6]
    run.next(6, 1)
    assert run.pass_rates() == [2 / 3]
    with pytest.raises(ValueError, match="never go back"):
        run.next(5, 1)


def test_a_hopeless_arm_still_comes_up() -> None:
    run = PassRate(floor=0.02).build(arms(1, 1), seed=3)
    seen = Counter()
    for step in range(300):
        for arm in run.next(step, 4):
            seen[arm] += 1
            run.observe(arm, [False] * 8 if arm == 0 else [True, False] * 4)
    # Half of the problems would be 600; the floor of 2% leaves at least 300 * 4 * 0.02 / 1.02 = 23,
    # and the fading of its counts a few times more.
    assert 23 <= seen[0] < 300


@pytest.mark.parametrize(
    "wrong", [{"kappa": -0.1}, {"floor": 0.0}, {"floor": 1.1}, {"decay": -0.1}, {"decay": 1.01}]
)
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PassRate(**wrong)


def test_counts_of_other_arms_are_refused() -> None:
    state = PassRate().build(arms(1, 1), seed=1).state()
    with pytest.raises(LimiteError, match="saved counts are for arm-0, arm-1; this stage has"):
        PassRate().build(arms(1, 1, 1), seed=1).restore(state)
