"""Rows as a Parquet file, a bounded number of them at a time."""

from __future__ import annotations

import importlib
import itertools
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.jsonl import TEMPORARY

GROUP_ROWS = 10_000


def write_parquet(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Writes rows that all have the same keys; the name appears when all are written."""
    arrow, parquet = _arrow()
    remaining = iter(rows)
    temporary = path.with_name(f".{path.name}{TEMPORARY}{secrets.token_hex(4)}")
    writer = None
    try:
        while group := list(itertools.islice(remaining, GROUP_ROWS)):
            schema = None if writer is None else writer.schema
            table = arrow.Table.from_pylist(group, schema=schema)
            if writer is None:
                writer = parquet.ParquetWriter(temporary, table.schema)
            writer.write_table(table)
        if writer is None:
            raise LimiteError("there is no problem to write")
        writer.close()
        temporary.replace(path)
    except BaseException:
        if writer is not None:
            writer.close()
        temporary.unlink(missing_ok=True)
        raise


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file, one by one."""
    _, parquet = _arrow()
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(GROUP_ROWS):
                yield from batch.to_pylist()
    except (OSError, ValueError) as error:
        raise LimiteError(f"{path}: not a readable Parquet file: {error}") from error


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise LimiteError(
            f"Parquet needs pyarrow ({error}); pip install 'limite[data]' brings it"
        ) from error
