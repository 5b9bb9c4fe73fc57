"""Reading checkpoints: nothing is used before every hash has been verified."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import attrs
from torch import Tensor

from limite.core.checkpoint.manifest import (
    STATE,
    FileRecord,
    check_bytes,
    payload_file,
    read_manifest,
    step_of,
)
from limite.core.checkpoint.state import decode
from limite.core.checkpoint.stream import Streamed, verify_file
from limite.core.checkpoint.tensors import parse_tensors
from limite.core.checkpoint.write import clean_leftovers
from limite.core.errors import LimiteError, did_you_mean
from limite.core.jsonl import loads, storage_error


@attrs.frozen(kw_only=True, eq=False)
class Checkpoint:
    """A verified checkpoint. Tensors are on the CPU, in the dtypes they were saved in."""

    path: Path
    step: int
    payloads: Mapping[str, Mapping[str, Tensor]]
    state: Mapping[str, Any]
    contract: Mapping[str, Any]
    files: Mapping[str, FileRecord]

    def streamed(self, payload: str) -> Streamed:
        """A payload, to be read one tensor at a time."""
        name = payload_file(payload)
        return Streamed(place=self.path / name, record=self.files[name])


def read_checkpoint(
    path: str | Path,
    *,
    only: Collection[str] | None = None,
    later: Collection[str] = (),
) -> Checkpoint:
    """The checkpoint in the folder ``path``, after every file of its manifest was verified.

    ``only`` names the payloads to keep in memory; all are verified. Those in ``later`` are not
    kept, but are to be ``streamed``. Files that the manifest does not list are ignored. A
    LimiteError names the file that is wrong and says why.
    """
    path = Path(path)
    manifest = read_manifest(path)
    names = [name.removesuffix(".safetensors") for name in manifest.files if name != STATE]
    for name in only or ():
        if name not in names:
            near = did_you_mean(name, names)
            raise LimiteError(f"{path}: has no payload {name!r}{near}")
    # What is parsed is the very bytes that were hashed.
    state_bytes = _verified(path / STATE, manifest.files[STATE])
    payloads = {}
    for name in names:
        record = manifest.files[payload_file(name)]
        if name in later or (only is not None and name not in only):
            verify_file(path / payload_file(name), record)
            continue
        data = _verified(path / payload_file(name), record)
        payloads[name] = _tensors(path / payload_file(name), data, record)
    try:
        state = decode(loads(state_bytes))
        contract = decode(manifest.contract)
    except (ValueError, KeyError, TypeError) as error:
        raise LimiteError(f"{path / STATE}: not the state of a checkpoint: {error}") from error
    return Checkpoint(
        path=path,
        step=manifest.step,
        payloads=payloads,
        state=state,
        contract=contract,
        files=manifest.files,
    )


def newest_checkpoint(
    directory: str | Path,
    *,
    echo: Callable[[str], None] | None = None,
    only: Collection[str] | None = None,
    later: Collection[str] = (),
) -> Checkpoint | None:
    """The newest good checkpoint in ``directory``, or None if it holds none.

    A truncated, edited or half-written one is passed over for the one before it, and ``echo``
    hears which and why.
    """
    directory = Path(directory)
    if not directory.is_dir():
        return None
    clean_leftovers(directory)
    steps = {
        step: entry for entry in directory.iterdir() if (step := step_of(entry.name)) is not None
    }
    for step in sorted(steps, reverse=True):
        try:
            return read_checkpoint(steps[step], only=only, later=later)
        except LimiteError as error:
            if echo is not None:
                echo(f"skipped a broken checkpoint: {error}")
    return None


def _verified(place: Path, record: FileRecord) -> bytes:
    try:
        # A file of the wrong size is refused unread, however large it is.
        size = place.stat().st_size
        data = place.read_bytes() if size == record.size_bytes else b""
    except OSError as error:
        raise storage_error(error, place) from error
    check_bytes(place, record, size, hashlib.sha256(data).hexdigest())
    return data


def _tensors(place: Path, data: bytes, record: FileRecord) -> dict[str, Tensor]:
    try:
        tensors = parse_tensors(data, place.name)
        return tensors | {alias: tensors[name] for alias, name in record.aliases.items()}
    except (LimiteError, KeyError) as error:
        raise LimiteError(f"{place}: not a readable safetensors file: {error}") from error
