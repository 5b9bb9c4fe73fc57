"""Compiles every kernel with every tile of the table, on a machine without a GPU.

    python -m limite.core.kernels.aot --arch 80 --arch 90 --json aot.json

Says for each what it needs: shared memory, registers, stack, instructions that spill. Exit code 1
when one does not compile, does not fit, or spills what ``tiles.SPILLS`` does not allow it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import attrs

from limite.core.kernels import aot_compile, tiles
from limite.core.kernels.aot_compile import DTYPES, SHARED_KIB, Job, Result

WIDTHS = (256, 128, 64, 32, 16)
"""Head widths, in the order in which one is looked for that a line for any width stands for."""

KEPT = 8  # states of the sources, in the cache


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    if "triton" in sys.modules and sys.modules["triton"].knobs.runtime.interpret:
        raise RuntimeError("Triton interprets in this process; compile in another one")
    os.environ.pop("TRITON_INTERPRET", None)
    architectures, dtypes = asked.arch or [80, 90], asked.dtype or list(DTYPES)
    jobs, missing = plan(architectures, dtypes, asked.width)
    if asked.kernel:
        jobs = [job for job in jobs if job.kernel in asked.kernel]
        missing = [line for line in missing if line.split(",")[0] in asked.kernel]
    results = compile_all(jobs, asked.jobs, asked.cache or default_cache())
    sys.stdout.write(table(results))
    for line in missing:
        sys.stdout.write(f"no specimen for a line of the table: {line}\n")
    broken = [result for result in results if result.broken]
    for result in broken:
        sys.stdout.write(f"{words(result.job)}: {'; '.join(result.broken)}\n")
    sys.stdout.write(f"{len(results)} compiled, {len(broken)} beyond a limit\n")
    if asked.json is not None:
        asked.json.write_text(json.dumps(report(results, missing), indent=1) + "\n")
    return 1 if broken or missing or not results else 0


def plan(
    architectures: Sequence[int], dtypes: Sequence[str], width: int | None = None
) -> tuple[list[Job], list[str]]:
    """A job for every kernel in Limite's shapes, and for every line of the table beside them.

    With ``width``, every kernel with that width of its heads instead. Also returns the lines that
    no kernel was found for.
    """
    jobs: list[Job] = []
    reached: set[int] = set()  # the lines of the table that some job stands for
    for architecture in architectures:
        for dtype in dtypes:
            found, lines = _plan(architecture, dtype, width)
            jobs += found
            reached |= lines
    kinds = {DTYPES[dtype] for dtype in dtypes}
    missing = [
        f"{row.kernel}, {row.kind}, width {row.width}, sm_{row.architecture}"
        for number, row in enumerate(tiles.TABLE)
        if number not in reached
        and width is None
        and row.kind in kinds
        and row.architecture in (None, *architectures)
    ]
    return jobs, missing


def _plan(architecture: int, dtype: str, width: int | None) -> tuple[list[Job], set[int]]:
    kind = DTYPES[dtype]
    jobs: list[Job] = []
    reached: set[int] = set()

    def add(module: str, of: int | None, only: str | None = None) -> None:
        described = aot_compile.specimens(module, dtype, of, architecture)
        for place, specimen in enumerate(described):
            if only not in (None, specimen.kernel):
                continue
            jobs.append(
                Job(
                    module=module,
                    place=place,
                    kernel=specimen.kernel,
                    dtype=dtype,
                    width=of,
                    architecture=architecture,
                )
            )
            for number, row in enumerate(tiles.TABLE):
                own = (row.kernel, row.kind) == (specimen.kernel, kind)
                if own and row.tile == specimen.tile:
                    reached.add(number)

    for module in aot_compile.modules():
        add(module, width)
    if width is not None:
        return jobs, reached
    homes = {job.kernel: job.module for job in jobs}
    for number, row in enumerate(tiles.TABLE):
        there = row.architecture in (None, architecture)
        if number in reached or row.kind != kind or not there or row.kernel not in homes:
            continue
        taken = {other.width for other in aot_compile.rows(row.kernel, kind)}
        of = next(each for each in WIDTHS if each not in taken) if row.width is None else row.width
        # A line for any architecture is not in use on one that has its own.
        if tiles.tile(row.kernel, kind=kind, width=of, architecture=architecture) == row.tile:
            add(homes[row.kernel], of, row.kernel)
    return jobs, reached


def compile_all(jobs: Sequence[Job], processes: int, cache: Path) -> list[Result]:
    """The results of all jobs, from the cache where these sources were compiled before."""
    file = cache / f"{source_hash()}.json"
    known = {words(each.job): each for each in _read(file)}
    new = [job for job in jobs if words(job) not in known]
    if new:
        try:
            for result in _compiled(new, processes):
                known[words(result.job)] = result
        finally:  # what was done before an interruption need not be done again
            _write(file, known.values())
    return [known[words(job)] for job in jobs]


def source_hash() -> str:
    """Of all that a compiled kernel comes from: the kernel core, and Triton's version."""
    digest = hashlib.sha256(importlib.metadata.version("triton").encode())
    folder = Path(__file__).parent
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"\0{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return digest.hexdigest()


