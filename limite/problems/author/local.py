"""A model that is here as the writer: sampled by limite itself, one request at a time."""

from __future__ import annotations

import threading

from limite.core.endpoint.replies import KeptReplies, request_hash
from limite.core.types import Answer, Problem
from limite.problems.author.budget import Budget
from limite.problems.author.server import NoReply, Reply
from limite.problems.gen.local_policy import LocalPolicy


class Local:
    """Samples a model's directory, or what a run has trained. Its replies are kept too."""

    host = "here"
    silent = False

    def __init__(
        self,
        policy: LocalPolicy,
        *,
        kept: KeptReplies,
        budget: Budget,
    ) -> None:
        self._policy = policy
        self.name = policy.name
        self._kept = kept
        self._budget = budget
        self._lock = threading.Lock()

    def reply(self, kind: str, model: str, prompt: str, seed: int) -> Reply:
        """The reply; its randomness is that of the prompt and of the seed."""
        key = request_hash([dict(self._policy.record), kind, prompt, seed])
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                found = self._sampled(prompt, seed)
                self._kept.keep([(key, found)])
        return Reply(text=found["text"])

    def _sampled(self, prompt: str, seed: int) -> dict[str, str]:
        self._budget.take(0, 0)
        try:
            answer = Answer(type="integer", value=str(seed))  # equal prompts, other samples
            reply = self._policy.answer([Problem(problem=prompt, answer=answer)], 1)[0][0]
        finally:
            self._budget.give((0, 0), (0, 0))
        if reply.text is None:
            raise NoReply(reply.failure)
        return {"text": reply.text}

    def check(self) -> None:
        """A model that is here does not go away."""

    def close(self) -> None:
        self._policy.close()
