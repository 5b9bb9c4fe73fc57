"""One safetensors file: its tensors read straight to where they belong, and files written so.

Nothing is mapped into memory: mapped pages would count beside the tensors they are copied to.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from io import FileIO
from pathlib import Path

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.tensor_header import (
    LENGTH_BYTES,
    METADATA,
    NAMES,
    TensorEntry,
    brief,
    header_bytes,
    header_length,
    parse_header,
    refuse_all,
    shown,
)
from limite.core.checkpoint.tensors import (
    FORMAT,
    DeferredTensor,
    check_storable,
    file_order,
    tensor_bytes,
)
from limite.core.errors import LimiteError, Mistake, did_you_mean
from limite.core.jsonl import write_atomic
from limite.core.pretrained.plain_file import is_there, reading
from limite.core.pretrained.tensor_read import TensorReader, read_exactly

Stamp = tuple[int, int, int, int]


@attrs.frozen(kw_only=True)
class TensorFile:
    """A safetensors file whose header was read and found sound. Its tensors are read when asked."""

    path: Path
    entries: Mapping[str, TensorEntry]
    metadata: Mapping[str, str]
    start: int
    """Where the bytes of tensors begin."""
    stamp: Stamp

    @classmethod
    def open(cls, path: str | Path) -> TensorFile:
        """Reads the header. A LimiteError says why a file is not one, or is damaged."""
        path = Path(path)
        with reading(path) as file:
            stamp = _stamp(file)
            size = stamp[2]
            length = header_length(read_exactly(file, 0, min(size, LENGTH_BYTES)), size, str(path))
            start = LENGTH_BYTES + length
            text = read_exactly(file, LENGTH_BYTES, length)
        header = parse_header(text, size - start, str(path))
        refuse_all([mistake for name in header.entries for mistake in _bad_name(name, path)])
        return cls(
            path=path, entries=header.entries, metadata=header.metadata, start=start, stamp=stamp
        )

    @property
    def total_bytes(self) -> int:
        """Of all tensors."""
        return sum(entry.size_bytes for entry in self.entries.values())

    def entry(self, name: str) -> TensorEntry:
        """The dtype, shape and place of a tensor."""
        if name not in self.entries:
            near = did_you_mean(name, self.entries)
            raise LimiteError(f"{self.path}: no tensor {shown(name)!r}{near}")
        return self.entries[name]

    def read_into(self, name: str, destination: Tensor, *, rows: range | None = None) -> None:
        """Gives ``destination`` the values of a tensor, or of some ``rows`` of its first dimension.

        In equal dtypes, to contiguous memory of the CPU, bytes are read straight into that memory;
        otherwise through a buffer of ``tensor_read.BUFFER_BYTES``. Floats are rounded to the
        destination's dtype; one that is too large for it is refused, as is every other change of
        dtype. For a destination on the meta device nothing is read.
        """
        reader = self._reader(name, rows)
        reader.check(destination)
        if destination.is_meta:
            return
        with self._file() as file:
            reader.read_into(file, destination)

    def read(self, name: str, *, rows: range | None = None) -> Tensor:
        """A tensor as the file has it, or some ``rows`` of its first dimension."""
        reader = self._reader(name, rows)
        tensor = torch.empty(reader.shape, dtype=reader.dtype)
        self.read_into(name, tensor, rows=rows)
        return tensor

    def pieces(self, name: str, *, values: int) -> Generator[Tensor, None, None]:
        """A tensor's values in its own dtype, flat, so many at a time, in memory that is reused."""
        reader = self._reader(name, None)
        with self._file() as file:
            yield from reader.pieces(file, values)

    def _reader(self, name: str, rows: range | None) -> TensorReader:
        entry = self.entry(name)
        where = f"{self.path}: {shown(name)}"
        return TensorReader.of(entry, start=self.start, rows=rows, where=where)

    @contextlib.contextmanager
    def _file(self) -> Iterator[FileIO]:
        with reading(self.path) as file:
            if _stamp(file) != self.stamp:
                raise LimiteError(f"{self.path}: it was changed after its header was read")
            yield file


Tensors = Mapping[str, Tensor | DeferredTensor] | Iterable[tuple[str, Tensor | DeferredTensor]]


def write_tensor_file(
    path: str | Path, tensors: Tensors, metadata: Mapping[str, str] | None = None
) -> None:
    """Writes a new safetensors file aside and renames it: it is there whole, or not at all.

    Equal tensors give equal bytes, in whatever order they come. A tensor under two names is
    written twice. ``metadata`` is what other readers look for unless given.
    """
    path = Path(path)
    given = checked_tensors(tensors, str(path))
    metadata = FORMAT if metadata is None else dict(metadata)
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise LimiteError(f"{path}: metadata: expected texts, got {brief({key: value})}")
    if is_there(path):
        raise LimiteError(f"{path}: exists already, and nothing is overwritten")
    write_atomic(path, _content(given, metadata, str(path)))


def checked_tensors(tensors: Tensors, where: str) -> dict[str, Tensor | DeferredTensor]:
    """The tensors by name, each of which a file can hold."""
    pairs = tensors.items() if isinstance(tensors, Mapping) else tensors
    given: dict[str, Tensor | DeferredTensor] = {}
    for name, tensor in pairs:
        refuse_all(_bad_name(name, where))
        if name in given:
            raise LimiteError(f"{where}: two tensors are named {name!r}")
        if isinstance(tensor, Tensor):
            check_storable(name, tensor, where)
        elif tensor.dtype not in NAMES:
            raise LimiteError(
                f"{where}: the tensor {name!r} is {tensor.dtype}; it cannot be stored"
            )
        given[name] = tensor
    return given


def _content(
    tensors: Mapping[str, Tensor | DeferredTensor], metadata: Mapping[str, str], where: str
) -> Iterator[bytes | memoryview]:
    names = file_order({name: tensor.dtype for name, tensor in tensors.items()})
    yield header_bytes({n: (tensors[n].dtype, tensors[n].shape) for n in names}, metadata)
    for name in names:
        # Held by no name here, so that it is gone when the next is made.
        yield tensor_bytes(_made(name, tensors[name], where))


def _made(name: str, planned: Tensor | DeferredTensor, where: str) -> Tensor:
    if isinstance(planned, Tensor):
        return planned
    tensor = planned.make()
    check_storable(name, tensor, where)
    if tensor.dtype != planned.dtype or tuple(tensor.shape) != tuple(planned.shape):
        raise LimiteError(
            f"{where}: {name}: expected {planned.dtype} of shape {list(planned.shape)}, "
            f"got {tensor.dtype} of shape {list(tensor.shape)}"
        )
    return tensor


def _bad_name(name: str, where: str | Path) -> list[Mistake]:
    """Names are printed, and some programs make file names of them."""
    if name.isprintable() and not {"/", "\\"} & set(name) and name not in ("", "..", METADATA):
        return []
    why = "expected a tensor's name: printable, without slashes"
    return [Mistake(why, path=shown(name), file=str(where))]


def _stamp(file: FileIO) -> Stamp:
    found = os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
