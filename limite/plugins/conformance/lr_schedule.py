"""Laws of learning-rate schedules."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from hypothesis import strategies as st

from limite.core.kinds import LRSchedule
from limite.plugins.conformance.strategies import drawn

lengths = st.integers(1, 300) | st.sampled_from((1, 2, 10_000, 1_000_000))


def lr_schedule_laws(component: LRSchedule) -> dict[str, Callable[[], None]]:
    """A test per law of learning-rate schedules, by name."""
    return {
        law.__name__: functools.partial(law, component)
        for law in (
            it_is_finite_and_not_negative,
            it_depends_on_its_arguments_alone,
            some_step_moves_the_weights,
        )
    }


def steps_of(total_steps: int) -> list[int]:
    """All steps of a short run; of a long one, those around its corners."""
    if total_steps <= 300:
        return list(range(total_steps))
    tenths = [total_steps * tenth // 10 for tenth in range(10)]
    near = {place + offset for place in tenths for offset in (-1, 0, 1, 50)}
    return sorted(step for step in near | {total_steps - 1} if 0 <= step < total_steps)


def it_is_finite_and_not_negative(component: LRSchedule) -> None:
    @drawn(total_steps=lengths)
    def check(total_steps: int) -> None:
        for step in [*steps_of(total_steps), total_steps]:
            value = component(step, total_steps)
            assert isinstance(value, float | int), f"step {step} gives a {type(value).__name__}"
            assert math.isfinite(value), f"step {step} of {total_steps} gives {value}"
            assert value >= 0, f"step {step} of {total_steps} gives {value}"

    check()


def it_depends_on_its_arguments_alone(component: LRSchedule) -> None:
    @drawn(total_steps=lengths)
    def check(total_steps: int) -> None:
        steps = steps_of(total_steps)
        forward = [component(step, total_steps) for step in steps]
        backward = [component(step, total_steps) for step in reversed(steps)]
        assert forward == backward[::-1], (
            "the same step gave two values: a resumed run would leave its course"
        )

    check()


def some_step_moves_the_weights(component: LRSchedule) -> None:
    @drawn(total_steps=lengths)
    def check(total_steps: int) -> None:
        assert any(component(step, total_steps) > 0 for step in steps_of(total_steps)), (
            f"no step of {total_steps} has a rate above 0"
        )

    check()
