"""Many problems, several at a time, in rounds: the same file whatever comes back first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.core.endpoint.together import as_they_come
from limite.problems.author.budget import Stopped
from limite.problems.author.journal import Journal
from limite.problems.author.pipeline import Pipeline
from limite.problems.author.report import Counts
from limite.problems.author.topics import Topic, drawn

ROUND = 32
"""So many problems are asked for before it is looked at which of them repeat one another."""

Outcome = Mapping[str, Any]


@attrs.define
class Run:
    """Asks for problems until ``wanted`` are accepted, ``most`` were asked for, or it is stopped.

    A round asks for no more than are missing, so none is paid for that is not wanted. What a round
    knows of earlier problems was settled before it began.
    """

    journal: Journal
    pipeline: Pipeline
    topics: Sequence[Topic]
    wanted: int
    most: int
    at_once: int
    tell: Callable[[Run], object] = lambda _run: None
    round_size: int = ROUND
    accepted: list[Outcome] = attrs.field(factory=list)
    refused: list[Outcome] = attrs.field(factory=list)
    _unsure: dict[int, Outcome] = attrs.field(factory=dict)
    _heard: bool = False
    _avoid: dict[str, list[str]] = attrs.field(factory=lambda: defaultdict(list))
    _rates: dict[str, list[float]] = attrs.field(factory=lambda: defaultdict(list))

    @property
    def counts(self) -> Counts:
        """What is settled so far."""
        return Counts.of([*self.accepted], [*self.refused])

    def __call__(self) -> bool:
        """Whether it came to its end, and was not stopped."""
        while len(self.accepted) < self.wanted and self._asked < self.most:
            start = self._asked
            size = min(self.round_size, self.wanted - len(self.accepted), self.most - start)
            found = self._round(range(start, start + size))
            for slot in range(start, start + size):
                if slot not in found:
                    self._forget()
                    return False  # what comes after it might repeat it
                self._settle(slot, found[slot])
            self.tell(self)
        if self._unsure and not self._heard:
            self._forget()
            return False
        self._sure()
        return True

    @property
    def _asked(self) -> int:
        return len(self.accepted) + len(self.refused)

    def _round(self, slots: range) -> dict[int, Outcome]:
        known = {slot: self.journal.get(slot) for slot in slots}
        found: dict[int, Outcome] = {slot: line for slot, line in known.items() if line is not None}
        failed: dict[int, Outcome] = {}
        missing = [slot for slot in slots if slot not in found]
        for _, (slot, outcome) in as_they_come(self._calls(missing), self.at_once):
            if outcome is None:
                continue
            if outcome["outcome"] == "failed":
                failed[slot] = outcome
            else:
                found[slot] = outcome
            self.tell(self)
        if len(found) + len(failed) == len(slots):
            for slot, outcome in failed.items():
                found[slot] = self._unsure[slot] = outcome.get("instead", outcome)
            if not self.pipeline.silent:
                self._sure()
        return found

    def _sure(self) -> None:
        """The server goes on replying: what has failed is settled, and asked for no more."""
        for slot, outcome in self._unsure.items():
            self.journal.keep(slot, outcome)
        self._unsure.clear()

    def _forget(self) -> None:
        """What failed since the server went silent is asked for again by the next run."""
        for settled in (self.accepted, self.refused):
            settled[:] = [each for each in settled if each["slot"] not in self._unsure]

    def _calls(self, slots: Sequence[int]) -> Iterator[Callable[[], tuple[int, Outcome | None]]]:
        for slot in slots:
            yield lambda slot=slot: (slot, self._decided(slot))  # type: ignore[misc]

    def _decided(self, slot: int) -> Outcome | None:
        topic = drawn(self.topics, self.pipeline.terms.seed, slot)
        try:
            earlier = self._avoid[topic.name], self._rates[topic.name]
            outcome = self.pipeline.decide(slot, topic, *earlier)
        except Stopped:
            return None
        if outcome["outcome"] != "failed":
            self._heard = True
            self.journal.keep(slot, outcome)
        return outcome

    def _settle(self, slot: int, outcome: Outcome) -> None:
        """One list grows by one line, so that an interruption leaves counts that add up."""
        if "pass_rate" in outcome:
            self._rates[outcome["topic"]].append(outcome["pass_rate"])
        if outcome["outcome"] == "accepted":
            text, topic = outcome["record"]["problem"], outcome["topic"]
            # Another of the same round may have come before it.
            fault = self.pipeline.known.find(text)
            if fault is None:
                self.pipeline.known.add(text, f"request {slot}")
                self._avoid[topic].append(text)
                if "variants" in outcome:
                    outcome = {**outcome, "variants": self._new(slot, outcome["variants"])}
                self.accepted.append({**outcome, "slot": slot})
                return
            outcome = {**outcome, "outcome": "rejected", "reason": fault[0], "shown": fault[1]}
        self.refused.append({**outcome, "slot": slot})

    def _new(self, slot: int, variants: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Of the variants of a problem those that no problem before them is."""
        known, kept = self.pipeline.known, []
        for record in variants:
            text, number = record["problem"], record["source"]["variant"]
            if known.find(text, capped=False) is None:
                known.add(text, f"request {slot}, variant {number}", made=False)
                kept.append(record)
        return kept
