"""Problems row by row from whatever holds them: lines, Parquet, or a data set that was saved.

Columns are those of a file of problems. What ``limite-gen export --format parquet`` writes is read
as well: nested values are JSON in a column, the type of the answer stands in ``answer_type``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError, Mistake, did_you_mean
from limite.core.jsonl import DamagedFile, loads
from limite.core.train.data.arrow_rows import rows_from
from limite.core.train.data.places import Place
from limite.core.train.data.token_files import SPLITS, STATE, saved_files
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.parquet import read_parquet

SUFFIXES = (*files.SUFFIXES, ".parquet")
_AS_TEXT = ("solutions", "source", "difficulty", "meta", "extra")


def is_data_set(path: Path) -> bool:
    """Whether ``Dataset.save_to_disk`` has left this folder."""
    return (path / STATE).is_file() or (path / SPLITS).is_file()


def place_of(named: str, others: Mapping[str, Any] | list[str]) -> Path:
    """The file or folder that somebody named; a LimiteError has the nearest right word."""
    path = Path(named).expanduser()
    if path.is_dir():
        if is_data_set(path):
            if not (path / STATE).is_file():
                splits = sorted(each.name for each in path.iterdir() if is_data_set(each))
                raise LimiteError(
                    f"--benchmark: {path} holds splits of a data set, and one is asked: "
                    f"{', '.join(f'{path}/{split}' for split in splits) or 'there are none'}"
                )
            return path
        raise LimiteError(
            f"--benchmark: {path} is a folder without {STATE}, so no data set that was saved; "
            f"a file ends in {', '.join(SUFFIXES)}"
        )
    if not named.endswith(SUFFIXES):
        near = did_you_mean(named, others) or f"; there are {', '.join(others)}"
        raise LimiteError(
            f"--benchmark: no benchmark {named!r}{near}; a file ends in {', '.join(SUFFIXES)}"
        )
    if not path.is_file():
        beside = [each.name for each in path.parent.glob("*") if each.name.endswith(SUFFIXES)]
        raise LimiteError(f"--benchmark: {path}: no such file{did_you_mean(path.name, beside)}")
    return path


def name_of(path: Path) -> str:
    """What a set is called that has no other name: that of its file, or of its folder."""
    ending = next((end for end in SUFFIXES if path.name.endswith(end)), "")
    return (path.resolve() if path.is_dir() else path).name.removesuffix(ending)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file; of a data set that of its files' own, in order."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256("".join(map(sha256_of, saved_files(path))).encode()).hexdigest()


def problems_in(path: Path) -> Iterator[tuple[int, Problem | Mistake]]:
    """The number of every row, from 1, with its problem or what is wrong with it."""
    if path.is_file() and path.suffix != ".parquet":
        try:
            yield from files.read_lines(path)
        except DamagedFile as error:
            raise LimiteError(f"--benchmark: {error}") from error
        return
    for number, row in enumerate(raw_rows(path), start=1):
        try:
            found: Problem | Mistake = files.problem_of(_of_row(row))
        except ValueError as error:
            found = Mistake(str(error), file=str(path), line=number)
        yield number, found


def raw_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a Parquet file or of a data set, column by column as they stand there."""
    if path.is_file():
        yield from read_parquet(path)
        return
    for each in saved_files(path):
        for row, _ in rows_from(each, Place()):
            yield row


def _of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a row; nothing of what a row leaves empty is in it."""
    record = {name: value for name, value in row.items() if value is not None}
    answer = record.get("answer")
    for name in _AS_TEXT:
        if isinstance(record.get(name), str):
            record[name] = loads(record[name])
        elif isinstance(record.get(name), Mapping):
            record[name] = _there(record[name])
    record |= record.pop("extra", {})
    if isinstance(answer, Mapping):
        params = answer.get("params") or {}
        params = loads(params) if isinstance(params, str) else _there(params)
        record["answer"] = {**answer, "params": params}
    else:
        kind = record.pop("answer_type", None)
        params = record.pop("answer_params", "{}")
        if not isinstance(answer, str) or not isinstance(kind, str):
            raise ValueError(
                "expected columns 'problem', 'answer' and 'answer_type', as limite-gen export "
                "--format parquet writes them; limite-gen import reads other layouts"
            )
        record["answer"] = {"type": kind, "value": answer, "params": loads(params)}
    record.pop("solution", None) if "solutions" in record else None
    return record


def _there(value: Any) -> Any:
    """A column of objects without what a row leaves out: Arrow gives every row every key."""
    if isinstance(value, Mapping):
        return {name: _there(each) for name, each in value.items() if each is not None}
    return value
