"""How many checked problems a second each family gives, in one process.

``python -m benchmarks.generators [FAMILY ...]`` makes problems as ``limite-gen make`` does with
one worker: each is made, solved again, judged by the verifier and written as a line. Time is CPU
time of the process, the best of several rounds, so that other work on the machine shows little.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any

from limite.core.cli.table import show_json, show_table
from limite.core.discover import load_registry
from limite.problems.gen.candidate import Maker
from limite.problems.gen.families import Share
from limite.problems.gen.supply import STEP

ROUNDS = 5


def measure(name: str, difficulty: float, count: int) -> dict[str, Any]:
    """One family's rate, and what its slowest problem took."""
    maker = Maker(Share(name=name, difficulty=(difficulty, difficulty)), 1, "mathematics")
    maker(0)  # imports and tables
    seconds, slowest = [], 0.0
    for number in range(ROUNDS):
        began = time.process_time()
        refused = sum(
            bool(refused)
            for start in range(0, count, STEP)
            for _, _, refused in maker.make(range(start, min(start + STEP, count)))
        )
        seconds.append(time.process_time() - began)
        assert not refused, f"{name}: {refused} of {count} problems are not agreed on"
        if number == 0:
            slowest = max(_seconds(maker, index) for index in range(count))
    return {
        "family": name,
        "difficulty": difficulty,
        "per_second": count / min(seconds),
        "slowest_ms": 1000 * slowest,
    }


def _seconds(maker: Maker, index: int) -> float:
    began = time.process_time()
    maker(index)
    return time.process_time() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures the families named, or all of them."""
    parser = argparse.ArgumentParser(description="Problems a second by family, in one process.")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--difficulty", type=float, default=0.5)
    parser.add_argument("--count", type=int, default=500, help="problems in each round")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    names = asked.families or load_registry().names("generator")
    rows = [measure(name, asked.difficulty, asked.count) for name in names]
    if asked.json:
        show_json(rows)
        return 0
    show_table(
        ("FAMILY", "PER SECOND", "SLOWEST"),
        [
            (row["family"], f"{row['per_second']:,.0f}", f"{row['slowest_ms']:.2f} ms")
            for row in rows
        ],
    )
    print(f"median {statistics.median(row['per_second'] for row in rows):,.0f} a second")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
