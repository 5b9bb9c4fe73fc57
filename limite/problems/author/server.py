"""The model that is asked: a server of chat completions, whose every reply is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from limite.core.endpoint.client import FORM, Client, Hopeless, Passing, Unanswered
from limite.core.endpoint.replies import KeptReplies, request_hash
from limite.core.errors import RunFailed
from limite.problems.author.budget import Budget, Stopped
from limite.problems.author.topics import SAMPLES

PATH = "/chat/completions"
IN_A_ROW = 20
"""So many requests without one reply between them end the run."""

_ANY_TEXT: dict[str, Any] = {"type": "string"}


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


def _schema(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    inner = {"name": name, "strict": True, "schema": _object(fields)}
    return {"type": "json_schema", "json_schema": inner}


SCHEMAS = {
    "ask": _schema(
        "problem",
        {
            "problem": _ANY_TEXT,
            "answer_type": {"type": "string", "enum": sorted(SAMPLES)},
            "answer": _ANY_TEXT,
            "program": _ANY_TEXT,
        },
    ),
    "solve": _schema("solver", {"program": _ANY_TEXT}),
    "solve-all": _schema("solver", {"program": _ANY_TEXT}),
    "read": _schema(
        "reading",
        {
            "asked": _ANY_TEXT,
            "assumptions": {"type": "array", "items": _ANY_TEXT},
            "answers": {"type": "string", "enum": ["one", "several", "none"]},
        },
    ),
    "vary": _schema(
        "template",
        {
            "problem": _ANY_TEXT,
            "quantities": {
                "type": "array",
                "items": _object(
                    {
                        "name": _ANY_TEXT,
                        **{key: {"type": "integer"} for key in ("original", "low", "high")},
                    }
                ),
            },
            "program": _ANY_TEXT,
        },
    ),
}
"""What each kind of reply looks like, for servers that hold a model to it."""


WAYS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = (
    lambda schema: schema,
    lambda schema: {"type": "json_object", "schema": schema["json_schema"]["schema"]},
)
"""How servers take a schema: that of most, and that of llama.cpp's Python server."""


class NoReply(Exception):
    """A request that came to nothing after all patience; the reason in a few words."""


class Waiting(Stopped):
    """A reply that somebody else will fetch; others may be asked for in the meantime."""


@attrs.frozen(kw_only=True)
class Reply:
    """What came back. ``cut``: it was ended by its length, or held back by a filter."""

    text: str
    cut: str = ""


class Writer(Protocol):
    """Whoever replies to a prompt: a server, or a model that is here."""

    host: str
    silent: bool
    """Whether the last request came to nothing that would not pass: it may be gone."""

    def reply(self, kind: str, model: str, prompt: str, seed: int) -> Reply:
        """The reply, asked for once in all runs. Raises NoReply, and Stopped."""
        ...

    def check(self) -> None:
        """Raises RunFailed where it was given up."""
        ...

    def close(self) -> None: ...


def body_of(model: str, prompt: str, seed: int, terms: Mapping[str, Any]) -> dict[str, Any]:
    """A request, but for the form of its reply."""
    messages = [{"role": "user", "content": prompt}]
    return {"model": model, "messages": messages, "seed": seed, **terms}


def key_of(host: str, body: Mapping[str, Any]) -> str:
    """What the reply to a request is kept by."""
    return request_hash([host, body])


