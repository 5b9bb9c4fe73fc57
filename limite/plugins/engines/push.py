"""New weights for a server: a directory of the policy, and what has the server read it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.endpoint.client import Client, Final, Unanswered
from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import read_json, storage_error, write_json
from limite.core.rollout_kinds import EngineContext, Policy
from limite.plugins.engines.dialects import ServerCall

MARK = "limite-engine.json"
"""The file in a directory that says that an engine may replace it."""
LAST_CHARACTERS = 500


@attrs.frozen(kw_only=True)
class Push:
    """Writes a policy to ``directory``, in place of the one before, and makes it known."""

    directory: Path
    dtype: str | None
    command: Sequence[str]
    calls: Sequence[ServerCall]
    timeout_s: float

    @property
    def tells_version(self) -> bool:
        """Whether the server is told which version it is given, so that it can say so."""
        return any("{version}" in str(call.body) for call in self.calls)

    def __call__(self, client: Client, policy: Policy, context: EngineContext) -> None:
        """Returns when the server has the weights; a LimiteError says why it may not."""
        write(self.directory, policy, context, self.dtype)
        filled = {"directory": str(self.directory.absolute()), "version": str(policy.version)}
        if self.command:
            run([_filled(each, filled) for each in self.command], self.timeout_s)
        for call in self.calls:
            try:
                client.ask(call.path, _filled(call.body, filled), taken, timeout_s=self.timeout_s)
            except Unanswered as error:
                raise NotTaken(
                    f"it did not take up the weights of version {policy.version}: "
                    f"{call.path}: {error}"
                ) from None


class NotTaken(RunFailed):
    """A server that has not done what makes it take up new weights."""


def taken(said: Any) -> None:
    """Refuses a reply that says it failed."""
    if isinstance(said, Mapping) and said.get("success") is False:
        raise Final(f"the server says {said.get('message', said)!r}")


def refuse_foreign(directory: Path) -> None:
    """Refuses to replace a directory that no engine has written."""
    if directory.exists() and not (directory / MARK).is_file():
        raise LimiteError(
            f"{directory} exists and holds no file {MARK!r} that lets an engine replace it; name "
            "a new directory, or make that file in it (empty) if what is there may go"
        )


def write(directory: Path, policy: Policy, context: EngineContext, dtype: str | None) -> None:
    """Replaces ``directory`` by the policy; a reader finds the old one or the new one, whole."""
    refuse_foreign(directory)
    before = directory.with_name(f"{directory.name}.before")
    new = directory.with_name(f"{directory.name}.new")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        for left in (before, new):  # of a process that was killed
            if left.exists():
                refuse_foreign(left)
                shutil.rmtree(left)
        context.export(policy.decoder, new, dtype)
        write_json(new / MARK, {"version": policy.version, "step": policy.step})
        if directory.exists():
            directory.rename(before)
        new.rename(directory)
        shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        raise storage_error(error, directory) from error


def written_version(directory: Path) -> int | None:
    """The version of the policy in a directory, None where an engine has written none."""
    mark = directory / MARK
    if not mark.is_file() or not mark.stat().st_size:
        return None
    return int(read_json(mark)["version"])


def run(command: Sequence[str], timeout_s: float) -> None:
    """Runs a command to its end, without a shell; a RunFailed says how it ended otherwise."""
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except OSError as error:
        raise LimiteError(f"engine.command: {command[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        raise RunFailed(f"{command[0]}: still not at its end after {timeout_s:g} s") from None
    if ended.returncode:
        said = ended.stdout.decode(errors="replace").strip()[-LAST_CHARACTERS:]
        raise RunFailed(
            f"{command[0]} ended with {ended.returncode}, so that the server has no new weights"
            + (f"; it said: {said}" if said else "")
        )


def _filled(value: Any, words: Mapping[str, str]) -> Any:
    """A value with ``{directory}`` and ``{version}`` in its texts filled in."""
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace(f"{{{name}}}", word)
        return value
    if isinstance(value, Mapping):
        return {key: _filled(each, words) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(each, words) for each in value]
    return value
