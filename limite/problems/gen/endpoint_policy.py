"""A model behind an endpoint as a policy; every reply is kept, so that none is asked for twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from limite.core.endpoint.replies import KeptReplies, request_hash
from limite.core.errors import RunFailed
from limite.core.seeds import Seeds
from limite.core.types import Problem
from limite.problems.gen.endpoint import Endpoint
from limite.problems.gen.policies import Reply, asked

IN_A_ROW = 20
"""So many failures without one reply between them end the run."""


class EndpointPolicy:
    """Asks an endpoint for each response, several at a time.

    ``kept`` is a file of replies by what was asked; those in it are not asked for again.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        kept: Path,
        seed: int,
        temperature: float,
        max_tokens: int,
        instruction: str,
        concurrency: int,
    ) -> None:
        self._endpoint = endpoint
        self.name = f"{endpoint.model} at {endpoint.host}"
        self.record: Mapping[str, Any] = {
            "policy": self.name,
            "seed": seed,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "instruction": instruction,
        }
        self.at_once = 4 * concurrency
        self._kept = KeptReplies(kept)
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="endpoint")
        self._failures = 0

    def answer(self, problems: Sequence[Problem], samples: int) -> list[list[Reply]]:
        """``samples`` replies to each problem. Those that came are kept whatever happens next."""
        turns = [(problem, number) for problem in problems for number in range(samples)]
        waiting = [self._pool.submit(self._reply, *turn) for turn in turns]
        try:
            found = [future.result() for future in waiting]
        except BaseException:
            # Nothing new is asked; what was asked already may still come, and is paid for.
            self._endpoint.end()
            for future in waiting:
                future.cancel()
            wait(waiting)
            self._keep([future.result() for future in waiting if _came(future)])
            raise
        self._keep(found)
        replies = [reply for _, reply in found]
        return [replies[at : at + samples] for at in range(0, len(replies), samples)]

    def _reply(self, problem: Problem, number: int) -> tuple[str, Reply]:
        text = asked(problem, self.record["instruction"])
        terms = {
            "temperature": self.record["temperature"],
            "max_tokens": self.record["max_tokens"],
            # 31 bits: servers differ in how much of a seed they take.
            "seed": Seeds(self.record["seed"]).integer("calibrate", problem.id, number) >> 33,
        }
        key = request_hash([self.name, text, terms])
        known = self._kept.get(key)
        if known is not None:
            return "", Reply(text=known["text"])
        reply = self._endpoint.chat(text, terms)
        self._failures = 0 if reply.text is not None else self._failures + 1
        if self._failures >= IN_A_ROW:
            self._endpoint.end()
            raise RunFailed(
                f"{self._endpoint.host}: {self._failures} requests in a row failed, the last by "
                f"{reply.failure}; the same command goes on from the replies that came"
            )
        return key, reply

    def _keep(self, found: Sequence[tuple[str, Reply]]) -> None:
        self._kept.keep(
            (key, {"text": reply.text}) for key, reply in found if key and reply.text is not None
        )

    def close(self) -> None:
        """Asks for nothing more."""
        self._endpoint.end()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _came(future: Future[Any]) -> bool:
    return not future.cancelled() and future.exception() is None
