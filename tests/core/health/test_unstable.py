"""The triggers of an unstable stage, each by its definition, and how long they must hold."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.health.unstable import (
    GATES,
    GRADIENT_NORM,
    HELD_OUT,
    NATURAL_END,
    SETTLED,
    Held,
    Stability,
    held_out_verdict,
)


def made(patience: int = 3, *, probe: int | None = None, gates_every: int = 1) -> Stability:
    held = {GATES: Held(every=gates_every), GRADIENT_NORM: Held(), NATURAL_END: Held()}
    if probe is not None:
        held[HELD_OUT] = Held(every=probe)
    return Stability(
        gradient_norm=10.0, natural_end=0.2, standard_errors=2.0, patience=patience, held=held
    )


def see(found: Stability, step: int, **other: Any) -> list[Any]:
    terms: dict[str, Any] = {"gates": True, "norm": 1.0, "ending": 0.9, "rates": None}
    return found.see(step, **{**terms, **other})


def test_a_trigger_must_hold_without_a_break() -> None:
    found = made(patience=3)
    for step, good in enumerate([True, False, False, True, False, False], start=1):
        see(found, step, gates=good)
        assert found.fired == []
    assert found.good_step == 4
    see(found, 7, gates=False)
    assert found.fired == [GATES]
    assert found.held[GATES] == Held(every=1, held=3, since=5, good_step=4)
    assert found.good_step == 4


def test_a_gradient_is_held_against_the_median_of_earlier_ones() -> None:
    found = made(patience=1)
    norms = [1.0, 3.0, 2.0, 2.0, 5.0, 2.0, 1.0, 2.0, 2.0, 4.0]
    for step, norm in enumerate(norms, start=1):
        assert [each.name for each in see(found, step, norm=norm)] == []
    (verdict,) = (each for each in see(found, 11, norm=20.0) if each.name == GRADIENT_NORM)
    assert verdict.figure == 20.0 / statistics.median(norms) == 10.0
    assert verdict.passed
    assert found.fired == []
    see(found, 12, norm=20.1)
    assert found.fired == [GRADIENT_NORM]


def test_endings_are_held_against_their_best_mean_of_ten() -> None:
    found = made(patience=2)
    shares = [0.5] * 5 + [0.9] * 10 + [0.75] * 6
    for step, share in enumerate(shares, start=1):
        verdicts = {each.name: each for each in see(found, step, ending=share)}
        assert (NATURAL_END in verdicts) == (step > SETTLED)
        assert found.fired == []
    assert found.best_ending == pytest.approx(0.9)
    see(found, 22, ending=0.69)
    assert found.fired == []
    see(found, 23, ending=0.69)
    assert found.fired == [NATURAL_END]
    assert found.good_step == 21


def test_a_fall_of_held_out_problems_is_paired() -> None:
    best = [1.0, 0.5, 0.5, 0.0]
    verdict = held_out_verdict([0.5, 0.5, 0.0, 0.0], best, 2.0)
    error = statistics.stdev([0.5, 0.0, 0.5, 0.0]) / 2
    assert (verdict.figure, verdict.high) == (0.25, 2 * error)
    assert verdict.passed
    # The same fall of every problem leaves no doubt.
    assert not held_out_verdict([0.9, 0.4, 0.4, -0.1], [1.0, 0.5, 0.5, 0.0], 2.0).passed
    assert held_out_verdict(best, best, 2.0).passed


def test_a_probe_is_judged_at_its_own_pace_and_its_window_is_the_whole_gap() -> None:
    found = made(patience=5, probe=10)
    found.note_rates([1.0] * 6)
    for step in range(1, 31):
        rates = None if step % 10 else [1.0 if step == 10 else 0.0] * 6
        see(found, step, rates=rates)
        assert found.fired == ([HELD_OUT] if step == 30 else [])
    # One bad probe is not enough; what was trained since the last good one is not handed on.
    assert found.good_step == 10
    assert found.held[HELD_OUT].since == 20


def test_steps_without_an_update_are_as_good_as_the_one_before() -> None:
    found = made(patience=2, gates_every=4)
    see(found, 1)
    see(found, 2, gates=None, norm=None)
    assert found.good_step == 2
    see(found, 3, gates=None)  # moved, and nobody has measured
    assert found.good_step == 2
    see(found, 4, gates=None, norm=None)
    assert found.good_step == 2
    see(found, 5, gates=False)
    assert found.fired == []
    see(found, 9, gates=False)
    assert found.fired == [GATES]
    assert found.good_step == 2


STEPS = st.lists(
    st.tuples(
        st.sampled_from([True, True, False, None]),
        st.sampled_from([None, 0.5, 1.0, 30.0]),
        st.sampled_from([0.2, 0.8, 0.9]),
        st.sampled_from([None, [1.0, 0.5, 1.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]),
    ),
    max_size=30,
)


def played(found: Stability, steps: Sequence[Any], first: int) -> list[Any]:
    told = []
    for step, (gates, norm, ending, rates) in enumerate(steps, start=first):
        verdicts = found.see(step, gates=gates, norm=norm, ending=ending, rates=rates)
        told.append(([each.as_dict() for each in verdicts], found.fired, found.good_step))
    return told


@given(STEPS, st.integers(0, 30))
def test_restored_equals_never_stopped(steps: list[Any], cut: int) -> None:
    whole, stopped, resumed = (made(probe=2) for _ in range(3))
    expected = played(whole, steps, 1)
    played(stopped, steps[:cut], 1)
    resumed.restore(json.loads(json.dumps(stopped.state(), allow_nan=False)))
    done = min(cut, len(steps))
    assert played(resumed, steps[done:], done + 1) == expected[done:]
    assert resumed.state() == whole.state()


@given(STEPS)
def test_what_is_good_never_goes_back_nor_comes_after_what_fired(steps: list[Any]) -> None:
    found, before = made(probe=2), 0
    for step, told in enumerate(steps, start=1):
        played(found, [told], step)
        assert before <= found.good_step <= step
        before = found.good_step
        for name in found.fired:
            since = found.held[name].since
            assert since is not None
            assert found.good_step < since
