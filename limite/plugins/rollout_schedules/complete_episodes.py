"""Every episode that is started is waited for and trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.kinds import Generate, Request
from limite.core.types import Problem, Response


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

    def next(
        self, groups: Iterator[Sequence[Request]], generate: Generate
    ) -> list[tuple[Problem, Sequence[Response]]]:
        """The next ``groups`` groups in the order they came, responses by sample index."""
        chosen = [
            sorted(group, key=lambda request: request.sample_index)
            for group in islice(groups, self._groups)
        ]
        if len(chosen) < self._groups:
            raise LimiteError(f"an update needs {self._groups} problems, only {len(chosen)} came")
        for group in chosen:
            assert len({request.sample_index for request in group}) == self._rollouts == len(group)
            assert len({request.problem.id for request in group}) == 1
        requests = [request for group in chosen for request in group]
        responses: list[Response | None] = [None] * len(requests)
        for index, response in generate(requests):
            assert responses[index] is None, f"request {index} was answered twice"
            responses[index] = response
        complete = [response for response in responses if response is not None]
        assert len(complete) == len(requests), "a request was never answered"
        return [
            (group[0].problem, complete[at * self._rollouts : (at + 1) * self._rollouts])
            for at, group in enumerate(chosen)
        ]

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        assert not state
