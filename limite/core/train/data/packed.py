"""Columns of numbers in files, written once from end to end and then read anywhere.

A file holds one column, as safetensors. It is mapped when it is read, so that of millions of rows
memory holds those in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs
import numpy as np
import torch

from limite.core.checkpoint.tensor_header import (
    LENGTH_BYTES,
    header_bytes,
    header_length,
    parse_header,
)
from limite.core.checkpoint.tensors import FORMAT
from limite.core.errors import LimiteError
from limite.core.jsonl import storage_error

VALUES = "values"
HEADER_BYTES = 256  # kept free until the column's length is known
KINDS = {torch.int32: "<i4", torch.int64: "<i8", torch.float32: "<f4", torch.uint8: "u1"}
BUFFER_BYTES = 1 << 20


class ColumnWriter:
    """One growing column. The file is a column once it was closed without an error."""

    def __init__(self, path: str | Path, dtype: torch.dtype) -> None:
        self.path, self.dtype = Path(path), dtype
        self.count = 0
        try:
            self._file = self.path.open("xb", buffering=BUFFER_BYTES)
            self._file.write(bytes(HEADER_BYTES))
        except OSError as error:
            raise storage_error(error, self.path, "free some and resume") from error

    def add(self, values: Sequence[float] | np.ndarray[Any, Any]) -> None:
        """Puts ``values`` behind those that are there."""
        block = np.asarray(values, dtype=KINDS[self.dtype])
        try:
            self._file.write(block.tobytes())
        except OSError as error:
            raise storage_error(error, self.path, "free some and resume") from error
        self.count += block.size

    def __enter__(self) -> ColumnWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                text = header_bytes({VALUES: (self.dtype, (self.count,))}, FORMAT)[LENGTH_BYTES:]
                text = text.ljust(HEADER_BYTES - LENGTH_BYTES)
                self._file.seek(0)
                self._file.write(len(text).to_bytes(LENGTH_BYTES, "little") + text)
            self._file.close()
        except OSError as failed:
            raise storage_error(failed, self.path, "free some and resume") from failed


def read_column(path: str | Path) -> np.ndarray[Any, Any]:
    """A column, mapped from its file."""
    path = Path(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = header_length(file.read(LENGTH_BYTES), size, str(path))
            start = LENGTH_BYTES + length
            header = parse_header(file.read(length), size - start, str(path))
        entry = header.entries.get(VALUES)
        if entry is None or entry.dtype not in KINDS:
            raise LimiteError(f"{path}: not a column of numbers")
        kind = np.dtype(KINDS[entry.dtype])
        if not entry.size_bytes:
            return np.empty(0, kind)
        return np.memmap(path, kind, "r", offset=start + entry.begin, shape=entry.shape)
    except OSError as error:
        raise storage_error(error, path) from error


@attrs.frozen(eq=False)
class Ragged:
    """Rows of different lengths, one after the other in one column. ``ends`` says where each ends.

    ``width`` numbers belong to every item of a row.
    """

    values: np.ndarray[Any, Any]  # [N * width]
    ends: np.ndarray[Any, Any]  # [R]
    width: int = 1

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: int) -> np.ndarray[Any, Any]:
        """One row, ``[L]``, or ``[L, width]``."""
        start = int(self.ends[row - 1]) if row else 0
        block = self.values[start * self.width : int(self.ends[row]) * self.width]
        return block if self.width == 1 else block.reshape(-1, self.width)
