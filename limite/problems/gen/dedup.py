"""``limite-gen dedup``: a file without its repetitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from limite.core.separation import text_hash
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.say import new_file, report
from limite.problems.near import Near, keys, template


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True)
@click.option("--text", is_flag=True, help="Questions alike but for case and punctuation repeat.")
@click.option("--near", is_flag=True, help="Questions in other words repeat, too.")
@click.option(
    "--per-template", metavar="N", type=click.IntRange(1),
    help="Keep at most N that differ in numbers alone.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def dedup(
    file: Path,
    out: Path,
    text: bool,
    near: bool,
    per_template: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write a file without its repetitions: of each problem the first record.

    A problem is its question and its answer. With --text a question that differs from an earlier
    one in case, spacing or punctuation alone is a repetition too, whatever its answer; 3*5 and
    3-5 look alike then. With --near so is one with the same numbers, the same answer and four
    fifths of its phrases. Questions that differ in numbers alone are different problems of one
    template, which --per-template caps.
    """
    new_file(out, force=force)
    counts = {"read": 0, "written": 0, "repeated": 0}
    key = (lambda each: text_hash(each.problem)) if text else (lambda each: each.id)
    problems = distinct(files.iterate(file), key, counts)
    if near:
        problems = unlike(problems, counts)
    if per_template is not None:
        problems = capped(problems, per_template, counts)
    files.write_problems(out, problems)
    report(as_json, out, counts)


def distinct(
    problems: Iterable[Problem], key: Callable[[Problem], str], counts: dict[str, int]
) -> Iterator[Problem]:
    """The problems whose key, in hexadecimal, none before them has; counted as they go by."""
    seen: set[bytes] = set()
    for problem in problems:
        counts["read"] += 1
        mark = bytes.fromhex(key(problem))
        if mark in seen:
            counts["repeated"] += 1
            continue
        seen.add(mark)
        counts["written"] += 1
        yield problem


def unlike(problems: Iterable[Problem], counts: dict[str, int]) -> Iterator[Problem]:
    """The problems that say in no other words what one before them says."""
    counts["reworded"] = 0
    kept = Near()
    for problem in problems:
        masked, there = keys(problem.problem)
        mark = there, problem.answer.type, problem.answer.value
        if next(kept.find(masked, mark), None) is not None:
            counts["reworded"] += 1
            counts["written"] -= 1
            continue
        kept.add(masked, mark, True)
        yield problem


def capped(problems: Iterable[Problem], most: int, counts: dict[str, int]) -> Iterator[Problem]:
    """At most so many problems of each template."""
    counts["over_template"] = 0
    seen: Counter[str] = Counter()
    for problem in problems:
        mark = text_hash(template(problem.problem))
        seen[mark] += 1
        if seen[mark] > most:
            counts["over_template"] += 1
            counts["written"] -= 1
            continue
        yield problem
