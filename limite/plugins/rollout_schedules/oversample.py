"""More groups than a batch needs, all waited for; those that differ are trained on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, le

from limite.core.rollout_kinds import Batch, Episodes
from limite.core.seeds import Seeds
from limite.plugins.rollout_schedules.groups import finished, has_contrast


@attrs.frozen(kw_only=True)
class Oversample:
    """Starts more groups than a batch holds, waits for all, and keeps those with right and wrong.

    Which come first is settled by a seeded order before anything is sampled, never by who finished
    first. Where too few have contrast, the batch is filled up with the others in the same order.
    """

    leaves_out: ClassVar[bool] = True
    needs_contrast: ClassVar[bool] = True

    factor: float = attrs.field(
        default=1.1,
        validator=and_(ge(1.0), le(100.0)),
        metadata={"help": "groups that are started, for each of the batch"},
    )

    def most_groups(self, groups: int) -> int:
        """How many groups are sampled for a batch of ``groups``."""
        return math.ceil(round(self.factor * groups, 9))

    def build(self, groups: int, rollouts: int, seed: int) -> OversampleRun:
        return OversampleRun(groups, self.most_groups(groups), rollouts, seed)


class OversampleRun:
    """Batches of ``groups`` groups out of ``started``."""

    def __init__(self, groups: int, started: int, rollouts: int, seed: int) -> None:
        self._groups = groups
        self._started = started
        self._rollouts = rollouts
        self._seeds = Seeds(seed)
        self._batches = 0

    def next(self, episodes: Episodes) -> Batch:
        order = list(range(self._started))
        self._seeds.stream("order", self._batches).shuffle(order)
        self._batches += 1
        asked = episodes.ask(self._started)
        groups = episodes.score(finished(asked, episodes, self._rollouts))
        # Stable: those without contrast come last, each part in its seeded order.
        kept = set(sorted(order, key=lambda at: not has_contrast(groups[at]))[: self._groups])
        return Batch(
            groups=[group for at, group in enumerate(groups) if at in kept],
            dropped=[group for at, group in enumerate(groups) if at not in kept],
        )

    def state(self) -> dict[str, Any]:
        return {"batches": self._batches}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._batches = int(state["batches"])
