"""Ranks that torchrun started: sums through ``torch.distributed``, words through its store."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import attrs
from torch import Tensor, nn

from limite.core.actor.rendezvous import Store, StoreRendezvous
from limite.core.errors import LimiteError, RunFailed
from limite.core.explained_variance import ExplainedVariance
from limite.core.recipe.ranks.beats import Beats
from limite.core.recipe.ranks.gradients import sum_gradients
from limite.core.recipe.ranks.ranks import Metrics, RankLost
from limite.core.recipe.ranks.shares import shares
from limite.core.types import Metric

ENDED = "limite/ended"
LOOK_EVERY_S = 0.1
SILENT_S = 20.0
"""After so long without a sign a rank that is waited for is given up."""
_METRICS: Mapping[str, type[Metric]] = {each.__name__: each for each in (Metric, ExplainedVariance)}


class OtherRankEnded(RunFailed):
    """Another rank has ended by an error, which its own message is about."""


class Together:
    """One rank of several. ``reduce`` is a sum or maximum over them, in place; ``store`` is theirs.

    A rank that ends by an error leaves word of it, so that those who wait for it can say why it
    does not come.
    """

    def __init__(
        self,
        store: Store,
        reduce: Callable[[Tensor, str], None],
        *,
        rank: int,
        world_size: int,
        timeout_s: float,
        device: str = "cpu",
        sharded: bool = False,
    ) -> None:
        self.device = device
        self.sharded = sharded
        self.rank = rank
        self.world_size = world_size
        self.timeout_s = timeout_s
        self.given_bytes = 0
        """What this rank has given to sums of gradients, and sent of matrices."""
        self.gathered_bytes = 0
        """What this rank was given of weights, its own part among it."""
        self._followed = 0
        self._store = store
        self._reduce = reduce
        self._beats = Beats(
            store,
            rank=rank,
            world_size=world_size,
            patience_s=min(SILENT_S, timeout_s),
            unheard=self._cut_off,
        )
        self.host, self.actors = (
            StoreRendezvous(
                store,
                rank=rank,
                world_size=world_size,
                timeout_s=timeout_s,
                purpose=purpose,
                look_for=self.look_for,
            )
            for purpose in ("host", "actors")
        )

    @contextlib.contextmanager
    def alive(self) -> Iterator[Together]:
        """Within it this rank gives signs of life, and leaves word if it ends by an error."""
        with self._beats:
            try:
                yield self
            except BaseException as error:
                self._leave_word(error)
                raise

    def _leave_word(self, error: BaseException) -> None:
        with contextlib.suppress(RuntimeError):
            if self.ended() is None:
                told = str(error) or type(error).__name__
                self._store.set(ENDED, json.dumps({"rank": self.rank, "told": told}))

    def _cut_off(self) -> None:
        """Ends this process, whose main thread may wait for an answer that will never come."""
        sys.stderr.write(
            f"error: rank {self.rank} of {self.world_size} has had no answer from the store of "
            f"the ranks for {min(SILENT_S, self.timeout_s):.0f} s: the host that keeps it, "
            "that of rank 0, stands still or cannot be reached\n"
        )
        sys.stderr.flush()
        os._exit(1)

    def ended(self) -> str | None:
        """What a rank that ended by an error has left word of; None while all is well."""
        if not self._store.check([ENDED]):
            return None
        left = json.loads(self._store.get(ENDED))
        return f"rank {left['rank']} of {self.world_size} ended: {left['told']}"

    def look_for(self, missing: Sequence[int], what: str) -> None:
        """Raises RunFailed where some of the ranks that are waited for will not come."""
        word = self.ended()
        if word is not None:
            raise OtherRankEnded(f"rank {self.rank} waits at {what!r} in vain: {word}")
        lost = self._beats.silent(missing, min(SILENT_S, self.timeout_s))
        if lost:
            raise RankLost(f"rank {self.rank} waits at {what!r} in vain: {self._no_sign(lost)}")

    def _no_sign(self, lost: Sequence[int]) -> str:
        many = len(lost) > 1
        return (
            f"rank{'s' * many} {', '.join(map(str, lost))} of {self.world_size} "
            f"{'give' if many else 'gives'} no sign of life"
        )

    def share(self, sizes: Sequence[int]) -> range:
        return shares(sizes, self.world_size)[self.rank]

    def sum_gradients(self, parameters: Iterable[nn.Parameter], what: str) -> None:
        with self.collective(what):
            self.given_bytes += sum_gradients(parameters, self._reduce)

    def follow(self, what: str) -> None:
        key = f"limite/followed-{self._followed}"
        self._followed += 1
        if self.rank == 0:
            self._store.set(key, what)
            return
        while not self._store.check([key]):
            self.look_for([0], what)
            time.sleep(LOOK_EVERY_S)

    def part(self) -> None:
        """Leaves the others, rank 0 last: its process may be what keeps the store."""
        self.host.arrive("the end of the run")
        if self.rank:
            self._store.set(_left(self.rank), "")
            return
        missing = list(range(1, self.world_size))
        while missing := [each for each in missing if not self._store.check([_left(each)])]:
            self.look_for(missing, "the end of the run")
            time.sleep(LOOK_EVERY_S / 10)

    @contextlib.contextmanager
    def collective(self, what: str) -> Iterator[None]:
        """Says who is missing when a sum cannot be made."""
        try:
            yield
        except RuntimeError as error:
            if isinstance(error, LimiteError):
                raise
            raise self._why(what, error) from error

    def note_given(self, tensor: Tensor) -> None:
        self.given_bytes += tensor.numel() * tensor.element_size()

    def note_gathered(self, tensor: Tensor, times: int = 1) -> None:
        self.gathered_bytes += times * tensor.numel() * tensor.element_size()

    def _why(self, what: str, error: RuntimeError) -> RunFailed:
        """What a sum that could not be made comes from."""
        with contextlib.suppress(RuntimeError):
            lost = self._beats.lost()
            word = self.ended()
            if word is not None:
                return OtherRankEnded(f"{what}: {word}")
            if lost:
                return RankLost(f"{what}: {self._no_sign(lost)}")
            return RunFailed(
                f"{what}: ranks could not be summed within {timedelta(seconds=self.timeout_s)}, "
                f"and all of them live: {error}"
            )
        return RunFailed(f"{what}: the store of the ranks is gone, and whoever kept it: {error}")

    def total(self, loss: float, metrics: Mapping[str, Metric], what: str) -> tuple[float, Metrics]:
        own = {name: [type(each).__name__, attrs.asdict(each)] for name, each in metrics.items()}
        told = self.host.gather([loss, own], what)
        combined: Metrics = {}
        for _, theirs in told:
            for name, (kind, fields) in theirs.items():
                metric = _METRICS[kind](**fields)
                combined[name] = combined[name].combine(metric) if name in combined else metric
        return sum(share for share, _ in told), combined

    def any(self, said: bool, what: str) -> bool:
        return any(self.host.gather(said, what))

    def same(self, value: Any, what: str) -> None:
        told = self.host.gather(value, what)
        others = [rank for rank, each in enumerate(told) if each != told[0]]
        if others:
            named = ", ".join(map(str, others))
            raise RunFailed(
                f"{what}: rank{'s' * (len(others) > 1)} {named} of {self.world_size} and rank 0 "
                f"differ: {told[others[0]]} and {told[0]}"
            )


def _left(rank: int) -> str:
    return f"limite/left/rank-{rank}"
