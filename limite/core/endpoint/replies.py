"""Replies that came, kept in a file by what was asked, so that none is asked for twice."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.jsonl import append_jsonl, dumps, read_jsonl, write_jsonl

REQUEST = "request"


def request_hash(asked: Any) -> str:
    """128 bits of SHA-256 over what was asked, as canonical JSON."""
    return hashlib.sha256(dumps(asked).encode()).hexdigest()[:32]


class KeptReplies:
    """Replies by the hash of their request, in a ``.jsonl`` file. Safe to use from threads.

    Of a file that a killed process has left, the unfinished last line is dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._replies: dict[str, Mapping[str, Any]] = {}
        if path.exists():
            for line in read_jsonl(path, allow_unfinished=True):
                if not isinstance(line, dict) or not isinstance(line.get(REQUEST), str):
                    raise LimiteError(f"{path}: not a file of replies: a line has no {REQUEST!r}")
                self._replies[line.pop(REQUEST)] = line
            write_jsonl(path, map(_line, self._replies.items()))

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, request: str) -> Mapping[str, Any] | None:
        """The reply to a request, None if none came yet."""
        with self._lock:
            return self._replies.get(request)

    def keep(self, replies: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Adds replies by the hashes of their requests; of one that is there already, the first."""
        with self._lock:
            new = {key: reply for key, reply in replies if key not in self._replies}
            if new:
                append_jsonl(self.path, map(_line, new.items()))
                self._replies.update(new)


def _line(kept: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {REQUEST: kept[0], **kept[1]}
