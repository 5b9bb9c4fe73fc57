"""Dynamic sampling: further problems until enough groups have right and wrong answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, le

from limite.core.errors import RunFailed
from limite.core.rollout_kinds import Batch, Episodes
from limite.core.types import Group
from limite.core.validators import option
from limite.plugins.rollout_schedules.groups import finished, has_contrast

ENDS = ("error", "train-partial", "skip-update")


@attrs.frozen(kw_only=True)
class Dynamic:
    """Leaves out groups that are all right or all wrong, and samples more until the batch is full.

    The dynamic sampling of DAPO (arXiv:2503.14476). Every round asks for a whole batch of
    problems. The first groups with contrast are kept, in the order they were asked for. Accuracy
    and contrast are written of all that was sampled: those of what is kept measure no ability.
    """

    leaves_out: ClassVar[bool] = True
    needs_contrast: ClassVar[bool] = True

    max_rounds: int = attrs.field(
        default=10,
        validator=and_(ge(1), le(10_000)),
        metadata={"help": "at most, of a batch", "unit": "rounds"},
    )
    at_max_rounds: str = attrs.field(
        default="error",
        validator=option(*ENDS),
        metadata={
            "help": "'error' ends the run, 'train-partial' learns from what there is, "
            "'skip-update' from nothing"
        },
    )

    def most_groups(self, groups: int) -> int:
        """At most how many groups are sampled for a batch of ``groups``."""
        return self.max_rounds * groups

    def build(self, groups: int, rollouts: int, seed: int) -> DynamicRun:
        return DynamicRun(self, groups, rollouts)


class DynamicRun:
    """Batches of ``groups`` groups with contrast; it has no memory."""

    def __init__(self, settings: Dynamic, groups: int, rollouts: int) -> None:
        self._settings = settings
        self._groups = groups
        self._rollouts = rollouts

    def next(self, episodes: Episodes) -> Batch:
        kept: list[Group] = []
        dropped: list[Group] = []
        for rounds in range(1, self._settings.max_rounds + 1):
            asked = episodes.ask(self._groups)
            for group in episodes.score(finished(asked, episodes, self._rollouts)):
                room = len(kept) < self._groups
                (kept if room and has_contrast(group) else dropped).append(group)
            if len(kept) == self._groups:
                return Batch(groups=kept, dropped=dropped, rounds=rounds)
        return self._short(kept, dropped)

    def _short(self, kept: list[Group], dropped: list[Group]) -> Batch:
        rounds = self._settings.max_rounds
        if self._settings.at_max_rounds == "error":
            raise RunFailed(
                f"dynamic sampling found {len(kept)} of {self._groups} groups with right and wrong "
                f"answers in max_rounds = {rounds} rounds; make the problems easier or harder "
                "(problems.difficulty), allow more rounds, or set at_max_rounds"
            )
        if self._settings.at_max_rounds == "skip-update":
            return Batch(groups=[], dropped=[*kept, *dropped], rounds=rounds)
        return Batch(groups=kept, dropped=dropped, rounds=rounds)

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        assert not state
