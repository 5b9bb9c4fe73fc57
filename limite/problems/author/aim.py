"""How often a given model solves a problem: measured, and what is asked for next because of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import attrs

from limite.core.endpoint.replies import KeptReplies, request_hash
from limite.core.kinds import Verifier
from limite.core.rollout.grading import verdicts_on
from limite.core.seeds import Seeds
from limite.core.types import Problem
from limite.problems.author.budget import Budget
from limite.problems.author.filters import Rejected
from limite.problems.author.server import NoReply, Waiting, Writer
from limite.problems.gen.local_policy import LocalPolicy
from limite.problems.gen.policies import INSTRUCTION, asked

LAST, FEWEST = 8, 3
"""What is asked for next depends on the last problems of a topic, and on no fewer than these."""


class Reader(Protocol):
    """The model that problems are meant for."""

    name: str

    @property
    def silent(self) -> bool:
        """As of a writer."""
        ...

    def attempts(self, problem: Problem, samples: int) -> Sequence[str]:
        """Its responses, each paid for once in all runs; a NoReply where none came."""
        ...

    def check(self) -> None:
        """Raises RunFailed where it was given up."""
        ...

    def close(self) -> None: ...


@attrs.frozen(kw_only=True)
class Aim:
    """Measures problems, and refuses those that lie outside of ``low`` to ``high``."""

    reader: Reader
    judge: Verifier
    samples: int
    low: float = 0.0
    high: float = 1.0
    _lock: threading.Lock = attrs.field(factory=threading.Lock, repr=False)

    def measured(self, problem: Problem) -> tuple[Problem, int]:
        """The problem with its pass rate, and how many responses were right."""
        texts = self.reader.attempts(problem, self.samples)
        with self._lock:
            verdicts = verdicts_on(self.judge, [(problem.answer, text) for text in texts])
        right = sum(verdict.correct for verdict in verdicts)
        found = {
            "pass_rate": right / len(texts),
            "samples": len(texts),
            "policy": self.reader.name,
        }
        return attrs.evolve(problem, difficulty={**problem.difficulty, **found}), right

    def refuse(self, problem: Problem, right: int) -> None:
        """Raises Rejected where its measured pass rate is not the one that is aimed at."""
        rate = problem.difficulty["pass_rate"]
        told = f"{right} of {problem.difficulty['samples']} were right"
        if rate < self.low:
            raise Rejected("too-hard", told)
        if rate > self.high:
            raise Rejected("too-easy", told)

    def hint(self, rates: Sequence[float]) -> str:
        """What to say of how hard the next problem should be, after the pass rates of others."""
        last = rates[-LAST:]
        if len(last) < FEWEST:
            return ""
        mean = sum(last) / len(last)
        if self.low <= mean <= self.high:
            return ""
        how = "easier" if mean < self.low else "harder"
        return (
            f". The reader it is meant for solved the last {len(last)} in {mean:.0%} of all "
            f"attempts: make this one {how}"
        )


class Behind:
    """A model behind an endpoint. Safe to use from several threads."""

    def __init__(self, server: Writer, model: str, seed: int) -> None:
        self.name = f"{model} at {server.host}"
        self._server, self._model, self._seed = server, model, seed

    @property
    def silent(self) -> bool:
        return self._server.silent

    def attempts(self, problem: Problem, samples: int) -> Sequence[str]:
        text, failed = asked(problem, INSTRUCTION), ""
        found, waiting = [], []
        for number in range(samples):
            # 31 bits: servers differ in how much of a seed they take.
            seed = Seeds(self._seed).integer("author", "attempt", problem.id, number) >> 33
            try:
                found.append(self._server.reply("attempt", self._model, text, seed).text)
            except NoReply as error:
                failed = str(error)
            except Waiting as error:
                waiting.append(error)
        if waiting:
            raise waiting[0]
        if not found:
            raise NoReply(failed)
        return found

    def check(self) -> None:
        self._server.check()

    def close(self) -> None:
        self._server.close()


class Here:
    """A model that is sampled here, all attempts at a problem together."""

    silent = False

    def __init__(self, policy: LocalPolicy, kept: KeptReplies, budget: Budget) -> None:
        self.name = policy.name
        self._policy, self._kept, self._budget = policy, kept, budget
        self._lock = threading.Lock()

    def attempts(self, problem: Problem, samples: int) -> Sequence[str]:
        record: Mapping[str, Any] = self._policy.record
        key = request_hash([dict(record), "attempt", problem.id, samples])
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                found = {"texts": self._sampled(problem, samples)}
                self._kept.keep([(key, found)])
        return list(found["texts"])

    def _sampled(self, problem: Problem, samples: int) -> list[str]:
        self._budget.take(0, 0)
        try:
            replies = self._policy.answer([problem], samples)[0]
        finally:
            self._budget.give((0, 0), (0, 0))
        texts = [reply.text for reply in replies if reply.text is not None]
        if not texts:
            raise NoReply(replies[0].failure)
        return texts

    def check(self) -> None:
        """A model that is here does not go away."""

    def close(self) -> None:
        self._policy.close()
