"""``limite-gen import``: problems from the files of other data sets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from limite.core.errors import LimiteError, RunFailed, did_you_mean
from limite.core.jsonl import NotJSON, read_numbered, write_jsonl
from limite.core.types import Answer, Problem
from limite.problems import files
from limite.problems.answers import CHECKED, TYPES, canonical
from limite.problems.gen.families import words_in
from limite.problems.gen.layouts import LAYOUTS, Found, Misfit
from limite.problems.gen.output import beside
from limite.problems.gen.parquet import read_parquet
from limite.problems.gen.say import new_file, report

TOLD = 10


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "layout", required=True, type=click.Choice(list(LAYOUTS)))
@click.option(
    "--types", metavar="TYPE[,TYPE]", default="integer,rational", show_default=True,
    help="The first that an answer can be read as is its type.",
)  # fmt: skip
@click.option("--params", metavar="JSON", help='Of every answer: {"variables": ["x"]}, ...')
@click.option("--dataset", metavar="NAME", help="The source that records name.  [the file's name]")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag of every record.")
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def import_(
    file: Path,
    layout: str,
    types: str,
    params: str | None,
    dataset: str | None,
    tags: tuple[str, ...],
    out: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Read problems from a file of another data set: .jsonl, .jsonl.zst, .json or .parquet.

    Answers are read as one of --types, in their order, and written in canonical form; string at
    the end of --types keeps every other one as text. A row that cannot be read is rejected with
    its number and why, in OUT.rejected.jsonl, and the command ends with 1. Columns that limite has
    no place for are kept under 'meta'.

    \b
    hash               question, answer: a solution that ends in '#### 18'
    boxed              problem, solution with the answer in a box
    expected-answer    problem, expected_answer, generated_solution
    question-answer    question, answer, metadata
    verl               prompt, reward_model.ground_truth, extra_info
    verification-info  prompt, gold_standard_solution, verification_info
    trl                prompt, answer, other columns
    final-answer       question, final_answer, rationale as code
    """
    wanted = words_in(types, "a type of answer")
    for word in wanted:
        if word not in (known := (*TYPES, *CHECKED)):
            near = did_you_mean(word, known) or f"; there are {', '.join(known)}"
            raise LimiteError(f"--types: unknown type of answer {word!r}{near}")
    shared = _params(params)
    new_file(out, force=force)
    aside = beside(out, "rejected.jsonl")
    name = dataset or file.name.partition(".")[0]
    counts: Counter[str] = Counter(read=0, written=0, rejected=0)
    rejected: list[dict[str, Any]] = []

    def problems() -> Iterator[Problem]:
        for number, row in rows(file):
            counts["read"] += 1
            try:
                problem = problem_of(row, layout, wanted, shared)
            except (Misfit, LimiteError) as error:
                counts["rejected"] += 1
                rejected.append({"row": number, "reason": str(error)})
                continue
            counts["written"] += 1
            counts[problem.answer.type] += 1
            source = {"kind": "import", "dataset": name, "row": number}
            yield files.problem_of(
                {**files.record_of(problem), "source": source, "tags": list(tags)}
            )

    files.write_problems(out, problems())
    aside.unlink(missing_ok=True)
    report(as_json, out, counts)
    if rejected:
        write_jsonl(aside, rejected)
        shown = "\n".join(
            f"{file}: row {each['row']}: {each['reason']}" for each in rejected[:TOLD]
        )
        raise RunFailed(f"{shown}\n{len(rejected):,} rows were rejected; {aside} has them all")


def rows(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows of a file with their numbers: lines of .jsonl, else counted from 1."""
    if path.suffix == ".parquet":
        yield from enumerate(read_parquet(path), start=1)
    elif path.suffix == ".json":
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise LimiteError(f"{path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise LimiteError(f"{path}: not JSON: {error}") from error
        if not isinstance(data, list):
            raise LimiteError(f"{path}: expected a list of rows, got {type(data).__name__}")
        yield from enumerate(data, start=1)
    else:
        yield from read_numbered(files.suffixed(path))


def problem_of(row: Any, layout: str, types: Sequence[str], params: Mapping[str, Any]) -> Problem:
    """The problem of a row; a Misfit or a LimiteError says why it is none."""
    if isinstance(row, NotJSON):
        raise Misfit(f"not JSON: {row}")
    if not isinstance(row, Mapping):
        raise Misfit(f"expected an object, got {type(row).__name__}")
    found = LAYOUTS[layout](row)
    meta = {key: value for key, value in row.items() if key not in found.columns}
    return Problem(
        problem=found.problem,
        answer=_answer(found, types, params),
        solutions={files.WORDS: found.solution} if found.solution else {},
        meta=meta,
        extra={"program": found.program} if found.program else {},
    )


def _answer(found: Found, types: Sequence[str], params: Mapping[str, Any]) -> Answer:
    """The answer in canonical form, of the first type that it can be read as."""
    if found.kind:
        return canonical(Answer(type=found.kind, value=found.answer, params=found.params))
    reasons = []
    for kind in types:
        try:
            return canonical(Answer(type=kind, value=found.answer, params=params))
        except LimiteError as error:
            reasons.append(str(error))
    raise Misfit("; ".join(reasons))


def _params(text: str | None) -> Mapping[str, Any]:
    try:
        params = {} if text is None else json.loads(text)
    except (ValueError, RecursionError):
        params = None
    if not isinstance(params, dict):
        raise LimiteError(f'--params {text}: expected a JSON object such as {{"variable": "x"}}')
    return params
