"""A batch as soon as enough episodes have finished: for comparison, because it is biased."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, gt, le

from limite.core.jsonl import dumps, loads
from limite.core.rollout.store import group_lines, read_groups
from limite.core.rollout_kinds import Batch, Episodes, Request
from limite.core.types import Group, Response
from limite.plugins.rollout_schedules.groups import Sampled, by_sample


@attrs.frozen(kw_only=True)
class FillBuffer:
    """Keeps episodes running, and trains on the first groups to be complete. Biased; to compare.

    What finishes early is short and easy. With ``discard`` the rest is abandoned and the batch
    holds too much of that for ever: of 2B episodes that are long with probability 1/2, about
    1 in sqrt(4 pi B) of those kept is long. Without it the rest is waited for and goes into later
    batches: in the long run every kind has its share, and long ones are always the stalest. No more
    are begun than the next ``late_batches`` batches take in, so that none is older than that.
    Nothing is sampled across an update: what is under way ends with the weights it began with, and
    a checkpoint holds whole groups only.
    """

    leaves_out: ClassVar[bool] = True
    first_come: ClassVar[bool] = True

    ahead: float = attrs.field(
        default=2.0,
        validator=[gt(0.0), le(1000.0)],
        metadata={"help": "groups that are under way at once, for each of the batch"},
    )
    discard: bool = attrs.field(
        default=True, metadata={"help": "abandon what has not finished when the batch is full"}
    )
    late_batches: int = attrs.field(
        default=1,
        validator=and_(ge(1), le(1000)),
        metadata={
            "help": "by how many a group may come late, where nothing is abandoned",
            "unit": "rollout batches",
        },
    )

    @property
    def carries_over(self) -> bool:
        """Whether a batch may hold what was begun for one before it."""
        return not self.discard

    @property
    def most_batches_late(self) -> int:
        """By how many batches a group may come later than the one it was begun for."""
        return 0 if self.discard else self.late_batches

    def build(self, groups: int, rollouts: int, seed: int) -> FillBufferRun:
        return FillBufferRun(self, groups, rollouts)


class FillBufferRun:
    """Batches of the first ``groups`` groups to be complete; it remembers what is carried over."""

    def __init__(self, settings: FillBuffer, groups: int, rollouts: int) -> None:
        self._discard = settings.discard
        self._late = settings.late_batches * groups
        self._groups = groups
        self._rollouts = rollouts
        self._slots = max(1, round(settings.ahead * groups)) * rollouts
        self._carried: list[Carried] = []  # in the order they were complete
        self._asked = 0

    def next(self, episodes: Episodes) -> Batch:
        carried, self._carried = self._carried[: self._groups], self._carried[self._groups :]
        wanted, abandoned = self._groups - len(carried), 0
        if wanted:
            first, rest, abandoned = self._fill(episodes, wanted)
            groups = episodes.score([sampled for _, sampled in (*first, *rest)])
            scored = [
                Carried(asked=asked, lines=loads(dumps(list(group_lines([group])))))
                for (asked, _), group in zip((*first, *rest), groups, strict=True)
            ]
            carried += scored[: len(first)]
            self._carried += scored[len(first) :]
        # Which groups are the first depends on when they ended: that is the bias. Their order
        # within the batch does not.
        in_order = sorted(carried, key=lambda each: each.asked)
        return Batch(groups=[each.group() for each in in_order], abandoned=abandoned)

    def _fill(self, episodes: Episodes, wanted: int) -> tuple[list[Numbered], list[Numbered], int]:
        """The first groups to be complete, those that come after, and episodes seen no end of."""
        begun: list[Sequence[Request]] = []
        complete: list[int] = []
        answered: dict[int, list[Response]] = {}

        def requests() -> Iterator[Request]:
            # Carried over are at most the groups begun beyond this batch, which is used up first.
            most = wanted + self._late
            while self._discard or (len(complete) < wanted and len(begun) < most):
                (group,) = episodes.ask(1)
                begun.append(by_sample(group, self._rollouts))
                yield from begun[-1]

        responses = episodes.generate(requests(), slots=self._slots)
        for index, response in responses:
            at = index // self._rollouts
            answered.setdefault(at, []).append(response)
            if len(answered[at]) == self._rollouts:
                complete.append(at)
                if self._discard and len(complete) == wanted:
                    break
        getattr(responses, "close", lambda: None)()

        def numbered(at: int) -> Numbered:
            ordered = sorted(answered[at], key=lambda response: response.sample_index)
            return self._asked + at, (begun[at][0].problem, ordered)

        found = [numbered(at) for at in complete]
        self._asked += len(begun)
        abandoned = (len(begun) - len(complete)) * self._rollouts
        return found[:wanted], found[wanted:], abandoned

    def state(self) -> dict[str, Any]:
        return {"asked": self._asked, "carried": [attrs.asdict(each) for each in self._carried]}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._asked = int(state["asked"])
        self._carried = [Carried(**each) for each in state["carried"]]


Numbered = tuple[int, Sampled]
"""How many groups were asked for before it, and a group's responses."""


@attrs.frozen(kw_only=True)
class Carried:
    """A scored group as plain data, and how many were asked for before it."""

    asked: int
    lines: Sequence[Mapping[str, Any]]

    def group(self) -> Group:
        (group,) = read_groups(self.lines)
        return group