def default_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if home else Path.home() / ".cache") / "limite" / "aot"


def words(job: Job) -> str:
    width = "" if job.width is None else f", width {job.width}"
    return f"{job.kernel} ({job.module} {job.place}), {job.dtype}{width}, sm_{job.architecture}"


def table(results: Sequence[Result]) -> str:
    head = ("kernel", "dtype", "width", "arch", "tile", "shared", "registers", "stack", "LDL/STL")
    lines: list[tuple[str, ...]] = [(*head, "HGMMA", "")]
    for each in results:
        job = each.job
        numbers = (each.shared, each.registers, each.stack, f"{each.loads}/{each.stores}")
        lines.append(
            (
                job.kernel,
                job.dtype,
                "" if job.width is None else str(job.width),
                f"sm_{job.architecture}",
                each.tile,
                *map(str, numbers),
                str(each.hgmma) if each.matrix else "",
                "beyond a limit" if each.broken else "",
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(head) + 2)]
    rows = (
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines
    )
    return "".join(f"{row.rstrip()}\n" for row in rows)


def report(results: Sequence[Result], missing: Sequence[str]) -> dict[str, Any]:
    return {
        "triton": importlib.metadata.version("triton"),
        "table": tiles.table_hash(),
        "missing": list(missing),
        "rows": [
            attrs.asdict(each.job)
            | attrs.asdict(each, filter=attrs.filters.exclude("job"))
            | {"broken": each.broken}
            for each in results
        ],
    }


def _compiled(jobs: Sequence[Job], processes: int) -> Iterator[Result]:
    if processes == 1:
        yield from map(aot_compile.run, jobs)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(aot_compile.run, jobs)


def _write(file: Path, results: Iterable[Result]) -> None:
    """Keeps results, and those of the last few states of the sources."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_suffix(f".{os.getpid()}")
    aside.write_text(json.dumps([attrs.asdict(each) for each in results]))
    aside.replace(file)
    for old in sorted(file.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-KEPT]:
        old.unlink(missing_ok=True)


def _read(file: Path) -> list[Result]:
    if not file.exists():
        return []
    return [Result(**(each | {"job": Job(**each["job"])})) for each in json.loads(file.read_text())]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m limite.core.kernels.aot",
        description="Compiles every kernel with every tile of the table, without a GPU.",
    )
    known = sorted(SHARED_KIB)
    parser.add_argument("--arch", type=int, action="append", choices=known, help="default 80, 90")
    parser.add_argument("--dtype", action="append", choices=list(DTYPES), help="default all")
    parser.add_argument("--kernel", action="append", metavar="NAME", help="default all")
    parser.add_argument("--width", type=int, choices=sorted(WIDTHS), help="of heads; default 128")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the report goes")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), metavar="N")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="of earlier results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
