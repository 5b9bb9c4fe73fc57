"""A payload of a checkpoint, read one tensor at a time, so that the whole is never held."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.manifest import FileRecord, check_bytes
from limite.core.checkpoint.tensor_header import (
    LENGTH_BYTES,
    TensorEntry,
    header_length,
    parse_header,
)
from limite.core.checkpoint.tensors import tensor_bytes
from limite.core.errors import LimiteError
from limite.core.jsonl import storage_error

_BLOCK_BYTES = 1 << 20


@attrs.frozen(kw_only=True)
class Streamed:
    """The tensors of a verified file. What is read is hashed again: a file that was changed since
    it was verified is refused when its last tensor has been read."""

    place: Path
    record: FileRecord

    def __iter__(self) -> Iterator[tuple[str, Tensor]]:
        """Each name with its tensor, in host memory; tied names have one tensor."""
        try:
            with self.place.open("rb") as file:
                yield from self._read(file)
        except OSError as error:
            raise storage_error(error, self.place) from error

    def _read(self, file: BinaryIO) -> Iterator[tuple[str, Tensor]]:
        digest = hashlib.sha256()
        size = self.record.size_bytes
        start = file.read(LENGTH_BYTES)
        digest.update(start)
        where = str(self.place)
        text = file.read(header_length(start, size, where))
        digest.update(text)
        header = parse_header(text, size - len(start) - len(text), where)
        others: dict[str, list[str]] = {}
        for alias, name in self.record.aliases.items():
            others.setdefault(name, []).append(alias)
        for name, entry in _in_order(header.entries):
            tensor = torch.empty(entry.shape, dtype=entry.dtype)
            view = tensor_bytes(tensor)
            if file.readinto(view) != len(view):  # type: ignore[attr-defined]
                raise LimiteError(f"{where}: it was cut short while it was read")
            digest.update(view)
            for each in (name, *others.get(name, ())):
                yield each, tensor
        check_bytes(self.place, self.record, file.tell() + len(file.read(1)), digest.hexdigest())


def _in_order(entries: Mapping[str, TensorEntry]) -> list[tuple[str, TensorEntry]]:
    return sorted(entries.items(), key=lambda each: (each[1].begin, each[1].end))


def verify_file(place: Path, record: FileRecord) -> None:
    """Refuses a file that is not what the manifest says, a block at a time."""
    digest = hashlib.sha256()
    try:
        # A file of the wrong size is refused unread, however large it is.
        size = place.stat().st_size
        if size == record.size_bytes:
            with place.open("rb", buffering=0) as file:
                while block := file.read(_BLOCK_BYTES):
                    digest.update(block)
    except OSError as error:
        raise storage_error(error, place) from error
    check_bytes(place, record, size, digest.hexdigest())