class Server:
    """A server of chat completions. Safe to use from several threads.

    ``terms`` are what each request says beside model, prompt and seed. Where the server refuses a
    JSON schema it is asked without one from then on.
    """

    def __init__(
        self,
        client: Client,
        *,
        kept: KeptReplies,
        budget: Budget,
        terms: Mapping[str, Any],
        schemas: bool = True,
        tell: Any = None,
    ) -> None:
        self._client = client
        self.host = client.host
        self._kept = kept
        self._budget = budget
        self._terms = dict(terms)
        # Of the ways of asking for a form of reply the first that the server takes.
        self._way = 0 if schemas else len(WAYS)
        self._tell = tell
        self._lock = threading.Lock()
        self.failures = 0
        self.silent = False
        self.fatal = ""

    def reply(self, kind: str, model: str, prompt: str, seed: int) -> Reply:
        body = body_of(model, prompt, seed, self._terms)
        key = key_of(self.host, body)
        found = self._kept.get(key)
        if found is None:
            found = self._asked(kind, body)
            self._kept.keep([(key, found)])
        return Reply(text=found["text"], cut=found.get("cut", ""))

    def _asked(self, kind: str, body: dict[str, Any]) -> Mapping[str, Any]:
        prompt = body["messages"][0]["content"]
        # No tokenizer makes more tokens than there are bytes; some stand around each turn.
        charge = len(prompt.encode()) + 32, self._terms.get("max_tokens", 4096)
        self._budget.take(*charge)
        used: tuple[int, int] | None = (0, 0)
        try:
            found = self._sent(kind, body)
            used = found.pop("used")
        except Hopeless as error:
            self._end(error.reason)
            raise Stopped(self.fatal) from None
        except Unanswered as error:
            self.silent = error.passing
            self._failed(error.reason)
            raise NoReply(error.reason) from None
        finally:
            self._budget.give(charge, used)
        with self._lock:
            self.failures = 0
            self.silent = False
        if used is not None:
            found["tokens"] = list(used)
        return found

    def _sent(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        if kind not in SCHEMAS:
            return self._client.ask(PATH, body, reply_of)
        for way in range(self._way, len(WAYS)):
            try:
                whole = {**body, FORM: WAYS[way](SCHEMAS[kind])}
                found = self._client.ask(PATH, whole, reply_of)
            except Hopeless:
                raise
            except Unanswered as error:
                if error.reason not in ("status 400", "status 422") and FORM not in error.said:
                    raise
            else:
                self._found(way)
                return found
        found = self._client.ask(PATH, body, reply_of)
        self._found(len(WAYS))  # it was the schema that was refused
        return found

    def _found(self, way: int) -> None:
        with self._lock:
            new, self._way = way > self._way, max(way, self._way)
        if new and self._tell is not None and way == len(WAYS):
            self._tell(f"{self.host} takes no JSON schema; asked without from here on")

    def _failed(self, reason: str) -> None:
        with self._lock:
            self.failures += 1
            many = self.failures >= IN_A_ROW
        if many:
            self._end(
                f"{self.host}: {self.failures} requests in a row failed, the last by {reason}"
            )

    def _end(self, reason: str) -> None:
        self.fatal = self.fatal or reason
        self._budget.stop(reason)
        self._client.end()

    def check(self) -> None:
        """Raises RunFailed where the server was given up."""
        if self.fatal:
            raise RunFailed(f"{self.fatal}; the same command goes on from what came")

    def close(self) -> None:
        """No request is made from here on."""
        self._client.end()


def reply_of(data: Any) -> dict[str, Any]:
    """The text of a completion, with what the model thought and the tokens told apart."""
    try:
        choice = data["choices"][0]
        message, ending = choice["message"], choice.get("finish_reason")
        text = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Passing("a reply that is no chat completion") from None
    if not isinstance(text, str):
        if ending not in ("length", "content_filter"):
            raise Passing("a reply without text")
        text = ""
    found: dict[str, Any] = {"text": text, "used": _used(data.get("usage"))}
    thought = message.get("reasoning_content", message.get("reasoning"))
    if isinstance(thought, str) and thought:
        found["thought"] = thought
    if ending == "length":
        found["cut"] = "too long"
    elif ending == "content_filter":
        found["cut"] = "held back by a filter"
    return found


def _used(usage: Any) -> tuple[int, int] | None:
    if not isinstance(usage, dict):
        return None
    counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if all(
        isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts
    ):
        return counts  # type: ignore[return-value]
    return None
