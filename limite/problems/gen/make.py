"""``limite-gen make``: a file of problems, the same bytes for the same request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from limite.core.cli.table import show_table
from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import dumps, loads
from limite.problems.files import suffixed
from limite.problems.gen.candidate import Maker
from limite.problems.gen.families import Share, families_in, words_in
from limite.problems.gen.fill import WINDOW, Plan, Tally, fill
from limite.problems.gen.output import Output
from limite.problems.gen.progress import progress
from limite.problems.gen.request import (
    MOST,
    Request,
    read_ends,
    read_families,
    read_mix,
    read_shard,
)
from limite.problems.gen.supply import Executor, Known, Supply, known_lines


@click.command()
@click.argument("families", metavar="[FAMILY[:WEIGHT][,...]]", required=False)
@click.option(
    "--mix",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Families, weights and settings from a TOML file instead.",
)
@click.option(
    "--area", metavar="A[,B]",
    help="All families of these areas, with equal weights; one that has no more leaves its places "
    "to the others.",
)  # fmt: skip
@click.option(
    "--count", metavar="N", type=click.IntRange(1, MOST), required=True, help="How many problems."
)
@click.option("--difficulty", metavar="A[:B]", help="Within 0 (easy) and 1 (hard).  [0:1]")
@click.option(
    "--level", metavar="A[:B]", help="The same in hundredths, as records say: from 0 to 100."
)
@click.option("--seed", metavar="S", type=int, default=1, show_default=True)
@click.option(
    "-o", "--out", metavar="FILE", type=click.Path(path_type=Path), required=True,
    help="Ends in .jsonl or .jsonl.zst.",
)  # fmt: skip
@click.option(
    "--workers", metavar="W", type=click.IntRange(1, 1024),
    help="Processes. They change how long it takes and nothing else.  [1; all of a cluster]",
)  # fmt: skip
@click.option(
    "--executor", type=click.Choice(["local", "ray"]), default="local", show_default=True,
    help="Whose processes: this machine's, or those of a Ray cluster.",
)  # fmt: skip
@click.option("--shard", metavar="I/N", help="The I-th of N parts, from 1; see limite-gen merge.")
@click.option("--allow-repeats", is_flag=True, help="Write a problem as often as it is drawn.")
@click.option("--dry-run", is_flag=True, help="Tell what would be made, and make nothing.")
@click.option("--force", is_flag=True, help="Replace a file that was made otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print progress and result as JSON lines.")
def make(
    families: str | None,
    mix: Path | None,
    area: str | None,
    count: int,
    difficulty: str | None,
    level: str | None,
    seed: int,
    out: Path,
    workers: int | None,
    executor: Executor,
    shard: str | None,
    allow_repeats: bool,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Make a file of problems.

    Every problem is solved again by code that shares nothing with the code that made it, and its
    answer and solutions are judged by the verifier; what they do not agree on goes to
    FILE.refused.jsonl. No two problems of a file are alike. The same command again goes on where
    it was stopped, and ends with the same bytes.
    """
    if executor == "ray":
        from limite.problems.gen.cluster import installed  # late: Ray is an extra

        installed()
    request = Request(
        shares=_shares(families, mix, area, read_ends(difficulty, level)),
        count=count,
        seed=seed,
        shard=None if shard is None else read_shard(shard),
        repeats=allow_repeats,
        top_up=area is not None,
    )
    if dry_run:
        rehearse(request, out, as_json=as_json)
        return
    write(request, out, workers=workers, executor=executor, force=force, as_json=as_json)


def _shares(
    families: str | None,
    mix: Path | None,
    area: str | None,
    ends: tuple[float, float] | None,
) -> list[Share]:
    asked = {"families": families, "--area": area, "--mix": mix}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) != 1:
        raise LimiteError(
            "say what to make: families (limite-gen list shows them), --area, or --mix FILE"
            + (f"; {' and '.join(given)} were given, and one of them is meant" if given else "")
        )
    if area is not None:
        families = ",".join(families_in(words_in(area, "an area")))
    if mix is not None:
        return read_mix(mix, ends)
    assert families is not None
    return read_families(families, ends or (0.0, 1.0))


def rehearse(request: Request, out: Path, *, as_json: bool) -> None:
    """Tells what a request would make, with a problem of its first family."""
    suffixed(out)
    plan = Plan.of(request)
    rows = [
        {"family": share.name, "places": places, "difficulty": list(share.difficulty)}
        for share, places in zip(request.shares, plan.places, strict=True)
    ]
    first = loads(Maker(request.shares[0], request.seed, request.verifier)(0)[1])
    if as_json:
        _say(True, "", {"event": "plan", "file": str(out), "families": rows, "first": first})
        return
    show_table(
        ("FAMILY", "PROBLEMS", "DIFFICULTY"),
        [
            (share.name, f"{places:,}", "{:g} to {:g}".format(*share.difficulty))
            for share, places in zip(request.shares, plan.places, strict=True)
        ],
        cut=False,
    )
    click.echo(f"\n{out}: {sum(plan.places):,} problems would be made; this is the first:")
    click.echo(first.get("problem", first.get("reason")))


