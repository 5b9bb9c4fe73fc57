"""Responses as they come, one line each, so that whatever ends the process none is lost.

``journal.jsonl`` grows while a model is measured; ``responses.jsonl.zst`` takes its place when the
set is complete. Either is read back before anything is sampled, and refused with the first record
that does not belong there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import append_jsonl, read_jsonl, storage_error
from limite.core.types import FINISH_REASONS, FinishReason

JOURNAL, RESPONSES = "journal.jsonl", "responses.jsonl.zst"


@attrs.frozen(kw_only=True)
class Recorded:
    """One response. ``completion_ids`` is None where a server told no tokens."""

    model: str
    protocol_id: str
    problem_id: str
    sample_index: int
    seed: str
    prompt_tokens: int
    completion_budget: int
    generated_tokens: int
    finish_reason: FinishReason
    reasoning_closed: bool
    text: str
    completion_ids: tuple[int, ...] | None = None

    @property
    def place(self) -> tuple[str, int]:
        return self.problem_id, self.sample_index

    @classmethod
    def read(cls, record: Any) -> Recorded:
        """The response of a record, whatever else that says; a ValueError names what is wrong."""
        if not isinstance(record, Mapping):
            raise ValueError(f"expected an object, got {type(record).__name__}")
        kinds: dict[str, type] = {
            "model": str, "protocol_id": str, "problem_id": str, "sample_index": int, "seed": str,
            "prompt_tokens": int, "completion_budget": int, "generated_tokens": int,
            "finish_reason": str, "reasoning_closed": bool, "text": str,
        }  # fmt: skip
        for name, kind in kinds.items():
            if type(record.get(name)) is not kind:
                raise ValueError(f"{name!r}: expected {kind.__name__}, got {record.get(name)!r}")
        if record["finish_reason"] not in FINISH_REASONS:
            raise ValueError(f"'finish_reason': {record['finish_reason']!r} is none")
        if type(record.get("correct", False)) is not bool:
            raise ValueError(f"'correct': expected bool, got {record['correct']!r}")
        ids = record.get("completion_ids")
        if ids is not None and not (
            isinstance(ids, list) and all(type(each) is int for each in ids)
        ):
            raise ValueError("'completion_ids': expected a list of ids")
        return cls(
            **{name: record[name] for name in kinds},
            completion_ids=None if ids is None else tuple(ids),
        )

    @property
    def record(self) -> dict[str, Any]:
        """The response as plain data."""
        plain = {each.name: getattr(self, each.name) for each in attrs.fields(Recorded)}
        ids = self.completion_ids
        return {**plain, "completion_ids": None if ids is None else list(ids)}


class Journal:
    """The responses of one model under one protocol, in a folder. Holds a lock until ``close``.

    ``budgets`` are the problems that are asked and the budget of each.
    """

    def __init__(
        self,
        folder: Path,
        *,
        model: str,
        protocol_id: str,
        samples: int,
        budgets: Mapping[str, int],
    ) -> None:
        self.folder = folder
        self.model = model
        self.protocol_id = protocol_id
        self.samples = samples
        self.budgets = budgets
        self.path = folder / JOURNAL
        self.known: dict[tuple[str, int], Recorded] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder, os.O_RDONLY)
        except OSError as error:
            raise storage_error(error, folder) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise LimiteError(f"{folder}: another process is measuring into it") from None
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        done = self.folder / RESPONSES
        if done.exists():
            self._take(done)
        if self.path.exists():
            _drop_unfinished(self.path)
            # What was killed between the two files has left both, with the same in them.
            self._take(self.path, again=done.exists())

    def _take(self, path: Path, *, again: bool = False) -> None:
        for number, line in enumerate(read_jsonl(path), start=1):
            place = f"{path}:{number}"
            try:
                found = Recorded.read(line)
            except ValueError as error:
                raise LimiteError(f"{place}: no record of a response: {error}") from None
            if found.place in self.known and again:
                continue
            reason = self._foreign(found)
            if reason:
                raise LimiteError(f"{place}: {reason}")
            self.known[found.place] = found

    def _foreign(self, found: Recorded) -> str:
        """Why a record does not belong here."""
        if found.model != self.model:
            return (
                f"a response of {found.model}, and {self.model} is measured; choose another --out"
            )
        if found.protocol_id != self.protocol_id:
            return (
                f"a response under protocol {found.protocol_id[:12]}, and this is "
                f"{self.protocol_id[:12]}: other problems, terms or prompts; choose another --out"
            )
        if found.problem_id not in self.budgets:
            return f"problem {found.problem_id} is none of those that are asked"
        if not 0 <= found.sample_index < self.samples:
            return (
                f"sample {found.sample_index} of problem {found.problem_id}: there are 0 to "
                f"{self.samples - 1}"
            )
        if found.place in self.known:
            return f"sample {found.sample_index} of problem {found.problem_id} a second time"
        if found.completion_budget != self.budgets[found.problem_id]:
            return (
                f"a budget of {found.completion_budget} tokens, and the prompt of problem "
                f"{found.problem_id} leaves {self.budgets[found.problem_id]}"
            )
        if found.generated_tokens > found.completion_budget:
            return f"{found.generated_tokens} tokens exceed the budget of {found.completion_budget}"
        return ""

    @property
    def complete(self) -> bool:
        return len(self.known) == self.samples * len(self.budgets)

    @property
    def state(self) -> dict[str, Any]:
        """What may be said of a set that is not complete: counts, and no accuracy."""
        done: dict[str, int] = {}
        for problem, _ in self.known:
            done[problem] = done.get(problem, 0) + 1
        return {
            "complete": self.complete,
            "completed_problems": sum(count == self.samples for count in done.values()),
            "recorded_samples": len(self.known),
            "expected_samples": self.samples * len(self.budgets),
        }

    def keep(self, found: Recorded) -> None:
        """Writes a response down before anything else happens to it."""
        reason = self._foreign(found)
        if reason:
            raise LimiteError(f"{self.path}: {reason}")
        append_jsonl(self.path, [found.record])
        self.known[found.place] = found

    def close(self) -> None:
        os.close(self._file)


def _drop_unfinished(path: Path) -> None:
    """Cuts off a last line without its end: a write that a kill has stopped."""
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end:
            start = max(0, end - (1 << 16))
            file.seek(start)
            at = file.read(end - start).rfind(b"\n")
            if at >= 0:
                end = start + at + 1
                break
            end = start
        if end < size:
            file.truncate(end)
