"""Learning-rate schedules at their corners."""

from __future__ import annotations

import math

import pytest

from limite.plugins.schedules.constant import Constant
from limite.plugins.schedules.cosine import Cosine
from limite.plugins.schedules.warmup_stable_decay import WarmupStableDecay


def test_constant_stays() -> None:
    assert {Constant()(step, 10) for step in range(20)} == {1.0}
    assert [Constant(warmup_steps=4)(step, 10) for step in range(6)] == [0.25, 0.5, 0.75, 1, 1, 1]


def test_warm_up_stay_decay() -> None:
    schedule = WarmupStableDecay(warmup_steps=2, decay_share=0.4)
    values = [schedule(step, 10) for step in range(11)]
    assert values == pytest.approx([0.5, 1, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25, 0.0])
    floor = WarmupStableDecay(warmup_steps=0, decay_share=0.5, final_fraction=0.2)
    assert floor(10, 10) == pytest.approx(0.2)
    assert floor(5, 10) == 1.0


def test_a_short_run_takes_the_lower_of_warm_up_and_decay() -> None:
    schedule = WarmupStableDecay(warmup_steps=20, decay_share=0.5)
    values = [schedule(step, 10) for step in range(10)]
    assert max(values) <= 0.5
    assert all(value > 0 for value in values)


def test_cosine_falls_by_half_a_turn() -> None:
    schedule = Cosine(warmup_steps=2, final_fraction=0.1)
    assert [schedule(step, 12) for step in (0, 1, 2)] == pytest.approx([0.5, 1.0, 1.0])
    assert schedule(7, 12) == pytest.approx(0.55)
    assert schedule(12, 12) == schedule(99, 12) == pytest.approx(0.1)
    quarter = 0.1 + 0.45 * (1 + math.cos(math.pi / 4))
    assert Cosine(warmup_steps=0, final_fraction=0.1)(3, 12) == pytest.approx(quarter)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Constant, {"warmup_steps": -1}),
        (WarmupStableDecay, {"decay_share": 1.5}),
        (WarmupStableDecay, {"final_fraction": -0.1}),
        (Cosine, {"final_fraction": 2.0}),
    ],
)
def test_settings_are_checked(kind: type, settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        kind(**settings)