def write(
    request: Request,
    out: Path,
    *,
    workers: int | None = 1,
    executor: Executor = "local",
    force: bool = False,
    as_json: bool = False,
    known: Iterable[Known] | None = None,
) -> None:
    """Makes the file of a request, or goes on with it, and tells how it went."""
    output = Output(out, request.plain(), force=force)
    if output.complete:
        output.abandon()
        _say(as_json, f"{out}: is there already", {"event": "done", "file": str(out)})
        _tell_short(request, out, output.found["counts"])
        return
    plan = Plan.of(request)
    tallies = [Tally() for _ in request.shares]
    supply = Supply(
        request,
        wanted=plan.places,
        start=plan.before if request.shard else [0] * len(request.shares),
        workers=workers,
        executor=executor,
        known=known_lines(request, output.known(), output.part) if known is None else known,
    )
    if output.resumed:
        _say(as_json, f"going on after {output.resumed:,} problems", {"event": "resumed"})
    try:
        try:
            with progress(len(request.places), as_json=as_json, already=output.resumed) as show:
                for made in fill(
                    request, plan, supply, tallies, dict(output.exhausted), output.exhaust
                ):
                    if made[2]:
                        output.refuse(made[1])
                    else:
                        output.add(made[1])
                    show(output.count, lambda: sum(each.made - each.written for each in tallies))
        finally:
            supply.close()
    except KeyboardInterrupt:
        output.flush()
        output.abandon()
        raise KeyboardInterrupt(
            f"stopped after {output.count:,} problems; the same command goes on from them"
        ) from None
    except BaseException:
        output.abandon()
        raise
    counts = _counts(request, tallies)
    manifest = output.finish("short" if counts["unfilled"] else "complete", counts)
    _tell(request, out, manifest, as_json)


def _counts(request: Request, tallies: list[Tally]) -> dict[str, Any]:
    """What became of all candidates, in all and by family: the parts add up."""

    def of(parts: list[Tally]) -> dict[str, Any]:
        refused: Counter[str] = sum((each.refused for each in parts), Counter())
        return {
            "asked": sum(each.asked for each in parts),
            "written": sum(each.written for each in parts),
            "unfilled": max(0, sum(each.asked - each.written for each in parts)),
            "made": sum(each.made for each in parts),
            "duplicates": sum(each.duplicates for each in parts),
            "refused": dict(sorted(refused.items())),
        }

    families = {
        share.name: of([tally])
        | {"exhausted": tally.exhausted, "idle": tally.idle}
        | ({} if tally.last_new is None else {"last_new": tally.last_new})
        for share, tally in zip(request.shares, tallies, strict=True)
    }
    return {**of(tallies), "families": families}


def _tell(request: Request, out: Path, manifest: dict[str, Any], as_json: bool) -> None:
    counts = manifest["counts"]
    refused = sum(counts["refused"].values())
    by = ", ".join(f"{name} {count:,}" for name, count in counts["refused"].items())
    _say(
        as_json,
        f"{out}: {counts['written']:,} problems; {counts['made']:,} made = "
        f"{counts['written']:,} written + {counts['duplicates']:,} repeated + "
        f"{refused:,} refused{f' ({by})' if by else ''}",
        {"event": "done", "file": str(out), **manifest},
    )
    if refused:
        click.echo(f"warning: see {out}.refused.jsonl for what was refused", err=True)
    _tell_short(request, out, counts)


def _tell_short(request: Request, out: Path, counts: Mapping[str, Any]) -> None:
    """Raises RunFailed where a file holds fewer problems than were asked for."""
    if request.shard is not None:
        return
    short = [
        _exhausted(share, of)
        for share in request.shares
        if (of := counts["families"][share.name])["exhausted"] and of["unfilled"]
    ]
    if counts["unfilled"]:
        raise RunFailed("\n".join([*short, f"{out} holds the {counts['written']:,} there are"]))
    for line in short:
        click.echo(f"note: {line}; other families fill the rest", err=True)


def _exhausted(share: Share, of: Mapping[str, Any]) -> str:
    if (new := of.get("last_new")) is not None:
        return (
            f"{share.text}: space nearly exhausted after {of['written']:,} distinct problems: of "
            f"the last {WINDOW:,} candidates {new:,} gave something new, and {of['asked']:,} are "
            "wanted"
        )
    return (
        f"{share.text}: space exhausted after {of['written']:,} distinct problems: "
        f"{of['idle']:,} more gave nothing new, and {of['asked']:,} are wanted"
    )


def _say(as_json: bool, text: str, event: dict[str, Any]) -> None:
    click.echo(dumps(event) if as_json else text)
