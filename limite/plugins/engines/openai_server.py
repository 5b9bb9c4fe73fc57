"""Responses from a server: vLLM, SGLang, or llama.cpp, with weights pushed after every update."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import attrs
from attrs.validators import and_, ge, gt, le, optional

from limite.core.endpoint.client import Address, Client, Patience, Unanswered
from limite.core.endpoint.replies import KeptReplies, request_hash
from limite.core.endpoint.together import as_they_come
from limite.core.errors import LimiteError, RunFailed
from limite.core.rollout_kinds import EngineContext, Policy, Request
from limite.core.seeds import Seeds
from limite.core.types import Response
from limite.core.validators import option
from limite.plugins.engines.dialects import DIALECTS, Ask, Dialect, Lacks, ServerCall, Told
from limite.plugins.engines.judge import response_of, wrongs
from limite.plugins.engines.probe import Probe
from limite.plugins.engines.push import NotTaken, Push, refuse_foreign

WEIGHTS = "weights"
MODELS = "/v1/models"
REFUSED = 3
"""How often a response that breaks its promises is asked for again, should it be chance."""


def _strings(_instance: Any, attribute: Any, value: Any) -> None:
    if any(not each for each in value):
        raise ValueError(f"{attribute.name!r} holds an empty word")


@attrs.frozen(kw_only=True)
class OpenAIServer:
    """Samples with a server that gives token ids and log-probabilities, fed by a directory.

    Before the first response, and after every update, the policy is written to ``directory``, and
    ``command`` and ``calls`` have the server take it up: nothing is sampled with older weights.
    Replies are kept until the stage is finished, so that none is asked for twice.
    """

    takes_files: ClassVar[bool] = True

    url: str = attrs.field(
        default="http://127.0.0.1:8000",
        metadata={"help": "of the server, or `$NAME` of the environment variable that holds it"},
    )
    server: str = attrs.field(
        default="vllm",
        validator=option(*DIALECTS),
        metadata={"help": "what it is, or what it is like"},
    )
    model: str = attrs.field(
        default="", metadata={"help": "as the server calls it; without it the only one it has"}
    )
    key_env: str | None = attrs.field(
        default=None, metadata={"help": "the environment variable that holds its key"}
    )
    directory: str | None = attrs.field(
        default=None,
        metadata={"help": "where the policy is put; without it a folder of the stage's"},
    )
    dtype: str | None = attrs.field(
        default=None,
        validator=optional(option("float32", "bfloat16", "float16")),
        metadata={"help": "what the policy is rounded to there; without it as it is"},
    )
    command: tuple[str, ...] = attrs.field(
        default=(),
        validator=_strings,
        metadata={"help": "run after the policy was put there, `{directory}` filled in"},
    )
    calls: tuple[ServerCall, ...] | None = attrs.field(
        default=None, metadata={"help": "made after that; without it those of `server`"}
    )
    concurrency: int = attrs.field(
        default=64,
        validator=and_(ge(1), le(10_000)),
        metadata={"help": "asked for at once, at most", "unit": "responses"},
    )
    timeout_s: float = attrs.field(
        default=600.0,
        validator=and_(gt(0.0), le(1e6)),
        metadata={"help": "for one response", "unit": "seconds"},
    )
    push_timeout_s: float = attrs.field(
        default=1800.0,
        validator=and_(gt(0.0), le(1e6)),
        metadata={"help": "for the server to take up new weights", "unit": "seconds"},
    )
    retries: int = attrs.field(
        default=6,
        validator=and_(ge(0), le(100)),
        metadata={"help": "when the server is busy, broken or not there"},
    )

    def build(self, context: EngineContext) -> ServerRun:
        return ServerRun(self, context)

    @property
    def dialect(self) -> Dialect:
        return DIALECTS[self.server]

    @property
    def known_calls(self) -> tuple[ServerCall, ...]:
        """What has the server take up new weights."""
        return self.dialect.calls if self.calls is None else self.calls

    def address(self) -> Address:
        url = self.url
        if url.startswith("$"):
            url = os.environ.get(url[1:], "")
            if not url:
                raise LimiteError(f"the environment has no {self.url[1:]}, or it is empty")
        found = Address.of(url, "engine.url")
        return attrs.evolve(found, url=found.url.removesuffix("/v1"))

    def key(self) -> str:
        if self.key_env is None:
            return ""
        key = os.environ.get(self.key_env, "")
        if not key:
            raise LimiteError(f"the environment has no {self.key_env}, or it is empty")
        return key

    def faults(self) -> Iterator[tuple[str, str]]:
        """What is wrong with the settings, without asking the server."""
        for name, look in (("url", self.address), ("key_env", self.key)):
            try:
                look()
            except LimiteError as error:
                yield name, str(error).removeprefix("engine.url: ")
        if not self.command and not self.known_calls:
            yield (
                "command",
                f"a {self.server} server takes up no new weights by itself, and old ones are not "
                "learned from: name a command that has it do so, or calls",
            )
        if self.directory is not None:
            try:
                refuse_foreign(Path(self.directory).expanduser())
            except LimiteError as error:
                yield "directory", str(error)
        elif self.calls is None and not self.command and self.dialect.needs_directory:
            yield (
                "directory",
                f"must be named: a {self.server} server reads new weights from the directory that "
                "it was started with",
            )


class ServerRun:
    """A server at work for one stage."""

    keeps_responses: ClassVar[bool] = True

    def __init__(self, settings: OpenAIServer, context: EngineContext) -> None:
        self._settings = settings
        self._context = context
        self._dialect = settings.dialect
        self._model = settings.model
        own = settings.directory
        self._push = Push(
            directory=context.directory / WEIGHTS if own is None else Path(own).expanduser(),
            dtype=settings.dtype,
            command=settings.command,
            calls=settings.known_calls,
            timeout_s=settings.push_timeout_s,
        )
        self._pushed: int | None = None
        self._push_s = 0.0
        self._client = self._new_client()
        self._probe = Probe(context=context, told=lambda ask: self._told(self._client, ask))
        self._kept: KeptReplies | None = None
        self._notes: set[str] = set()

    def generate(
        self, requests: Iterable[Request], policy: Policy, *, slots: int | None = None
    ) -> Iterator[tuple[int, Response]]:
        coming = iter(requests)
        first = next(coming, None)
        if first is None:
            return
        self._client = client = self._new_client()
        try:
            self._push_s = 0.0
            self._be_ready(client, policy, first)
            self._open_replies(policy.step)
            calls = (
                partial(self._response, client, policy, request)
                for request in chain([first], coming)
            )
            most = self._settings.concurrency
            yield from as_they_come(calls, min(slots or most, most))
        finally:
            client.end()

    def metrics(self) -> Mapping[str, float]:
        return {"time/push_s": self._push_s}

    def close(self) -> None:
        shutil.rmtree(self._context.directory, ignore_errors=True)

    def _new_client(self) -> Client:
        settings = self._settings
        return Client(
            settings.address(),
            settings.key(),
            timeout_s=settings.timeout_s,
            patience=Patience(retries=settings.retries),
            tell=self._note,
        )

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            self._context.echo(f"note: {text}")

    def _be_ready(self, client: Client, policy: Policy, request: Request) -> None:
        """The server has the policy, and is fit to be asked."""
        if self._pushed == policy.version:
            return
        started = time.perf_counter()
        version = str(policy.version) if self._push.tells_version else None
        not_pushed = ""
        try:
            try:
                self._push(client, policy, self._context)
            except NotTaken as error:
                if self._pushed is not None:
                    raise
                not_pushed = str(error)
                self._client = client = self._new_client()  # the other may have given up
            if not self._model and self._dialect.path.startswith("/v1"):
                self._model = client.ask(MODELS, None, only_model)
            self._probe(request, policy, version, self._ask, not_pushed=not_pushed)
        except Unanswered as error:
            also = f"; {not_pushed}" if not_pushed else ""
            raise RunFailed(f"{client.host} does not answer: {error}{also}") from None
        except LimiteError as error:
            raise type(error)(f"{client.host}: {error}") from None
        self._pushed = policy.version
        self._push_s = time.perf_counter() - started

    def _open_replies(self, step: int) -> None:
        place = self._context.directory / f"step-{step + 1:06d}.jsonl"
        if self._kept is None or self._kept.path != place:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._kept = KeptReplies(place)

    def _ask(self, request: Request, policy: Policy, budget: int | None = None) -> Ask:
        context = self._context
        seed = Seeds(policy.seed).integer("row", request.problem.id, request.sample_index)
        return Ask(
            prompt_ids=request.prompt_ids,
            budget_tokens=request.budget_tokens if budget is None else budget,
            seed=seed >> 33,  # 31 bits: servers differ in how much of a seed they take
            temperature=context.temperature,
            eos_ids=context.tokenizer.eos_ids,
            listed_tokens=context.listed_tokens or 0,
        )

    def _told(self, client: Client, ask: Ask) -> Told:
        return client.ask(
            self._dialect.path, self._dialect.body(ask, self._model), self._dialect.read
        )

    def _response(self, client: Client, policy: Policy, request: Request) -> Response:
        """The response to a request: the one that came already, or else a new one."""
        kept = self._kept
        assert kept is not None
        ask = self._ask(request, policy)
        key = request_hash([policy.version, request.sample_index, attrs.asdict(ask)])
        known = kept.get(key)
        told = self._good(client, ask, policy) if known is None else told_again(known)
        response = response_of(told, ask, request, policy.version, self._context)
        if known is None:
            kept.keep([(key, attrs.asdict(told))])
        return response

    def _good(self, client: Client, ask: Ask, policy: Policy) -> Told:
        """A reply in which nothing is wrong."""
        reasons: list[str] = []
        for _ in range(REFUSED):
            try:
                told = self._told(client, ask)
                reasons = list(wrongs(told, ask, self._context.tokenizer))
            except Lacks as error:
                reasons = list(error.reasons)
            except Unanswered as error:
                raise RunFailed(
                    f"{client.host} did not answer: {error}; limite resume goes on from the "
                    "responses that came"
                ) from None
            if self._push.tells_version and not reasons and told.version != str(policy.version):
                reasons = [
                    f"it sampled with weights {told.version!r}, where version "
                    f"{str(policy.version)!r} was asked"
                ]
            if not reasons:
                return told
            self._note(f"{client.host}: {reasons[0]}; asking again")
        raise RunFailed(
            f"{client.host}: a response is refused, {REFUSED} times: {'; '.join(reasons)}"
        )


def told_again(kept: Mapping[str, Any]) -> Told:
    """What a server has told, from the file of replies."""
    fields = dict(kept)
    for name in ("ids", "logprobs", "prompt_ids"):
        fields[name] = None if fields[name] is None else tuple(fields[name])
    fields["listed"] = tuple(
        tuple((int(token), float(nats)) for token, nats in place) for place in fields["listed"]
    )
    return Told(**fields)


def only_model(said: Any) -> str:
    """What a server calls the one model it has."""
    try:
        names = [str(each["id"]) for each in said["data"]]
    except (KeyError, TypeError):
        names = []
    if len(names) != 1:
        told = ", ".join(names) or "none"
        raise LimiteError(f"it has these models: {told}; say which one with engine.model")
    return names[0]
