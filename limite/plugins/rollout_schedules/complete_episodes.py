"""Every episode that is started is waited for and trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.rollout_kinds import Batch, Episodes
from limite.plugins.rollout_schedules.groups import finished


@attrs.frozen(kw_only=True)
class CompleteEpisodes:
    """Starts the episodes of an update together, waits for all of them, trains on all of them.

    Nothing replaces a finished episode and nothing is abandoned, so the batch is an exact sample of
    the policy: short and easy problems are not over-represented for having finished first.
    """

    def build(self, groups: int, rollouts: int, seed: int) -> CompleteEpisodesRun:
        return CompleteEpisodesRun(groups, rollouts)


class CompleteEpisodesRun:
    """Complete batches of ``groups`` groups of ``rollouts`` responses; it has no memory."""

    def __init__(self, groups: int, rollouts: int) -> None:
        self._groups = groups
        self._rollouts = rollouts

    def next(self, episodes: Episodes) -> Batch:
        asked = episodes.ask(self._groups)
        return Batch(groups=episodes.score(finished(asked, episodes, self._rollouts)))

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        assert not state
