"""The kinds of component that sample responses: what is asked for, by whom, and from what.

As in ``limite.core.kinds``: a component is settings, and ``build`` returns the thing that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import attrs

from limite.core.types import Group, Problem, Response

if TYPE_CHECKING:
    from limite.core.health.limits import HealthLimits
    from limite.core.model.decoder import Decoder
    from limite.core.rollout.repetition import RepetitionDetector
    from limite.core.tokenizer import Tokenizer


@attrs.frozen(kw_only=True)
class Request:
    """One episode to sample: a response to ``problem``, the ``sample_index``-th of its group."""

    problem: Problem
    sample_index: int
    prompt_ids: tuple[int, ...]
    budget_tokens: int


class Episodes(Protocol):
    """What a rollout schedule makes the batch of one update from."""

    def ask(self, count: int) -> list[Sequence[Request]]:
        """The next ``count`` groups of requests: one problem each, all its samples. Never ends.

        Problems come by the curriculum as it stands; outcomes that were scored since count.
        """
        ...

    def generate(
        self, requests: Iterable[Request], *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        """Samples requests and gives (how many came before it, response) in order of completion.

        At most ``slots`` are under way at once, and a request is taken only when there is room to
        begin it. Closing the iterator abandons the rest.
        """
        ...

    def score(self, sampled: Sequence[tuple[Problem, Sequence[Response]]]) -> Sequence[Group]:
        """Verdicts and rewards of whole groups, in order."""
        ...


@attrs.frozen(kw_only=True)
class Batch:
    """What a rollout schedule gives: groups to learn from, and those that it scored and left out.

    Both are in the order in which they were asked for. ``rounds`` says how often it asked, and
    ``abandoned`` how many episodes it began and never saw the end of.
    """

    groups: Sequence[Group]
    dropped: Sequence[Group] = ()
    rounds: int = 1
    abandoned: int = 0


class RolloutRun(Protocol):
    """A rollout schedule at work. ``state`` is plain data."""

    def next(self, episodes: Episodes) -> Batch:
        """The batch of one update: whole groups, in an order that completion times do not touch."""
        ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


@runtime_checkable
class RolloutSchedule(Protocol):
    """Decides which episodes form the batch of an update, always in whole groups.

    ``leaves_out`` (a class variable, optional) is True of one that does not learn from all that it
    samples: how much it leaves out is then written beside the other metrics. ``first_come`` (a
    class variable, optional) is True of one whose batch depends on who ends first, as none should.
    ``carries_over`` (an attribute, optional) is True of one whose batches may hold responses that
    were begun for an earlier one: `limite verify` takes no others of an earlier policy. How many
    batches late at most is then for ``most_batches_late`` to say (1 if left out); what is older
    than ``max_policy_lag`` is refused.
    ``most_groups(groups)`` (optional) says how many may be sampled for a batch, for the plan.
    ``needs_contrast`` (a class variable, optional) is True of one that looks for groups with right
    and wrong answers: groups of one response are then refused.
    """

    def build(self, groups: int, rollouts: int, seed: int) -> RolloutRun: ...


@attrs.frozen(kw_only=True, eq=False)
class Policy:
    """What responses are sampled from: weights with their version, and the seed of a step's batch.

    The version counts the updates before it: equal versions of a stage are equal weights.
    """

    decoder: Decoder
    version: int
    step: int
    seed: int


@attrs.frozen(kw_only=True, eq=False)
class EngineContext:
    """What an engine may know of the stage it serves.

    ``listed_tokens`` and ``detector`` are as ``limite.core.rollout.sampler`` has them. What an
    engine must keep for as long as the stage runs goes into ``directory``, which need not be there
    yet. ``export(decoder, target, dtype)`` writes a model's directory, ``replay(decoder, prompt,
    completion)`` gives what the learner says of each completion token, in nats.
    """

    tokenizer: Tokenizer
    temperature: float
    listed_tokens: int | None
    detector: RepetitionDetector | None
    limits: HealthLimits
    directory: Path
    export: Callable[[Decoder, Path, str | None], None]
    replay: Callable[[Decoder, Sequence[int], Sequence[int]], list[float]]
    echo: Callable[[str], None]


class EngineRun(Protocol):
    """An engine at work. It has no state that a checkpoint would need.

    ``keeps_responses`` (a class variable, optional) is True of one that gives a response which it
    has given once again without sampling it, also in a later process: a run that is asked to stop
    then leaves a batch at its next response, and otherwise waits for all of it.
    """

    def generate(
        self, requests: Iterable[Request], policy: Policy, *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        """Samples requests and gives (how many came before it, response) in order of completion.

        At most ``slots`` are under way at once, and a request is taken only when there is room to
        begin it. Closing the iterator abandons the rest. Whatever is not sampled from ``policy``,
        at the temperature and with nothing cut off, raises a LimiteError.
        """
        ...

    def metrics(self) -> Mapping[str, float]:
        """What to write of the batch that was sampled last; names of seconds begin with time/."""
        ...

    def close(self) -> None:
        """The stage is finished: what was kept for going on with it may go."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Samples the responses of an RL stage: in this process, or wherever it likes.

    ``faults()`` (optional) gives pairs of a setting and of what is wrong with it, for ``limite
    check``. ``takes_files`` (a class variable, optional) is True of one that needs the policy as a
    model's directory: a stage whose model cannot be written as one is then refused. ``keeps_gib``
    (optional) says what it keeps on a GPU from batch to batch, at most, for the plan. One that has
    a setting ``url`` is held to its laws with a server that the laws start, and told its address.
    """

    def build(self, context: EngineContext) -> EngineRun: ...
