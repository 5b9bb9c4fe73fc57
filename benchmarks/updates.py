"""Measures one update by reinforcement, as limite makes it and as it would be made naively.

    python -m benchmarks.updates --json benchmarks/results/

The workload: 64 responses, 8 to a problem, of heavy-tailed lengths (median 16 tokens, the longest
256) to prompts of 24, from a model of four layers of width 192; in most groups all responses earn
the same. Naively no row leaves the batch that is sampled before the last has ended, the learner
pads all rows to the longest and reads every prompt with every response, and nothing is skipped.
Both sample the same tokens, weigh the batch before the update (the health gates), have the same
loss and the same gradient, which is checked, and apply one step of AdamW.

Then the cost of long prompts: 8 of 512 tokens with 8 responses of 32, where the prompt of a group
is read once, and where it is read once for each response; while sampling and while learning.

Lengths are a plan, not what the weights would write: a row ends where the plan says. Contenders run
in turn, in seconds of processor time, one thread.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

if not __package__:  # run as a file: its folder is no place to import from
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import attrs
import torch

from benchmarks import pages
from benchmarks.clock import Timing
from benchmarks.update_ways import ROUNDS, Apart, Contender, Job, Limite, Naive, jobs, long_prompts


@attrs.frozen(kw_only=True)
class Measured:
    """Seconds of processor time of two ways, part by part, and the share of one in the other."""

    job: str
    way: str
    against: str
    seconds: Mapping[str, float]
    against_seconds: Mapping[str, float]
    share: float
    share_spread: float
    shares: Mapping[str, float]


def race(
    job: Job, way: str, ours: Contender, against: str, theirs: Contender, rounds: int
) -> Measured:
    """Rounds of both in turn, after one that is not counted and must give the same update."""
    ours.update()
    theirs.update()
    close = {"rel_tol": 1e-4, "abs_tol": 1e-9}
    assert math.isclose(ours.loss, theirs.loss, **close), (ours.loss, theirs.loss)
    assert math.isclose(ours.norm, theirs.norm, **close), (ours.norm, theirs.norm)
    found = [(ours.update(), theirs.update()) for _ in range(rounds)]
    parts = list(found[0][0])

    def ratio(names: Sequence[str]) -> tuple[float, float]:
        timings = (
            Timing(tuple((1e3 * sum(each[side][name] for name in names),) for each in found))
            for side in (0, 1)
        )
        mine, other = timings
        return mine.ratio(other)

    share, spread = ratio(parts)
    return Measured(
        job=job.name,
        way=way,
        against=against,
        seconds={name: median(each[0][name] for each in found) for name in parts},
        against_seconds={name: median(each[1][name] for each in found) for name in parts},
        share=share,
        share_spread=spread,
        shares={name: ratio([name])[0] for name in parts},
    )


def measured(*, tiny: bool) -> Iterator[Measured]:
    rounds = 1 if tiny else ROUNDS
    for job in jobs(tiny=tiny):
        yield race(job, "limite", Limite(job), "naive", Naive(job), rounds)
    job = long_prompts(tiny=tiny)
    yield race(job, "once a group", Limite(job), "once a response", Apart(job), rounds)


def shown(each: Measured) -> list[str]:
    lines = [
        f"{each.job}: {each.way} takes {each.share:.3f} ±{each.share_spread:.3f} of the time "
        f"{each.against} does"
    ]
    for name, share in each.shares.items():
        lines.append(
            f"  {name:6} {each.seconds[name]:8.3f} s of {each.against_seconds[name]:8.3f} s: "
            f"{share:.3f}"
        )
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    made = argparse.ArgumentParser(prog="benchmarks.updates")
    made.add_argument("--tiny", action="store_true", help="sizes that take no time")
    made.add_argument("--json", metavar="PATH", help="a file, a folder for one named, or -")
    asked = made.parse_args(argv)
    torch.set_num_threads(1)
    found = []
    for each in measured(tiny=asked.tiny):
        found.append(each)
        if asked.json != "-":
            print("\n".join(shown(each)), flush=True)
    if asked.json is not None:
        pages.write(pages.page_of(found), asked.json, "updates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
