"""``limite-gen check``: every problem of a file solved and verified again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from limite.core.cli.table import show_json
from limite.core.errors import LimiteError, Mistake, RunFailed, sentence
from limite.core.jsonl import DamagedFile, dumps
from limite.core.kinds import Generator
from limite.core.train.data.records import TOLD
from limite.core.types import Problem
from limite.problems import files
from limite.problems.gen.candidate import Judge
from limite.problems.gen.families import family


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--verifier", metavar="NAME", default="mathematics", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every mistake.")
def check(file: Path, verifier: str, as_json: bool) -> None:
    """Solve and verify every problem of a file again.

    A problem is right when its record is sound, the verifier takes its own answer for right, the
    family that made it finds the same answer anew, and no earlier line holds it. Ends with 1 if
    one is not, and tells where.
    """
    checker = Checker(verifier)
    wrong: list[Mistake] = []
    read = solved = 0
    lines: dict[str, int] = {}
    for number, found in _lines(file, wrong):
        read += 1
        if isinstance(found, Mistake):
            wrong.append(found)
            continue
        reason, again = checker(found)
        solved += again
        if found.id in lines:
            reason = reason or f"the problem of line {lines[found.id]} again"
        lines.setdefault(found.id, number)
        if reason:
            wrong.append(Mistake(reason, file=str(file), line=number))
    if not read and not wrong:
        wrong.append(Mistake("holds no problems", file=str(file)))
    summary = {"file": str(file), "read": read, "solved_again": solved, "wrong": len(wrong)}
    if as_json:
        show_json({**summary, "mistakes": [str(each) for each in wrong]})
    else:
        click.echo(f"{file}: {read:,} problems, {solved:,} solved again, {len(wrong):,} wrong")
    if wrong:
        more = [f"and {len(wrong) - TOLD:,} more"] if len(wrong) > TOLD else []
        raise RunFailed("\n".join([*map(str, wrong[:TOLD]), *more]))


def _lines(file: Path, wrong: list[Mistake]) -> Any:
    """The lines of a file; damage that ends it is a mistake among the others."""
    try:
        yield from files.read_lines(file)
    except DamagedFile as error:
        wrong.append(Mistake(str(error)))


class Checker:
    """Checks one problem after another: what is wrong with it, and whether it was solved again."""

    def __init__(self, verifier: str) -> None:
        self.judge = Judge(verifier)
        self._families: dict[str, Generator | str] = {}

    def __call__(self, problem: Problem) -> tuple[str, bool]:
        made = problem.source.get("kind") == "procedural"
        objection = self.judge.objection(problem, solutions=made)
        if objection or not made:
            return objection, False
        component = self._family(problem.source)
        if isinstance(component, str):
            return component, False
        try:
            right = component.check(problem) is True
        except Exception as error:  # a family may be anyone's
            return f"its family fails on it: {sentence(error)}", False
        return "" if right else "its family finds another answer", True

    def _family(self, source: Mapping[str, Any]) -> Generator | str:
        name, params = source.get("generator"), source.get("params", {})
        if not isinstance(name, str) or not isinstance(params, Mapping):
            return "'source': a procedural problem names its generator, and an object as params"
        settings = {key: value for key, value in params.items() if key != "difficulty"}
        place = dumps([name, settings])
        if place not in self._families:
            self._families[place] = _or_reason(lambda: family(name, settings))
        return self._families[place]


def _or_reason(make: Callable[[], Generator]) -> Generator | str:
    try:
        return make()
    except LimiteError as error:
        return f"'source': {error}"
