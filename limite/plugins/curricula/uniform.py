"""Every arm at its own weight, whatever the policy can do."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.kinds import Arm
from limite.core.seeds import Seeds


def balanced_draw(weights: Sequence[float], count: int, rng: random.Random) -> list[int]:
    """``count`` indexes, each arm as often as its weight says, rounded up or down by chance.

    Systematic sampling: one uniform shifts a comb of ``count`` teeth over the stacked weights. Each
    index has exactly its share in expectation, with less noise than independent draws; the order is
    shuffled.
    """
    total = sum(weights)
    assert total > 0
    assert count >= 1
    shift = rng.random()
    chosen: list[int] = []
    arm, reached = 0, weights[0]
    last = max(i for i, weight in enumerate(weights) if weight > 0)
    for tooth in range(count):
        while (tooth + shift) * total >= reached * count and arm < last:
            arm += 1
            reached += weights[arm]
        chosen.append(arm)
    rng.shuffle(chosen)
    return chosen


class Draws:
    """A stream for every time that a step asks: a schedule may want problems one by one."""

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds
        self._step: int | None = None
        self._asked = 0

    def stream(self, step: int, count: int) -> random.Random:
        """What the next ``count`` problems of ``step`` are drawn with."""
        if step != self._step:
            self._step, self._asked = step, 0
        again = (self._asked,) if self._asked else ()
        self._asked += count
        return self._seeds.stream("draw", step, *again)


@attrs.frozen(kw_only=True)
class Uniform:
    """Draws each kind of problem by the weight the mixture gives it."""

    def build(self, arms: Sequence[Arm], seed: int) -> UniformRun:
        return UniformRun(arms, seed)


class UniformRun:
    """Draws that depend on the seed, the step and what was asked in it before; no other memory."""

    def __init__(self, arms: Sequence[Arm], seed: int) -> None:
        self._weights = [arm.weight for arm in arms]
        self._draws = Draws(Seeds(seed))

    def next(self, step: int, count: int) -> list[int]:
        return balanced_draw(self._weights, count, self._draws.stream(step, count))

    def observe(self, arm: int, correct: Sequence[bool]) -> None:
        """Outcomes change nothing here."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        assert not state
