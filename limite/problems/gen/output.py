"""The files that making problems leaves: lines as they come, then the file, and its manifest.

Lines go to ``FILE.part`` until all are there, so that whatever stops the process, the same command
goes on from them. ``FILE`` is written aside and renamed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import limite
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, storage_error, write_all, write_json, write_lines
from limite.core.receipts import differences
from limite.problems.files import suffixed

BUFFER_BYTES = 1 << 18


def beside(path: Path, what: str) -> Path:
    """``p.jsonl.zst.manifest.json`` and the like."""
    return path.with_name(f"{path.name}.{what}")


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """What wrote a file: its lines depend on limite alone, its packed bytes on Zstandard too."""
    return {
        "limite": limite.__version__,
        "python": python_version(),
        "zstandard": version("zstandard"),
    }


class Output:
    """One file in the making. ``open`` finds what an earlier run left of it."""

    def __init__(self, path: Path, request: Mapping[str, Any], *, force: bool) -> None:
        self.path = suffixed(path)
        self.request = request
        self.part = beside(path, "part")
        self.manifest = beside(path, "manifest.json")
        self.refused = beside(path, "refused.jsonl")
        self.complete = False
        self.found: Mapping[str, Any] = {}
        """The manifest that was there, of this very request."""
        if not path.parent.is_dir():
            raise LimiteError(f"{path.parent}: no such folder")
        self._file = self._locked()
        try:
            if force:
                os.ftruncate(self._file, 0)
                self.manifest.unlink(missing_ok=True)
            else:
                self.complete = self._agrees()
            self.lines, size = _whole_lines(self.part)
            os.ftruncate(self._file, size)
        except BaseException:
            self.abandon()
            raise
        self.resumed = self.lines
        self._pending: list[bytes] = []
        self._size = 0
        self.count = 0
        self._digest = hashlib.sha256()
        self._expected = _lines_hash(self.known())
        self._refused_file = self.refused.open("wb") if not self.complete else None
        self._refusals = 0
        self.exhausted: dict[str, Any] = dict(self.found.get("exhausted", {}))
        if not self.complete:
            self._begin()

    def _begin(self) -> None:
        """Writes the manifest of a file that is not finished."""
        begun = {"state": "unfinished", "request": self.request, "versions": versions()}
        write_json(self.manifest, begun | ({"exhausted": self.exhausted} if self.exhausted else {}))

    def exhaust(self, name: str, counts: Mapping[str, int]) -> None:
        """Keeps what is known of a family that has no more, so that no later run tries again."""
        self.exhausted[name] = dict(counts)
        self._begin()

    def _locked(self) -> int:
        try:
            file = os.open(self.part, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise storage_error(error, self.part) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            raise LimiteError(f"{self.path}: another process is making it") from None
        return file

    def _agrees(self) -> bool:
        """Whether the file is there already; anything else of its name is refused."""
        there = self.path.exists()
        if not self.manifest.exists():
            if there:
                raise LimiteError(
                    f"{self.path} exists, and no manifest says how it was made; --force replaces it"
                )
            if self.part.stat().st_size:
                raise LimiteError(f"{self.part} exists without its manifest; --force begins again")
            return False
        manifest = read_json(self.manifest)
        asked = manifest.get("request", {})
        changed = differences(_by_name(asked), _by_name(self.request), ignore=())
        made_by = manifest.get("versions", {}).get("limite")
        if manifest.get("state") == "unfinished" and made_by != limite.__version__:
            changed.append(f"limite: {made_by} -> {limite.__version__}")
        if changed:
            lines = "\n".join(f"  {line}" for line in changed)
            raise LimiteError(
                f"{self.path} was asked for with other arguments; --force begins again:\n{lines}"
            )
        self.found = manifest
        if manifest.get("state") == "unfinished" or not there:
            return False
        if file_hash(self.path) != manifest["hashes"]["file_sha256"]:
            raise LimiteError(f"{self.path} was changed since it was made; --force makes it again")
        return True

    def known(self) -> Iterator[bytes]:
        """The lines that an earlier run left."""
        with self.part.open("rb") as file:
            for _ in range(self.lines):
                yield file.readline()

    def add(self, line: bytes) -> None:
        """Takes the next line; one that an earlier run wrote is only compared."""
        self._digest.update(line)
        self.count += 1
        if self.count <= self.resumed:
            if self.count == self.resumed and self._digest.hexdigest() != self._expected:
                raise LimiteError(
                    f"{self.part} does not hold what was asked for; --force begins again"
                )
            return
        self._pending.append(line)
        self._size += len(line)
        if self._size >= BUFFER_BYTES:
            self.flush()

    def refuse(self, line: bytes) -> None:
        """Keeps a refused candidate in the side file."""
        assert self._refused_file is not None
        self._refused_file.write(line)
        self._refusals += 1

    def flush(self) -> None:
        """Hands all lines to the disk."""
        try:
            write_all(self._file, b"".join(self._pending))
        except OSError as error:
            raise storage_error(error, self.part, "free some and repeat the command") from error
        self._pending.clear()
        self._size = 0

    def finish(self, state: str, counts: Mapping[str, Any]) -> dict[str, Any]:
        """Puts the file in its place, then the manifest, which is returned."""
        self.flush()
        os.fsync(self._file)
        self.lines = self.count
        write_lines(self.path, self.known())
        manifest = {
            "state": state,
            "request": self.request,
            "versions": versions(),
            "counts": dict(counts),
            "hashes": {
                "file_sha256": file_hash(self.path),
                "lines_sha256": self._digest.hexdigest(),
            },
        }
        write_json(self.manifest, manifest)
        self._close_refused()
        if not self._refusals:
            self.refused.unlink(missing_ok=True)
        self.part.unlink()
        os.close(self._file)
        return manifest

    def abandon(self) -> None:
        """Leaves the part as it is, for another run; an empty one is removed."""
        self._close_refused()
        if os.fstat(self._file).st_size == 0:
            self.part.unlink(missing_ok=True)
        os.close(self._file)

    def _close_refused(self) -> None:
        file = getattr(self, "_refused_file", None)
        if file is not None:
            file.close()


def _by_name(request: Mapping[str, Any]) -> dict[str, Any]:
    """A request with its families under their names, so that what differs in one is told."""
    families = request.get("families", [])
    return {
        **request,
        "families": {each["name"]: each for each in families},
        "order": [each["name"] for each in families],
    }


def _whole_lines(path: Path) -> tuple[int, int]:
    """How many whole lines a file has, and where the last of them ends."""
    count = size = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            end = block.rfind(b"\n")
            if end >= 0:
                size = file.tell() - len(block) + end + 1
    return count, size


def _lines_hash(lines: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
    return digest.hexdigest()
