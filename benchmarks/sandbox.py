"""Short programs a second of one core through a warm worker, for each backend that can be had.

Run ``python -m benchmarks.sandbox``; with ``--out FILE`` what was found is kept as JSON. Time is
counted as the processor's, of this process and of all that the worker started, so that other work
on the machine does not show.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limite.problems.sandbox.backends import ADEQUATE, Setup
from limite.problems.sandbox.faults import Unavailable
from limite.problems.sandbox.limits import Limits
from limite.problems.sandbox.worker import Worker

SOURCE = """
from math import gcd

def solve(n):
    return sum(1 for k in range(1, n) if gcd(k, n) == 1)
"""


def children_s() -> float:
    """The processor's time of processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(backend: str, programs: int, packages: tuple[str, ...] = ()) -> dict[str, Any]:
    """What ``programs`` calls took. Starting the worker is measured by one that runs none."""
    setup = Setup(packages=packages)
    took = []
    walls: list[float] = []
    for count in (0, programs):
        before_s = children_s() + time.process_time()
        worker = Worker(backend, setup)
        for _ in range(count):
            began_s = time.perf_counter()
            result = worker.run(SOURCE, "solve", {"tuple": [{"int": "64"}]}, Limits())
            walls.append(time.perf_counter() - began_s)
            assert result.value == 40, result
        worker.finish()
        took.append(children_s() + time.process_time() - before_s)
    return {
        "backend": backend,
        "packages": list(packages),
        "layers": list(worker.layers),
        "programs": programs,
        "start_cpu_ms": round(1000 * took[0], 1),
        "cpu_ms": round(1000 * (took[1] - took[0]) / programs, 2),
        "programs_per_core_second": round(programs / (took[1] - took[0])),
        "wall_ms_median": round(1000 * statistics.median(walls), 1),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--out", "--json", type=Path)
    asked = parser.parse_args(argv)
    rows = []
    for backend in ADEQUATE:
        for packages in ((), ("sympy",)):
            try:
                rows.append(measure(backend, asked.programs, packages))
            except Unavailable as error:
                print(f"{backend}: {error}")
                break
            print(
                f"{backend} {'+'.join(packages) or 'plain'}: "
                f"{rows[-1]['programs_per_core_second']} programs a second of one core, "
                f"median {rows[-1]['wall_ms_median']} ms"
            )
    if asked.out is not None:
        about = {"python": platform.python_version(), "machine": platform.machine()}
        asked.out.write_text(json.dumps({**about, "rows": rows}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
