"""The problems a model is measured on: from a file of anybody's, or one that ships with limite."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.jsonl import DamagedFile, loads, read_json
from limite.core.kinds import Verifier
from limite.core.rollout.grading import verdicts_on
from limite.core.train.data.records import TOLD, first_few
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.parquet import read_parquet

FOLDER = Path(__file__).parent / "benchmarks"
MANIFEST = "manifest.json"
SUFFIXES = (*files.SUFFIXES, ".parquet")
_AS_TEXT = ("solutions", "source", "difficulty", "meta", "extra")


@attrs.frozen(kw_only=True)
class ProblemSet:
    """Problems in order, all with answers, no two alike. ``sha256`` is that of their file."""

    name: str
    sha256: str
    problems: Sequence[Problem]
    licence: str = ""

    @property
    def record(self) -> dict[str, Any]:
        """The set as results name it."""
        return {
            "name": self.name,
            "sha256": self.sha256,
            "problems": len(self.problems),
            "licence": self.licence or None,
        }


def shipped() -> Mapping[str, Mapping[str, Any]]:
    """The benchmarks that come with limite, by name: file, sha256, problems, what they are."""
    found: Mapping[str, Mapping[str, Any]] = read_json(FOLDER / MANIFEST)
    return found


def problem_set(named: str, verifier: Verifier) -> ProblemSet:
    """The set of this name, or in the file of this path.

    Every mistake of a file is told with its line: a problem without an answer, one that stands
    there twice, an answer that ``verifier`` would not find right.
    """
    known = shipped()
    if named in known:
        about = known[named]
        path = FOLDER / about["file"]
        digest = _sha256(path)
        if digest != about["sha256"]:
            raise LimiteError(
                f"{path}: it is not the benchmark {named!r} that its seal names; install limite "
                "again, or give a copy of yours its own name"
            )
        return ProblemSet(
            name=named, sha256=digest, problems=_read(path, verifier), licence=about["licence"]
        )
    if not named.endswith(SUFFIXES):
        near = did_you_mean(named, known) or f"; there are {', '.join(known)}"
        raise LimiteError(
            f"--benchmark: no benchmark {named!r}{near}; a file ends in {', '.join(SUFFIXES)}"
        )
    path = Path(named)
    if not path.is_file():
        beside = [each.name for each in path.parent.glob("*") if each.name.endswith(SUFFIXES)]
        raise LimiteError(f"--benchmark: {path}: no such file{did_you_mean(path.name, beside)}")
    name = next(path.name.removesuffix(end) for end in SUFFIXES if path.name.endswith(end))
    return ProblemSet(name=name, sha256=_sha256(path), problems=_read(path, verifier))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path, verifier: Verifier) -> list[Problem]:
    problems: list[Problem] = []
    numbers: list[int] = []
    lines: dict[str, int] = {}
    wrong: list[Mistake] = []
    for number, found in _numbered(path):
        if isinstance(found, Problem) and found.id in lines:
            found = Mistake(
                f"the problem of line {lines[found.id]} again", file=str(path), line=number
            )
        if isinstance(found, Mistake):
            wrong.append(found)
            continue
        lines[found.id] = number
        problems.append(found)
        numbers.append(number)
    if not problems and not wrong:
        wrong.append(Mistake("expected problems, got none", file=str(path)))
    wrong += _unjudged(path, problems, numbers, verifier)
    if wrong:
        wrong.sort(key=lambda each: each.line or 0)
        raise SettingsError(first_few(wrong[:TOLD], len(wrong), path))
    return problems


def _unjudged(
    path: Path, problems: Sequence[Problem], numbers: Sequence[int], verifier: Verifier
) -> Iterator[Mistake]:
    """Answers that the verifier would not find right where a response states them."""
    write = getattr(verifier, "write", None)
    if write is None or not problems:
        return
    pairs = [(each.answer, write(each.answer)) for each in problems]
    for number, verdict in zip(numbers, verdicts_on(verifier, pairs), strict=True):
        if not verdict.correct:
            yield Mistake(
                f"answer: {type(verifier).__name__} cannot judge it: {verdict.reason}; --verifier "
                "names another",
                file=str(path),
                line=number,
            )


def _numbered(path: Path) -> Iterator[tuple[int, Problem | Mistake]]:
    if path.suffix != ".parquet":
        try:
            yield from files.read_lines(path)
        except DamagedFile as error:
            raise LimiteError(f"--benchmark: {error}") from error
        return
    for number, row in enumerate(read_parquet(path), start=1):
        try:
            found: Problem | Mistake = files.problem_of(_of_row(row))
        except ValueError as error:
            found = Mistake(str(error), file=str(path), line=number)
        yield number, found


def _of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a row as ``limite-gen export --format parquet`` writes it: nested values are
    JSON in a column, the type of the answer stands in ``answer_type``."""
    record = {name: value for name, value in row.items() if value is not None}
    if isinstance(record.get("answer"), Mapping):
        return record
    kind = record.pop("answer_type", None)
    params = record.pop("answer_params", "{}")
    if not isinstance(record.get("answer"), str) or not isinstance(kind, str):
        raise ValueError(
            "expected columns 'problem', 'answer' and 'answer_type', as limite-gen export "
            "--format parquet writes them; limite-gen import reads other layouts"
        )
    for name in _AS_TEXT:
        if isinstance(record.get(name), str):
            record[name] = loads(record[name])
    record |= record.pop("extra", {})
    record["answer"] = {"type": kind, "value": record["answer"], "params": loads(params)}
    record.pop("solution", None) if "solutions" in record else None
    return record
