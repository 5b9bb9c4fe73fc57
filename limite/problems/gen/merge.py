"""``limite-gen merge``: several files of problems as one, and shards as what they are parts of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from limite.core.errors import LimiteError
from limite.core.jsonl import read_json, read_lines
from limite.problems import files
from limite.problems.gen.dedup import distinct
from limite.problems.gen.make import write
from limite.problems.gen.output import beside
from limite.problems.gen.request import Request
from limite.problems.gen.say import new_file, report
from limite.problems.gen.supply import known_lines


@click.command()
@click.argument(
    "sources", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True)
@click.option("--workers", metavar="W", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def merge(sources: tuple[Path, ...], out: Path, workers: int, force: bool, as_json: bool) -> None:
    """Write several files of problems as one, without repetitions.

    All shards of one request give the very file that it gives without shards: problems that
    several shards hold are replaced by new ones. Other files are written one after the other, of
    each problem the first record.
    """
    shards = [_shard(path) for path in sources]
    if all(shards):
        found = [each for each in shards if each is not None]
        whole = _whole(sources, found)
        ordered = sorted(zip(found, sources, strict=True), key=lambda pair: _number(pair[0]))
        known = (each for _, path in ordered for each in known_lines(whole, read_lines(path), path))
        write(whole, out, workers=workers, force=force, as_json=as_json, known=known)
        return
    if any(shards):
        raise LimiteError("shards of a request are merged with one another, and nothing else")
    new_file(out, force=force)
    counts = {"read": 0, "written": 0, "repeated": 0}
    problems = (each for path in sources for each in files.iterate(path))
    files.write_problems(out, distinct(problems, lambda each: each.id, counts))
    report(as_json, out, counts)


def _shard(path: Path) -> Request | None:
    """The request that a file is a shard of."""
    manifest = beside(path, "manifest.json")
    if not manifest.exists():
        return None
    data: dict[str, Any] = read_json(manifest)
    request = Request.of_plain(data["request"])
    if request.shard is None:
        return None
    if data["state"] == "unfinished":
        raise LimiteError(f"{path} is not finished; repeat the command that makes it")
    if request.plain() != data["request"]:
        raise LimiteError(f"{path}: its families are of other versions than those here")
    return request


def _number(request: Request) -> int:
    assert request.shard is not None
    return request.shard[0]


def _whole(sources: Sequence[Path], shards: Sequence[Request]) -> Request:
    """The request that all shards are parts of, each part once."""
    whole = attrs.evolve(shards[0], shard=None)
    for path, shard in zip(sources, shards, strict=True):
        if attrs.evolve(shard, shard=None).plain() != whole.plain():
            raise LimiteError(f"{path} and {sources[0]} are shards of different requests")
    of = {shard.shard[1] for shard in shards if shard.shard is not None}
    numbers = sorted(_number(shard) for shard in shards)
    if len(of) > 1 or numbers != list(range(1, max(of) + 1)):
        raise LimiteError(
            f"shards {', '.join(map(str, numbers))} of {' or '.join(map(str, sorted(of)))} "
            "were given; a file is made of all of them, each once"
        )
    return whole
