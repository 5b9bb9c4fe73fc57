"""``limite-gen check``: every problem of a file solved and verified again, and its program run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import attrs
import click

from limite.core.cli.table import show_json
from limite.core.errors import Mistake, RunFailed
from limite.core.jsonl import DamagedFile
from limite.core.train.data.records import TOLD
from limite.problems import files
from limite.problems.author.program import LIMITS
from limite.problems.gen.progress import progress
from limite.problems.gen.recheck import DEADLINE_S, Line, Rechecker
from limite.problems.gen.rerun import Ran, Rerunner
from limite.problems.gen.say import Real
from limite.problems.gen.weak import sandbox, weak_sandbox_option
from limite.problems.sandbox.limits import MIB


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--verifier", metavar="NAME", default="mathematics", show_default=True)
@click.option(
    "--deadline",
    type=Real(0, 86_400, min_open=True),
    metavar="SECONDS",
    default=DEADLINE_S,
    show_default=True,
    help="What solving and judging one problem may take.",
)
@click.option(
    "--no-programs",
    is_flag=True,
    help="Run no programs: neither checkers nor those that gave answers.",
)
@click.option(
    "--package", "packages", metavar="NAME", multiple=True,
    help="A package that programs may import, such as sympy; may be repeated.",
)  # fmt: skip
@click.option(
    "--program-seconds", metavar="S", type=Real(0.1, 600), default=LIMITS.cpu_s,
    show_default=True, help="What a program may compute.",
)  # fmt: skip
@click.option(
    "--program-memory", metavar="MIB", type=click.IntRange(64, 65_536),
    default=LIMITS.memory_bytes // MIB, show_default=True, help="The memory that it may have.",
)  # fmt: skip
@weak_sandbox_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every mistake.")
def check(
    file: Path,
    verifier: str,
    deadline: float,
    no_programs: bool,
    packages: tuple[str, ...],
    program_seconds: float,
    program_memory: int,
    allow_weak_sandbox: bool,
    as_json: bool,
) -> None:
    """Solve and verify every problem of a file again.

    A problem is right when its record is sound, the verifier takes its own answer for right, the
    family that made it finds the same answer anew, the program that its record holds gives it
    again in the sandbox, and no earlier line holds the problem. Ends with 1 if one is not, and
    tells where. One that takes longer than --deadline counts as wrong.
    """
    damage: list[Mistake] = []
    wrong: list[Mistake] = []
    read = solved = run = 0
    lines: dict[str, int] = {}
    rechecker = Rechecker(
        verifier, deadline, programs=not no_programs, allow_weak=allow_weak_sandbox
    )
    limits = attrs.evolve(
        LIMITS,
        cpu_s=program_seconds,
        wall_s=2 * program_seconds + 10,  # a busy machine is no reason
        memory_bytes=program_memory * MIB,
    )
    rerunner = Rerunner(limits=limits, packages=packages, allow_weak=allow_weak_sandbox)
    with (
        sandbox(allow_weak=allow_weak_sandbox),
        contextlib.closing(rechecker),
        contextlib.closing(rerunner),
        progress(None, as_json=False, left_out="wrong", look_every=1) as show,
    ):
        checked = rechecker(_lines(file, damage))
        with_programs = ((each, Ran()) for each in checked) if no_programs else rerunner(checked)
        for ((number, found), (reason, again)), ran in with_programs:
            read += 1
            run += ran.run
            reason = reason or ran.reason
            show(read, lambda: len(wrong))
            if isinstance(found, Mistake):
                wrong.append(found)
                continue
            solved += again
            if found.id in lines:
                reason = reason or f"the problem of line {lines[found.id]} again"
            lines.setdefault(found.id, number)
            if reason:
                wrong.append(Mistake(reason, file=str(file), line=number))
    wrong += damage
    if not read and not wrong:
        wrong.append(Mistake("holds no problems", file=str(file)))
    summary = {
        "file": str(file),
        "read": read,
        "solved_again": solved,
        "programs_run": run,
        "wrong": len(wrong),
    }
    if as_json:
        show_json({**summary, "mistakes": [str(each) for each in wrong]})
    else:
        programs = f"{run:,} programs run, " if run else ""
        click.echo(
            f"{file}: {read:,} problems, {solved:,} solved again, {programs}{len(wrong):,} wrong"
        )
    if wrong:
        more = [f"and {len(wrong) - TOLD:,} more"] if len(wrong) > TOLD else []
        raise RunFailed("\n".join([*map(str, wrong[:TOLD]), *more]))


def _lines(file: Path, damage: list[Mistake]) -> Iterator[Line]:
    """The lines of a file; damage that ends it is a mistake among the others."""
    try:
        yield from files.read_lines(file)
    except DamagedFile as error:
        damage.append(Mistake(str(error)))
