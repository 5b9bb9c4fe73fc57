"""A model behind an OpenAI-compatible server, as something that can be measured."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import attrs

from limite.core.endpoint.client import (
    Address,
    Client,
    Final,
    Hopeless,
    Passing,
    Patience,
    Unanswered,
)
from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import dumps
from limite.core.recipe.sample import Speaker, speaker_in
from limite.core.recipe.trained import Trained
from limite.core.rollout.budget import reasoning_is_closed
from limite.core.seeds import Seeds
from limite.core.types import FinishReason, Problem
from limite.evaluate.journal import Recorded
from limite.evaluate.models import RESERVED, Prompted, Terms, ends_of, opened_by, prompts_of
from limite.evaluate.profiles import CHAT, Profile, default_kind
from limite.problems.gen.endpoint import PATH as TURNS
from limite.problems.gen.endpoint import key_in
from limite.problems.gen.endpoint_policy import IN_A_ROW

TEXT = "/completions"
APART = ("reasoning_content", "reasoning")
"""Where servers put what a model thought, if they tell it apart."""

MEASURING = Patience(replies=False)
"""A reply that came is never asked for again: that would be another draw."""

PUBLISHED = Patience(retries=3, states=frozenset(), replies=False, first_wait_s=1.0, jitter=0.0)
"""As the publisher does: four attempts with 1, 2 and 4 s between them where a request got no answer
at all; an answer that tells an error is one."""


@attrs.frozen(kw_only=True)
class Reply:
    """What a server has said to one request."""

    text: str
    finish_reason: FinishReason
    reasoning_closed: bool
    prompt_tokens: int
    generated_tokens: int
    apart: bool = False


class ServedModel:
    """Asks one model of one server, several requests at a time.

    With ``speaker``, the directory that the server serves, prompts are counted and budgets follow
    from the context, as they do for a model that is here. Without, ``max_tokens`` is the budget.
    Unless thinking may be told ``apart`` from the answer, a reply that does so is refused.
    """

    run: Trained | None = None

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str,
        terms: Terms,
        speaker: Speaker | None,
        concurrency: int,
        apart: bool = True,
        patience: Patience = MEASURING,
        **more: Any,
    ) -> None:
        address = Address.of(url, "--endpoint")
        if terms.named_budget == RESERVED and speaker is None:
            raise LimiteError(
                f"--budget {RESERVED}: a server does not tell its context; --served names the "
                "directory it serves"
            )
        if terms.max_tokens is None and speaker is None:
            raise LimiteError(
                "--max-tokens: a server does not tell its context; say how long a response may "
                "get, or name the directory it serves with --served"
            )
        self.terms = terms
        self.name = f"{model} at {address.host}"
        self.failures: Counter[str] = Counter()
        self._model = model
        self._speaker = speaker
        self._concurrency = concurrency
        self._apart = apart
        self._client = Client(address, key, patience=patience, **more)
        self._in_a_row = 0
        self._lock = threading.Lock()

    @property
    def notes(self) -> Sequence[str]:
        return ()

    @property
    def default_profile(self) -> str:
        return CHAT if self._speaker is None else default_kind(self._speaker.tokenizer)

    def facts(self, profile: Profile) -> Mapping[str, Any]:
        speaker = self._speaker
        if speaker is None:
            most = self.terms.max_tokens
            return {"eos_ids": (), "max_tokens": most, "template": None, "rendering": None}
        return {
            "eos_ids": ends_of(speaker.tokenizer),
            "max_tokens": self.terms.max_tokens or speaker.spec.context,
            "template": profile.template_hash(speaker.tokenizer),
            "rendering": profile.rendering(speaker.tokenizer, ends_of(speaker.tokenizer)),
        }

    def prompts(self, problems: Sequence[Problem], profile: Profile) -> list[Prompted]:
        if self._speaker is not None:
            return prompts_of(self.name, problems, profile, self._speaker, self.terms)
        assert self.terms.max_tokens is not None
        return [
            Prompted(
                problem=each,
                shown=dumps(profile.turns(each)) if profile.kind == CHAT else profile.text(each),
                budget_tokens=self.terms.max_tokens,
            )
            for each in problems
        ]

    def sample(
        self, wanted: Sequence[tuple[Prompted, int]], profile: Profile, protocol_id: str
    ) -> Iterator[Recorded]:
        """Responses as they come. What a request has failed of is counted in ``failures``.

        Ctrl-C asks for nothing more, and gives what was under way.
        """
        pool = ThreadPoolExecutor(self._concurrency, thread_name_prefix="eval")
        coming = iter(wanted)
        running: set[Future[Recorded | None]] = set()
        stopped: BaseException | None = None
        more = True
        try:
            while more or running:
                try:
                    while more and len(running) < 2 * self._concurrency:
                        following = next(coming, None)
                        if following is None:
                            more = False
                        else:
                            running.add(pool.submit(self._asked, *following, profile, protocol_id))
                    ended, running = wait(running, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt as interrupt:
                    stopped, more = interrupt, False
                    self._client.end()
                    continue
                for future in ended:
                    try:
                        found = future.result()
                    except RunFailed as error:
                        stopped, more = stopped or error, False
                        self._client.end()
                        continue
                    if found is not None:
                        yield found
            if stopped is not None:
                raise stopped
        finally:
            self._client.end()
            pool.shutdown(wait=False, cancel_futures=True)

    def _asked(
        self, prompted: Prompted, number: int, profile: Profile, protocol_id: str
    ) -> Recorded | None:
        problem = prompted.problem.id
        # 31 bits: servers differ in how much of a seed they take.
        seed = Seeds(self.terms.seed).integer("eval", problem, number) >> 33
        body: dict[str, Any] = {
            "model": self._model,
            "temperature": self.terms.temperature,
            "max_tokens": prompted.budget_tokens,
            "seed": seed,
        }
        if self.terms.top_p is not None:
            body["top_p"] = self.terms.top_p
        path = TURNS if profile.kind == CHAT else TEXT
        if profile.kind == CHAT:
            body["messages"] = profile.turns(prompted.problem)
        else:
            body["prompt"] = profile.text(prompted.problem)
            if profile.stops:
                body["stop"] = list(profile.stops)
        try:
            reply = self._client.ask(path, body, _reply_of)
            self._check(reply, prompted)
        except Hopeless as error:
            raise RunFailed(str(error)) from None
        except Unanswered as error:
            self._count(error.reason if not error.said else f"{error.reason}: {error.said}")
            return None
        with self._lock:
            self._in_a_row = 0
        return Recorded(
            model=self.name,
            protocol_id=protocol_id,
            problem_id=problem,
            sample_index=number,
            seed=str(seed),
            prompt_tokens=reply.prompt_tokens,
            completion_budget=prompted.budget_tokens,
            generated_tokens=reply.generated_tokens,
            finish_reason=reply.finish_reason,
            reasoning_closed=self._closed(reply, prompted),
            text=reply.text,
        )

    def _closed(self, reply: Reply, prompted: Prompted) -> bool:
        """Where the template opens the thinking and the server does not tell it apart, the text
        has its end alone."""
        if reply.apart:
            return reply.reasoning_closed
        if isinstance(prompted.shown, str):
            opened = "<think>" if prompted.shown.rstrip().endswith("<think>") else ""
            return reasoning_is_closed(opened + reply.text)
        assert self._speaker is not None
        return reasoning_is_closed(opened_by(self._speaker.tokenizer, prompted.shown) + reply.text)

    def _check(self, reply: Reply, prompted: Prompted) -> None:
        """Refuses what would make another measurement of it."""
        if reply.apart and not self._apart:
            raise RunFailed(
                f"{self.name}: it tells the thinking apart from the answer, and the suite is "
                "graded on whole texts; start the server without a parser of reasoning"
            )
        if reply.generated_tokens > prompted.budget_tokens:
            raise RunFailed(
                f"{self.name}: a response of {reply.generated_tokens:,} tokens, and max_tokens was "
                f"{prompted.budget_tokens:,}; the server keeps no budget"
            )
        counted = None if isinstance(prompted.shown, str) else len(prompted.shown)
        if counted is not None and reply.prompt_tokens != counted:
            raise RunFailed(
                f"{self.name}: it reads {reply.prompt_tokens:,} tokens of problem "
                f"{prompted.problem.id}, and the directory of --served makes {counted:,} of it: "
                "another template or tokenizer"
            )

    def _count(self, reason: str) -> None:
        with self._lock:
            self.failures[reason] += 1
            self._in_a_row += 1
            many = self._in_a_row >= IN_A_ROW
        if many:
            raise RunFailed(
                f"{self.name}: {IN_A_ROW} requests in a row failed, the last by {reason}; the same "
                "command goes on from the responses that came"
            )

    def close(self) -> None:
        """Asks for nothing more."""
        self._client.end()


def served_model(
    url: str, model: str, *, key_env: str | None, served: Path | None, **more: Any
) -> ServedModel:
    """The model behind a server; its key comes from the environment."""
    speaker = None if served is None else speaker_in(served)
    return ServedModel(url, model, key=key_in(key_env), speaker=speaker, **more)


def _reply_of(data: Any) -> Reply:
    try:
        choice, usage = data["choices"][0], data.get("usage") or {}
        said = choice["message"] if "message" in choice else {"content": choice["text"]}
        text, ending = said["content"], choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Passing("a reply that is no completion") from None
    if ending == "content_filter":
        raise Final("held back by a filter")
    apart = any(isinstance(said.get(name), str) and said[name] for name in APART)
    if text is None and apart:
        text = ""  # all of it was thought
    if not isinstance(text, str):
        raise Passing("a reply without text")
    asked, generated = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(asked, int) or not isinstance(generated, int):
        raise Final("a reply without usage, so that no budget of it can be checked")
    if ending not in ("stop", "length"):
        raise Passing(f"a reply that ended by {ending!r}")
    by_text = isinstance(choice.get("stop_reason"), str)
    return Reply(
        text=text,
        finish_reason="length" if ending == "length" else "stop" if by_text else "eos",
        reasoning_closed=reasoning_is_closed(text) and not (apart and not text),
        prompt_tokens=asked,
        generated_tokens=generated,
        apart=apart,
    )
