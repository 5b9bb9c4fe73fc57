"""More of the problems the policy solves about half the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from attrs.validators import and_, ge, gt, le

from limite.core.errors import LimiteError
from limite.core.kinds import Arm
from limite.core.seeds import Seeds
from limite.plugins.curricula.uniform import Draws, balanced_draw


@attrs.frozen(kw_only=True)
class PassRate:
    """Prefers kinds of problems with a pass rate near a half, where groups differ most.

    An arm with s successes in n attempts has p = (s + 1) / (n + 2) and is drawn by its own weight
    times max((4 p (1 - p)) ** kappa, floor). Counts fade by ``decay`` with every step, because the
    policy moves; an arm never tried counts as p = 0.5.
    """

    kappa: float = attrs.field(
        default=1.0,
        validator=and_(ge(0.0), le(1000.0)),
        metadata={"help": "how sharply a half is preferred; 0 turns it off"},
    )
    floor: float = attrs.field(
        default=0.05,
        validator=and_(gt(0.0), le(1.0)),
        metadata={"help": "least preference, so that no kind of problem is lost for ever"},
    )
    decay: float = attrs.field(
        default=0.9,
        validator=and_(ge(0.0), le(1.0)),
        metadata={"help": "what one step leaves of the counts"},
    )

    def build(self, arms: Sequence[Arm], seed: int) -> PassRateRun:
        return PassRateRun(self, arms, seed)


class PassRateRun:
    """Counts per arm; draws depend on the seed, the step, what it has asked, and these counts."""

    def __init__(self, settings: PassRate, arms: Sequence[Arm], seed: int) -> None:
        self._settings = settings
        self._arms = list(arms)
        self._draws = Draws(Seeds(seed))
        self._step: int | None = None
        self._successes = [0.0] * len(arms)
        self._attempts = [0.0] * len(arms)

    def next(self, step: int, count: int) -> list[int]:
        """Arms for ``step``. Asking again for the same step draws anew and fades nothing."""
        if self._step is not None and step < self._step:
            raise ValueError(f"step {step} comes after step {self._step}: steps never go back")
        kept = 1.0 if self._step is None else self._settings.decay ** (step - self._step)
        self._successes = [value * kept for value in self._successes]
        self._attempts = [value * kept for value in self._attempts]
        self._step = step
        return balanced_draw(self.weights(), count, self._draws.stream(step, count))

    def pass_rates(self) -> list[float]:
        """The estimate (s + 1) / (n + 2) for each arm."""
        return [
            (successes + 1) / (attempts + 2)
            for successes, attempts in zip(self._successes, self._attempts, strict=True)
        ]

    def weights(self) -> list[float]:
        """What each arm would be drawn by now."""
        kappa, floor = self._settings.kappa, self._settings.floor
        return [
            arm.weight * max((4 * rate * (1 - rate)) ** kappa, floor)
            for arm, rate in zip(self._arms, self.pass_rates(), strict=True)
        ]

    def observe(self, arm: int, correct: Sequence[bool]) -> None:
        self._successes[arm] += sum(map(bool, correct))
        self._attempts[arm] += len(correct)

    def state(self) -> dict[str, Any]:
        return {
            "step": self._step,
            "arms": {
                arm.name: [successes, attempts]
                for arm, successes, attempts in zip(
                    self._arms, self._successes, self._attempts, strict=True
                )
            },
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        names = [arm.name for arm in self._arms]
        if sorted(state["arms"]) != sorted(names):
            raise LimiteError(
                f"the curriculum's saved counts are for {', '.join(state['arms'])}; "
                f"this stage has {', '.join(names)}"
            )
        self._step = state["step"]
        self._successes = [float(state["arms"][name][0]) for name in names]
        self._attempts = [float(state["arms"][name][1]) for name in names]
