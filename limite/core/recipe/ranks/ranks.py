"""What a stage asks of the processes that run it together; alone, it costs nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from limite.core.actor.rendezvous import Alone, Rendezvous
from limite.core.errors import RunFailed
from limite.core.types import Metric

Metrics = dict[str, Metric]


class RankLost(RunFailed):
    """A rank was killed or cannot be reached; what was saved before is good."""


class Ranks(Protocol):
    """The processes of a run. All of them run the same stages on the same data.

    What each does alone is its share of the rows of an update and of the responses of a batch;
    sums over ranks make of it what one process would have done. Rank 0 alone writes.
    """

    @property
    def rank(self) -> int: ...

    @property
    def world_size(self) -> int: ...

    @property
    def device(self) -> str:
        """Where this process computes, as torch names it."""
        ...

    @property
    def sharded(self) -> bool:
        """Whether weights, gradients and moments are shared out."""
        ...

    @property
    def host(self) -> Rendezvous:
        """Where ranks wait for each other between device collectives."""
        ...

    @property
    def actors(self) -> Rendezvous:
        """The same for what samples, perhaps in a thread of its own."""
        ...

    def share(self, sizes: Sequence[int]) -> range:
        """The indexes of ``sizes`` that are this rank's."""
        ...

    def sum_gradients(self, parameters: Iterable[nn.Parameter], what: str) -> None:
        """Makes every gradient the sum over ranks; one that no rank has stays None."""
        ...

    def collective(self, what: str) -> contextlib.AbstractContextManager[None]:
        """Within it, an exchange that cannot be made says which ranks are missing."""
        ...

    def note_given(self, tensor: Tensor) -> None:
        """Counts what this rank gives to a sum, or sends."""
        ...

    def note_gathered(self, tensor: Tensor, times: int = 1) -> None:
        """Counts what this rank is given, its own part among it."""
        ...

    def total(self, loss: float, metrics: Mapping[str, Metric], what: str) -> tuple[float, Metrics]:
        """The sum of the losses, and the metrics combined, in order of rank: the same for all."""
        ...

    def any(self, said: bool, what: str) -> bool:
        """Whether any rank says so: what all of them have to decide alike."""
        ...

    def same(self, value: Any, what: str) -> None:
        """Refuses to go on where ranks differ in what must be the same for all."""
        ...

    def follow(self, what: str) -> None:
        """Returns once rank 0 is here too, however long it works, as long as it lives."""
        ...


class OneRank:
    """The only process there is."""

    rank = 0
    world_size = 1
    sharded = False

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.host: Rendezvous = Alone()
        self.actors: Rendezvous = Alone()

    def share(self, sizes: Sequence[int]) -> range:
        return range(len(sizes))

    def sum_gradients(self, parameters: Iterable[nn.Parameter], what: str) -> None:
        """They are what they are."""

    def collective(self, what: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def note_given(self, tensor: Tensor) -> None:
        """Nothing is sent."""

    def note_gathered(self, tensor: Tensor, times: int = 1) -> None:
        """Nothing is received."""

    def total(self, loss: float, metrics: Mapping[str, Metric], what: str) -> tuple[float, Metrics]:
        return loss, dict(metrics)

    def any(self, said: bool, what: str) -> bool:
        return said

    def same(self, value: Any, what: str) -> None:
        """There is nobody to differ from."""

    def follow(self, what: str) -> None:
        """There is nobody to wait for."""
