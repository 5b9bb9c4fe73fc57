"""The files of a run: what became of each request, and what is made of that at the end.

``FILE.journal.jsonl`` gets a line for each problem asked for, once it is decided;
``FILE.replies.jsonl`` each reply. From these every run begins, and at the end of every run
``FILE``, ``FILE.refused.jsonl`` and ``FILE.manifest.json`` are written whole.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limite.core.endpoint.replies import KeptReplies
from limite.core.errors import LimiteError
from limite.core.jsonl import (
    append_jsonl,
    read_json,
    read_jsonl,
    storage_error,
    write_json,
    write_jsonl,
    write_lines,
)
from limite.core.receipts import differences
from limite.problems import files
from limite.problems.gen.output import beside, file_hash, versions


class Journal:
    """One file of problems in the making; another process that makes it is refused."""

    def __init__(self, path: Path, request: Mapping[str, Any], *, force: bool = False) -> None:
        self.path = files.suffixed(path)
        if not path.parent.is_dir():
            raise LimiteError(f"{path.parent}: no such folder")
        self.request = dict(request)
        self.place = beside(path, "journal.jsonl")
        self.refused = beside(path, "refused.jsonl")
        self.manifest = beside(path, "manifest.json")
        self._lock = threading.Lock()
        self._file = self._locked()
        try:
            there = self.place.exists()
            if path.exists() and not there and not force:
                raise LimiteError(
                    f"{path} exists, and no journal says how it was made; --force replaces it"
                )
            if there and not force:
                self._slots = self._read()
            else:
                self._slots = {}
                head = {"request": self.request, "versions": versions()}
                write_jsonl(self.place, [head])
            self.replies = KeptReplies(beside(path, "replies.jsonl"))
        except BaseException:
            self.close()
            raise
        self.resumed = len(self._slots)

    def _locked(self) -> int:
        place = beside(self.path, "lock")
        try:
            file = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise storage_error(error, place) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # One that has just ended takes the name away with it.
            held = os.path.exists(place) and os.path.samestat(os.stat(place), os.fstat(file))
        except OSError:
            held = False
        if not held:
            os.close(file)
            raise LimiteError(f"{self.path}: another process is making it")
        return file

    def _read(self) -> dict[int, dict[str, Any]]:
        lines = list(read_jsonl(self.place, allow_unfinished=True))
        if not lines or not isinstance(lines[0], dict) or "request" not in lines[0]:
            raise LimiteError(f"{self.place}: no journal of this command; --force begins again")
        for number, line in enumerate(lines[1:], start=2):
            if not isinstance(line, dict) or not {"slot", "outcome", "topic"} <= line.keys():
                raise LimiteError(
                    f"{self.place}, line {number}: nothing that this command wrote; --force begins "
                    "again"
                )
        head = lines[0]
        changed = differences(head["request"], self.request, ignore=())
        made_by = head.get("versions", {}).get("limite")
        if made_by != versions()["limite"]:
            changed.append(f"limite: {made_by} -> {versions()['limite']}")
        if changed and len(lines) > 1:
            told = "\n".join(f"  {line}" for line in changed)
            raise LimiteError(
                f"{self.path} was asked for with other arguments; --force begins again, and asks "
                f"for no reply twice:\n{told}"
            )
        # Of one that nothing was decided in, nothing is lost.
        lines[0] = {"request": self.request, "versions": versions()}
        write_jsonl(self.place, lines)  # without the end of a line that a killed process left
        return {line["slot"]: line for line in lines[1:]}

    def get(self, slot: int) -> dict[str, Any] | None:
        """What became of a problem asked for, None while nobody knows."""
        with self._lock:
            return self._slots.get(slot)

    def keep(self, slot: int, found: Mapping[str, Any]) -> None:
        """Keeps what became of one."""
        with self._lock:
            if slot not in self._slots:
                line = {**found, "slot": slot}
                append_jsonl(self.place, [line])
                self._slots[slot] = line

    def finish(
        self,
        state: str,
        accepted: Sequence[Mapping[str, Any]],
        refused: Sequence[Mapping[str, Any]],
        counts: Mapping[str, Any],
    ) -> None:
        """Writes the files of what is decided so far, each whole."""
        write_lines(self.path, (files.line_of(record) for record in accepted))
        write_jsonl(self.refused, refused)
        write_json(
            self.manifest,
            {
                "state": state,
                "request": self.request,
                "versions": versions(),
                "counts": dict(counts),
                "hashes": {
                    "file_sha256": file_hash(self.path),
                    "refused_sha256": file_hash(self.refused),
                },
            },
        )

    def state(self) -> str:
        """What the manifest of an earlier run says of the file."""
        return str(read_json(self.manifest).get("state")) if self.manifest.exists() else ""

    def close(self) -> None:
        """Lets another process have it."""
        if self._file >= 0:
            beside(self.path, "lock").unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1
