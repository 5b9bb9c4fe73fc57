"""A pool of problems that are known to differ in outcome, less and less of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, instance_of, le, optional

from limite.core.errors import LimiteError, did_you_mean
from limite.core.kinds import Arm
from limite.core.seeds import Seeds
from limite.plugins.curricula.draws import weighted_sample


@attrs.frozen(kw_only=True)
class Annealed:
    """Begins with many problems of a pool, known to be solved sometimes, and lets it fade.

    At step k the pool gets ``share * max(0, 1 - k / steps)`` of the batch, rounded; the rest comes
    from all problems by their weights. No problem comes twice in a batch. The draw follows from
    the seed and the step alone, whatever the policy does: runs with one seed and the same files
    ask the same problems at the same steps.
    """

    of_problems: ClassVar[bool] = True
    pool: str | None = attrs.field(
        default=None,
        validator=optional(instance_of(str)),
        metadata={
            "help": "which of the mixture's files is the pool, named as there; without it the first"
        },
    )
    share: float = attrs.field(
        default=0.5,
        validator=and_(ge(0.0), le(0.5)),
        metadata={"help": "of the batch, that the pool gets at first"},
    )
    steps: int = attrs.field(
        default=128,
        validator=and_(ge(1), le(10**9)),
        metadata={"help": "until the pool gets nothing", "unit": "rollout batches"},
    )

    @property
    def names_files(self) -> tuple[str, ...]:
        """The files of problems that the settings name."""
        return () if self.pool is None else (self.pool,)

    def build(self, arms: Sequence[Arm], seed: int) -> AnnealedRun:
        files = list(dict.fromkeys(file for arm in arms for file in arm.files))
        pool = files[0] if self.pool is None else self.pool
        if pool not in files:
            near = did_you_mean(pool, files) or f"; there are {', '.join(files)}"
            raise LimiteError(f"'pool' names none of the files of 'problems': {pool!r}{near}")
        return AnnealedRun(self, arms, seed, pool)


class AnnealedRun:
    """Draws that depend on the seed and the step alone; it remembers nothing from step to step."""

    def __init__(self, settings: Annealed, arms: Sequence[Arm], seed: int, pool: str) -> None:
        self._settings = settings
        self._seeds = Seeds(seed)
        self._all = [arm.weight for arm in arms]
        self._pool = [arm.weight * (pool in arm.files) for arm in arms]
        self._step: int | None = None
        self._taken: set[int] = set()
        self._asked = 0

    def pool_share(self, step: int) -> float:
        """What part of the batch of ``step`` the pool gets."""
        return self._settings.share * max(0.0, 1 - step / self._settings.steps)

    def next(self, step: int, count: int) -> list[int]:
        """Problems for ``step``; asking again in the same step gives others, while there are any.

        Where the pool has too few, all problems make up for it; when every problem was drawn in
        a step, all of them may come again.
        """
        if step != self._step:
            self._step, self._taken, self._asked = step, set(), 0
        wanted = self._of_pool(step, self._asked + count) - self._of_pool(step, self._asked)
        stream = self._seeds.stream("pool", step, self._asked)
        drawn = weighted_sample(self._pool, wanted, stream, self._taken)
        rounds = 0
        while len(drawn) < count:
            stream = self._seeds.stream("all", step, self._asked, rounds)
            found = weighted_sample(self._all, count - len(drawn), stream, self._taken)
            if not found:
                self._taken.clear()
            rounds += 1
            drawn += found
        # A schedule that keeps the first ones must not keep the pool alone.
        self._seeds.stream("order", step, self._asked).shuffle(drawn)
        self._asked += count
        return drawn

    def _of_pool(self, step: int, count: int) -> int:
        """How many of the first ``count`` problems of a step come from the pool."""
        return int(self.pool_share(step) * count + 0.5)

    def observe(self, arm: int, correct: Sequence[bool]) -> None:
        """Outcomes change nothing here."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        assert not state
