"""``limite-gen grade``: responses to the problems of a file, judged."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from limite.core.cli.table import show_json
from limite.core.errors import LimiteError, Mistake, SettingsError
from limite.core.jsonl import NotJSON, read_numbered, write_jsonl
from limite.core.kinds import Verifier
from limite.core.train.data.records import TOLD, first_few
from limite.core.types import Answer, Problem, Verdict
from limite.problems import files
from limite.problems.gen.say import new_file
from limite.problems.gen.weak import sandbox, weak_sandbox_option
from limite.problems.verifiers.named import verifier_named

BATCH = 512
OUTCOMES = ("right", "wrong", "unreadable", "timed-out")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--responses",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help='Lines like {"id": "...", "response": "..."}; an id may come several times.',
)
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path), help="Verdicts.")
@click.option("--verifier", metavar="NAME", default="mathematics", show_default=True)
@weak_sandbox_option
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def grade(
    file: Path,
    responses: Path,
    out: Path | None,
    verifier: str,
    allow_weak_sandbox: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Judge responses to the problems of a file.

    A response names its problem by id. Counted are right, wrong, unreadable and timed-out ones;
    -o writes every verdict with its reason.
    """
    if out is not None:
        new_file(out, force=force)
    problems = {each.id: each for each in files.read_problems(file)}
    judge = verifier_named(verifier)
    answered = list(_responses(responses, problems))
    outcomes: Counter[str] = Counter()
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    lines = []
    pairs = [(problem.answer, text) for problem, text in answered]
    with sandbox(allow_weak=allow_weak_sandbox):
        for (problem, _), verdict in zip(answered, _verdicts(judge, pairs), strict=True):
            outcomes[verdict.outcome] += 1
            asked[problem.id] += 1
            right[problem.id] += verdict.correct
            lines.append({"id": problem.id, **attrs.asdict(verdict)})
    if out is not None:
        write_jsonl(out, lines)
    shares = [right[name] / count for name, count in asked.items()]
    page = {
        "responses": len(answered),
        "problems": len(problems),
        "without_response": len(problems) - len(asked),
        **{name: outcomes[name] for name in OUTCOMES},
        "accuracy": sum(shares) / len(shares) if shares else None,
    }
    if as_json:
        show_json(page)
        return
    counts = ", ".join(f"{outcomes[name]:,} {name}" for name in OUTCOMES)
    click.echo(f"{len(answered):,} responses: {counts}")
    if shares:
        click.echo(f"{100 * sum(shares) / len(shares):.1f}% right, {len(shares):,} problems alike")
    if page["without_response"]:
        click.echo(f"{page['without_response']:,} problems have no response", err=True)


def _verdicts(verifier: Verifier, pairs: Sequence[tuple[Answer, str]]) -> Iterator[Verdict]:
    """One verdict after another; a verifier that takes many answers at once is given many."""
    many = getattr(verifier, "judge", None)
    for at in range(0, len(pairs), BATCH):
        part = pairs[at : at + BATCH]
        yield from many(part) if many is not None else itertools.starmap(verifier, part)


def _responses(path: Path, problems: Mapping[str, Problem]) -> Iterator[tuple[Problem, str]]:
    """Every response with its problem; what is wrong is told all at once, by line."""
    wrong: list[Mistake] = []
    for number, record in read_numbered(path):
        try:
            yield _response(record, problems)
        except LimiteError as error:
            wrong.append(Mistake(str(error), file=str(path), line=number))
    if wrong:
        raise SettingsError(first_few(wrong[:TOLD], len(wrong), path))


def _response(record: Any, problems: Mapping[str, Problem]) -> tuple[Problem, str]:
    if isinstance(record, NotJSON):
        raise LimiteError(f"not JSON: {record}")
    if not isinstance(record, Mapping):
        raise LimiteError(f"expected an object, got {type(record).__name__}")
    name, text = record.get("id"), record.get("response")
    if not isinstance(name, str) or not isinstance(text, str):
        raise LimiteError("expected texts as 'id' and 'response'")
    if name not in problems:
        raise LimiteError(f"'id': no problem has the id {name[:80]!r}")
    return problems[name], text
