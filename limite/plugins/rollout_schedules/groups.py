"""What rollout schedules share: groups of requests sampled to their ends, and put in order."""

from __future__ import annotations

from collections.abc import Sequence

from limite.core.rollout_kinds import Episodes, Request
from limite.core.types import Group, Problem, Response

Sampled = tuple[Problem, Sequence[Response]]


def finished(
    groups: Sequence[Sequence[Request]], episodes: Episodes, rollouts: int
) -> list[Sampled]:
    """All responses to ``groups``, in the order they were asked for, whichever ended first."""
    requests = [request for group in groups for request in by_sample(group, rollouts)]
    responses: list[Response | None] = [None] * len(requests)
    for index, response in episodes.generate(requests):
        assert responses[index] is None, f"request {index} was answered twice"
        responses[index] = response
    complete = [response for response in responses if response is not None]
    assert len(complete) == len(requests), "a request was never answered"
    return [
        (group[0].problem, complete[at * rollouts : (at + 1) * rollouts])
        for at, group in enumerate(groups)
    ]


def by_sample(group: Sequence[Request], rollouts: int) -> list[Request]:
    """The requests of one group by sample index, after seeing to it that it is whole."""
    assert len({request.sample_index for request in group}) == rollouts == len(group)
    assert len({request.problem.id for request in group}) == 1
    return sorted(group, key=lambda request: request.sample_index)


def has_contrast(group: Group) -> bool:
    """Whether the scored responses of a group are neither all right nor all wrong.

    Accuracy decides, not the reward: shaping makes rewards differ where every answer is wrong.
    """
    outcomes = {
        right
        for right, reward in zip(group.correct, group.rewards, strict=True)
        if reward is not None
    }
    return len(outcomes) == 2
