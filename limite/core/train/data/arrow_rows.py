"""Rows of an Arrow file, as ``datasets`` saves them: mapped, so that memory holds those in use."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.jsonl import DamagedFile
from limite.core.train.data.places import Place


def rows_from(
    path: Path, place: Place, names: tuple[str, ...] | None = None
) -> Iterator[tuple[Any, Place]]:
    """Every row as an object, with the place behind it; ``place.line`` is its number, from 1.

    Of all columns those of ``names`` are read that are there; without ``names`` all are.
    """
    line = place.line
    for number, batch in enumerate(_batches(path)):
        if number < place.offset:
            continue
        there = batch.schema.names
        wanted = there if names is None else [name for name in names if name in there]
        columns = {name: batch.column(name) for name in wanted}
        if not columns and names:
            others = ", ".join(there) or "none"
            raise LimiteError(f"{path}: has no column {' or '.join(names)}; there are {others}")
        for row in range(place.skip if number == place.offset else 0, batch.num_rows):
            line += 1
            record = {name: column[row].as_py() for name, column in columns.items()}
            yield record, Place(number, row + 1, line)


def count_rows(path: Path) -> int:
    """How many there are, without reading them."""
    return sum(batch.num_rows for batch in _batches(path))


def _batches(path: Path) -> Iterator[Any]:
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError as error:
        raise LimiteError(
            f"{path}: Arrow files need pyarrow ({error}); pip install 'limite[data]' brings it"
        ) from error
    try:
        with arrow.memory_map(str(path)) as source:
            try:
                reader = arrow.ipc.open_stream(source)
            except arrow.ArrowInvalid:  # the other of Arrow's two forms
                source.seek(0)
                file = arrow.ipc.open_file(source)
                yield from (file.get_batch(index) for index in range(file.num_record_batches))
                return
            yield from reader
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise DamagedFile(f"{path}: not a readable Arrow file: {error}", 0) from error
