"""More of the very problems that the policy solves about half the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, gt, le

from limite.core.errors import LimiteError
from limite.core.kinds import Arm
from limite.core.seeds import Seeds
from limite.plugins.curricula.draws import weighted_sample


@attrs.frozen(kw_only=True)
class Targeted:
    """Prefers problems with a pass rate near a half, each by its own outcomes; for files.

    A problem with s successes in n attempts has p = (s + 1) / (n + 2) and is drawn by its weight
    times max((4 p (1 - p)) ** kappa, floor), none twice in a batch. Counts come from training
    alone and fade by ``decay`` with every step; a problem never tried counts as p = 0.5.
    """

    of_problems: ClassVar[bool] = True
    kappa: float = attrs.field(
        default=1.0,
        validator=and_(ge(0.0), le(1000.0)),
        metadata={"help": "how sharply a half is preferred; 0 turns it off"},
    )
    floor: float = attrs.field(
        default=0.05,
        validator=and_(gt(0.0), le(1.0)),
        metadata={"help": "least preference, so that no problem is lost for ever"},
    )
    decay: float = attrs.field(
        default=0.9,
        validator=and_(ge(0.0), le(1.0)),
        metadata={"help": "what one step leaves of the counts"},
    )
    calibrated: float = attrs.field(
        default=0.0,
        validator=and_(ge(0.0), le(1e6)),
        metadata={
            "help": "attempts that a measured pass rate in the file counts as at first; 0: it is "
            "not read"
        },
    )

    def build(self, arms: Sequence[Arm], seed: int) -> TargetedRun:
        if self.calibrated and all(arm.pass_rate is None for arm in arms):
            raise LimiteError(
                "'calibrated' has no use: no problem has a measured 'pass_rate'; "
                "`limite-gen calibrate` adds them"
            )
        return TargetedRun(self, arms, seed)


class TargetedRun:
    """Counts per problem, and draws that depend on the seed, the step and these counts alone."""

    def __init__(self, settings: Targeted, arms: Sequence[Arm], seed: int) -> None:
        self._settings = settings
        self._arms = list(arms)
        self._seeds = Seeds(seed)
        self._step: int | None = None
        self._taken: set[int] = set()
        self._asked = 0
        # Most problems of a large file are never tried, so only those that were are kept.
        self._counts: dict[int, tuple[float, float]] = {}
        for place, arm in enumerate(arms):
            if settings.calibrated and arm.pass_rate is not None:
                self._counts[place] = (
                    settings.calibrated * arm.pass_rate,
                    settings.calibrated,
                )

    def next(self, step: int, count: int) -> list[int]:
        """Problems for ``step``; asking again in the same step gives others, while there are any.

        When every problem was drawn in a step, all of them may come again.
        """
        if self._step is not None and step < self._step:
            raise ValueError(f"step {step} comes after step {self._step}: steps never go back")
        if step != self._step:
            kept = 1.0 if self._step is None else self._settings.decay ** (step - self._step)
            faded = {
                place: (right * kept, tries * kept)
                for place, (right, tries) in self._counts.items()
            }
            self._counts = {place: counts for place, counts in faded.items() if counts[1] > 0}
            self._step, self._taken, self._asked = step, set(), 0
        drawn: list[int] = []
        weights = self.weights()
        while len(drawn) < count:
            stream = self._seeds.stream("draw", step, self._asked)
            found = weighted_sample(weights, count - len(drawn), stream, self._taken)
            if not found:
                self._taken.clear()
            self._asked += max(1, len(found))
            drawn += found
        return drawn

    def pass_rates(self) -> list[float]:
        """The estimate (s + 1) / (n + 2) for each problem."""
        counts = (self._counts.get(place, (0.0, 0.0)) for place in range(len(self._arms)))
        return [(right + 1) / (tries + 2) for right, tries in counts]

    def weights(self) -> list[float]:
        """What each problem would be drawn by now."""
        kappa, floor = self._settings.kappa, self._settings.floor
        return [
            arm.weight * max((4 * rate * (1 - rate)) ** kappa, floor)
            for arm, rate in zip(self._arms, self.pass_rates(), strict=True)
        ]

    def observe(self, arm: int, correct: Sequence[bool]) -> None:
        right, tries = self._counts.get(arm, (0.0, 0.0))
        self._counts[arm] = (right + sum(map(bool, correct)), tries + len(correct))

    def state(self) -> dict[str, Any]:
        return {
            "step": self._step,
            "problems": {
                self._arms[place].name: list(self._counts[place]) for place in sorted(self._counts)
            },
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        places = {arm.name: place for place, arm in enumerate(self._arms)}
        unknown = [name for name in state["problems"] if name not in places]
        if unknown:
            raise LimiteError(
                f"the curriculum has saved counts of {len(unknown):,} problems that this stage "
                f"does not have, such as {unknown[0]}"
            )
        self._step = state["step"]
        self._counts = {
            places[name]: (float(right), float(tries))
            for name, (right, tries) in state["problems"].items()
        }
