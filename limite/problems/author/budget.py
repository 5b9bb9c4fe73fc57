"""What a run may spend, and what it has spent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import attrs


class Stopped(Exception):
    """No further request may be made; the reason in a few words."""


@attrs.frozen(kw_only=True)
class Prices:
    """Money for a million tokens, None where nobody said."""

    tokens_in: float | None = None
    tokens_out: float | None = None

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """What so many cost, None where a price that matters is unknown."""
        if self.tokens_in is None or self.tokens_out is None:
            return None
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


@attrs.frozen(kw_only=True)
class Most:
    """The most of each thing that one call of the command may take; None is no bound."""

    requests: int | None = None
    tokens: int | None = None
    cost: float | None = None
    time_s: float | None = None


class Budget:
    """Lets requests through while there is something left. Safe to use from several threads.

    Each is charged the most it can take until its reply tells what it took, so that no bound is
    ever passed; a server that does not tell keeps the charge.
    """

    def __init__(
        self, most: Most, prices: Prices, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most, self.prices = most, prices
        self.requests = self.tokens_in = self.tokens_out = 0
        self.in_flight = 0
        self.untold = 0
        self._clock = clock
        self._began_s = clock()
        self._held = [0, 0]
        self._changed = threading.Condition()
        self.reason = ""

    @property
    def spent_s(self) -> float:
        return self._clock() - self._began_s

    @property
    def cost(self) -> float | None:
        """The money that the replies so far took, None where it is unknown."""
        return self.prices.cost(self.tokens_in, self.tokens_out)

    def stop(self, reason: str) -> None:
        """Lets nothing more through."""
        with self._changed:
            self.reason = self.reason or reason
            self._changed.notify_all()

    def take(self, tokens_in: int, tokens_out: int) -> None:
        """Waits until a request of that size at most may be made; Stopped where none may."""
        with self._changed:
            while True:
                if self.reason:
                    raise Stopped(self.reason)
                lacking = self._lacking(tokens_in, tokens_out)
                if not lacking:
                    break
                if not self.in_flight or "--max-time" in lacking or "--max-req" in lacking:
                    self.reason = lacking
                    self._changed.notify_all()
                    raise Stopped(lacking)
                self._changed.wait(1.0)  # what is under way may take less than it was charged
            self.requests += 1
            self.in_flight += 1
            self._held[0] += tokens_in
            self._held[1] += tokens_out

    def _lacking(self, tokens_in: int, tokens_out: int) -> str:
        most = self.most
        if most.time_s is not None and self.spent_s >= most.time_s:
            return f"--max-time {most.time_s:g}: the time is over"
        if most.requests is not None and self.requests >= most.requests:
            return f"--max-requests {most.requests}: so many were made"
        all_in = self.tokens_in + self._held[0] + tokens_in
        all_out = self.tokens_out + self._held[1] + tokens_out
        if most.tokens is not None and all_in + all_out > most.tokens:
            used = self.tokens_in + self.tokens_out
            return f"--max-tokens-total {most.tokens}: {used:,} are used, and one more may not fit"
        cost = self.prices.cost(all_in, all_out)
        if most.cost is not None and cost is not None and cost > most.cost:
            return f"--max-cost {most.cost:g}: {self.cost:.4f} is spent, and one more may not fit"
        return ""

    def give(self, taken: tuple[int, int], used: tuple[int, int] | None) -> None:
        """A request has ended: what it was charged, and what it used if the server has told."""
        with self._changed:
            self.in_flight -= 1
            self._held[0] -= taken[0]
            self._held[1] -= taken[1]
            self.untold += used is None
            found = taken if used is None else used
            self.tokens_in += found[0]
            self.tokens_out += found[1]
            self._changed.notify_all()
