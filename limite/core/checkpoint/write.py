"""Writing checkpoints: aside, manifest last, then one rename; a killed write leaves no trace."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from limite.core.checkpoint.manifest import (
    MANIFEST,
    STATE,
    FileRecord,
    Manifest,
    check_payload_names,
    check_sizes,
    payload_file,
    step_name,
    step_of,
    verify,
)
from limite.core.checkpoint.state import encode
from limite.core.checkpoint.tensors import Storable, tensor_pieces
from limite.core.errors import LimiteError
from limite.core.jsonl import dumps, storage_error, sync_directory, write_all

_WRITING, _BROKEN, _DELETING = ".writing-", ".broken-", ".deleting-"
_SLICE_BYTES = 1 << 22


def write_checkpoint(
    directory: str | Path,
    step: int,
    payloads: Mapping[str, Mapping[str, Storable]],
    state: Mapping[str, Any],
    contract: Mapping[str, Any],
    keep: int,
    *,
    pinned: Collection[int] = (),
) -> Path:
    """Publishes ``directory/step-000100`` and keeps the newest ``keep`` checkpoints.

    Beside them stay those of ``pinned`` steps.

    ``payloads`` is file name (without ending) to tensor name to tensor; ``state`` and ``contract``
    are plain data. Older checkpoints go only after the new one was read back and verified. A good
    checkpoint of the same step stays as it is, and other weights for it are an error: a resumed
    run arrives at the very same bits. On a full disk: a LimiteError, and everything as before.
    """
    directory = Path(directory)
    if keep < 1:
        raise LimiteError(f"keep must be at least 1 checkpoint, got {keep}")
    check_payload_names(payloads)
    target = directory / step_name(step)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with _locked(directory) as alone:
            if not alone:
                raise LimiteError(f"{directory}: another process is writing a checkpoint there")
            _clean(directory)
            aside = directory / f"{_WRITING}{target.name}-{secrets.token_hex(4)}"
            try:
                manifest = _write_files(aside, step, payloads, state, contract)
                _publish(aside, target, manifest)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
            verify(target)
            _retain(directory, step, keep, pinned)
    except OSError as error:
        advice = (
            "older checkpoints are untouched; free some and resume, "
            "or lower 'keep', or choose another disk with --out"
        )
        raise storage_error(error, target, advice) from error
    return target


def clean_leftovers(directory: Path) -> None:
    """Removes what killed writes left in ``directory``, unless a write is going on right now."""
    try:
        with _locked(directory) as alone:
            if alone:
                _clean(directory)
    except OSError:
        # Readers may have no right to write here; leftovers are hidden from them anyway.
        return


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[bool]:
    """Whether this process alone may write in ``directory``; the kernel ends the lock with it."""
    file = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(file)


def _clean(directory: Path) -> None:
    for entry in directory.iterdir():
        if entry.name.startswith((_WRITING, _BROKEN, _DELETING)):
            shutil.rmtree(entry)


def _write_files(
    aside: Path,
    step: int,
    payloads: Mapping[str, Mapping[str, Storable]],
    state: Mapping[str, Any],
    contract: Mapping[str, Any],
) -> Manifest:
    # Refused before the first byte is written.
    # Its keys keep their order: what a component restores must iterate as what it saved did.
    state_text = dumps(encode(state, where="state"), sort_keys=False) + "\n"
    plain_contract = encode(contract, where="contract")
    aside.mkdir()
    files = {}
    for name, tensors in payloads.items():
        pieces, aliases = tensor_pieces(tensors, where=name)
        files[payload_file(name)] = _write_file(aside / payload_file(name), pieces, aliases)
    files[STATE] = _write_file(aside / STATE, iter([state_text.encode()]), {})
    manifest = Manifest(step=step, contract=plain_contract, files=files)
    _write_file(aside / MANIFEST, iter([manifest.text().encode()]), {})
    sync_directory(aside)
    return manifest


def _write_file(
    place: Path, pieces: Iterator[bytes | memoryview], aliases: Mapping[str, str]
) -> FileRecord:
    digest = hashlib.sha256()
    size = 0
    file = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        for piece in pieces:
            view = memoryview(piece)
            for start in range(0, len(view), _SLICE_BYTES):
                part = view[start : start + _SLICE_BYTES]
                write_all(file, part)
                digest.update(part)
            size += len(view)
        os.fsync(file)
    finally:
        os.close(file)
    return FileRecord(sha256=digest.hexdigest(), size_bytes=size, aliases=aliases)


def _publish(aside: Path, target: Path, manifest: Manifest) -> None:
    if target.exists():
        try:
            standing = verify(target)
        except LimiteError:
            # It never was a checkpoint anyone could load; the way must be free for the rename.
            broken = target.with_name(f"{_BROKEN}{target.name}-{secrets.token_hex(4)}")
            target.rename(broken)
            aside.rename(target)
            sync_directory(target.parent)
            shutil.rmtree(broken)
            return
        changed = sorted(
            name
            for name in standing.files.keys() | manifest.files.keys()
            if name != STATE and standing.files.get(name) != manifest.files.get(name)
        )
        if changed:
            raise LimiteError(
                f"{target}: exists already and holds other values in {', '.join(changed)}; "
                "a checkpoint is never overwritten"
            )
        return
    aside.rename(target)
    sync_directory(target.parent)


def _retain(directory: Path, step: int, keep: int, pinned: Collection[int]) -> None:
    """Deletes older checkpoints beyond ``keep``; that of ``step`` is known to be good."""
    earlier = {
        number: entry
        for entry in directory.iterdir()
        if (number := step_of(entry.name)) is not None and number < step
    }
    kept = 1
    for number in sorted(earlier, reverse=True):
        entry = earlier[number]
        if kept < keep and _looks_good(entry):
            kept += 1
            continue
        if number in pinned:
            continue
        # Renamed first: a deletion cut short must not look like a checkpoint.
        doomed = entry.with_name(f"{_DELETING}{entry.name}-{secrets.token_hex(4)}")
        entry.rename(doomed)
        shutil.rmtree(doomed)


def _looks_good(entry: Path) -> bool:
    try:
        check_sizes(entry)
    except LimiteError:
        return False
    return True
