"""Requests that somebody else makes: written to a file, their replies read from another.

For servers that take many requests in one file, at a lower price and in their own time. What could
not go on for want of a reply says so, and all that it waits for is written down.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.endpoint.client import FORM, Final, Passing
from limite.core.endpoint.replies import KeptReplies
from limite.core.errors import LimiteError
from limite.core.jsonl import read_jsonl, write_jsonl
from limite.problems.author.server import (
    PATH,
    SCHEMAS,
    Reply,
    Waiting,
    body_of,
    key_of,
    reply_of,
)

HOST = "batch"
"""What stands in records in the place of a server."""

URL = f"/v1{PATH}"


class Offline:
    """A writer whose every reply comes from a file, or else is waited for."""

    host = HOST
    silent = False

    def __init__(self, *, kept: KeptReplies, terms: Mapping[str, Any], schemas: bool) -> None:
        self._kept, self._terms, self._schemas = kept, dict(terms), schemas
        self._lock = threading.Lock()
        self.waiting: dict[str, dict[str, Any]] = {}
        """What is still to be asked, by its hash."""

    def reply(self, kind: str, model: str, prompt: str, seed: int) -> Reply:
        body = body_of(model, prompt, seed, self._terms)
        key = key_of(self.host, body)
        found = self._kept.get(key)
        if found is not None:
            return Reply(text=found["text"], cut=found.get("cut", ""))
        if self._schemas and kind in SCHEMAS:
            body[FORM] = SCHEMAS[kind]
        with self._lock:
            self.waiting[key] = body
        raise Waiting(f"no reply to {key} yet")

    def asking(self, terms: Mapping[str, Any]) -> Offline:
        """One that asks with other terms, and writes down what it waits for at the same place."""
        other = Offline(kept=self._kept, terms=terms, schemas=self._schemas)
        other._lock, other.waiting = self._lock, self.waiting
        return other

    def check(self) -> None:
        """A file does not go away."""

    def close(self) -> None: ...


def write_requests(path: Path, waiting: Mapping[str, Mapping[str, Any]]) -> None:
    """One line for each request, in an order that is always the same."""
    write_jsonl(
        path,
        (
            {"custom_id": key, "method": "POST", "url": URL, "body": waiting[key]}
            for key in sorted(waiting)
        ),
    )


@attrs.frozen(kw_only=True)
class Collected:
    """What a file of replies held."""

    new: int
    known: int
    failed: Mapping[str, str]
    """Why there is no reply, by the hash of what was asked."""
    strangers: int
    tokens: tuple[int, int]


def collect(
    replies: Path, kept: KeptReplies, asked: Mapping[str, Any], *, give_up: bool
) -> Collected:
    """Keeps the replies of a file, which come in any order. With ``give_up`` none is what failed.

    Raises LimiteError of a line that is no reply at all; then nothing is kept.
    """
    found: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    known = strangers = 0
    for key, reply in _lines(replies):
        if kept.get(key) is not None:
            known += 1
        elif key not in asked:
            strangers += 1
        elif isinstance(reply, str):
            failed[key] = reply
        else:
            found[key] = reply
            failed.pop(key, None)
    failed = {key: reason for key, reason in failed.items() if key not in found}
    used = [reply["tokens"] for reply in found.values() if "tokens" in reply]
    kept.keep(found.items())
    if give_up:
        kept.keep((key, {"text": "", "cut": reason}) for key, reason in failed.items())
    return Collected(
        new=len(found),
        known=known,
        failed=failed,
        strangers=strangers,
        tokens=(sum(each[0] for each in used), sum(each[1] for each in used)),
    )


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Of each line what was asked, and its reply or why there is none."""
    for number, line in enumerate(read_jsonl(path), start=1):
        if not isinstance(line, dict) or not isinstance(line.get("custom_id"), str):
            raise LimiteError(f"{path}, line {number}: no custom_id, as results of a batch have")
        yield line["custom_id"], _reply(line)


def _reply(line: Mapping[str, Any]) -> dict[str, Any] | str:
    response = line.get("response")
    if not isinstance(response, dict):
        return _reason(line.get("error")) or "no response"
    status = response.get("status_code", 200)
    if status != 200:
        body = response.get("body")
        told = _reason(body.get("error") if isinstance(body, dict) else None)
        return f"status {status}: {told}" if told else f"status {status}"
    try:
        found = reply_of(response.get("body"))
    except (Passing, Final) as error:
        return str(error)
    used = found.pop("used")
    return found if used is None else {**found, "tokens": list(used)}


def _reason(error: Any) -> str:
    """What an error says of itself, on one line."""
    if isinstance(error, dict):
        error = error.get("message") or error.get("code")
    words = " ".join(str(error).split()) if error else ""
    return words[:300].encode(errors="replace").decode()


def asked_in(path: Path) -> dict[str, Any]:
    """The requests of a file that ``write_requests`` wrote, by their hashes."""
    return {str(line["custom_id"]): line["body"] for line in _requests(read_jsonl(path), path)}


def _requests(lines: Iterable[Any], path: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if not isinstance(line, dict) or not {"custom_id", "body"} <= line.keys():
            raise LimiteError(f"{path}, line {number}: not what limite-gen requests wrote")
        yield line
