"""``limite-gen dedup``: a file without its repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from limite.core.separation import text_hash
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.say import new_file, report


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True)
@click.option("--text", is_flag=True, help="Questions alike but for case and punctuation repeat.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def dedup(file: Path, out: Path, text: bool, force: bool, as_json: bool) -> None:
    """Write a file without its repetitions: of each problem the first record.

    A problem is its question and its answer. With --text a question that differs from an earlier
    one in case, spacing or punctuation alone is a repetition too, whatever its answer; 3*5 and
    3-5 look alike then.
    """
    new_file(out, force=force)
    counts = {"read": 0, "written": 0, "repeated": 0}
    key = (lambda each: text_hash(each.problem)) if text else (lambda each: each.id)
    files.write_problems(out, distinct(files.iterate(file), key, counts))
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
