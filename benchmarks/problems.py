"""Problems made and judged a second, beside the libraries that do the same, in one process.

``python -m benchmarks.problems`` measures every family, or those named, as ``limite-gen make`` with
one worker makes its problems, and the verifier, as ``limite.problems.verify_all`` judges responses;
then reasoning-gym and math-verify, where they are installed. Rates are of CPU time, and ours of
judging count the judging process as well as the caller.

The two are not asked for the same: every problem of ours was solved again by other code and judged
by the verifier, and a data set of the peer gives what it made.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import generators, problem_peers
from limite.core.cli.table import show_json, show_table
from limite.core.discover import load_registry
from limite.core.types import Answer
from limite.problems import verify_all
from limite.problems.answers import TYPES
from limite.problems.verifiers.batch import worker
from limite.problems.verifiers.judge import judge

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "verifier_cases.jsonl"
ROUNDS = 3
Pair = tuple[Answer, str]


def makers(names: Sequence[str], difficulty: float, count: int, *, peers: bool) -> dict[str, Any]:
    """Rates of these families, and of all data sets of the peer."""
    ours = [generators.measure(name, difficulty, count) for name in names]
    peer = []
    if peers and problem_peers.installed(problem_peers.MAKER):
        for name in problem_peers.datasets():
            try:
                peer.append(problem_peers.made(name))
            except Exception as error:  # a peer may need what is not here
                peer.append({"family": name, "failed": f"{type(error).__name__}: {error}"[:200]})
    return {"ours": _summary(ours), "peer": _summary(peer)}


def _summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    measured = sorted(
        (row for row in rows if "per_second" in row), key=lambda row: float(row["per_second"])
    )
    if not measured:
        return {"families": 0, "rows": list(rows)}
    return {
        "families": len(measured),
        "median_per_second": statistics.median(row["per_second"] for row in measured),
        "least": measured[0]["family"],
        "least_per_second": measured[0]["per_second"],
        "slowest_problem_ms": max(row["slowest_ms"] for row in measured),
        "rows": list(rows),
    }


def pairs(kind: str, count: int) -> list[Pair]:
    """Responses that are right, of one kind, never the same twice in a row."""
    draws = random.Random(kind)
    return [_WRITE[kind](draws.randrange(3, 1000)) for _ in range(count)]


def _integer(n: int) -> Pair:
    return Answer(type="integer", value=str(n)), f"Adding up gives \\boxed{{{n}}}."


def _fraction(n: int) -> Pair:
    answer = Answer(type="rational", value=f"{7 * n + 1}/7")
    return answer, f"Dividing gives \\boxed{{\\frac{{{7 * n + 1}}}{{7}}}}."


def _set(n: int) -> Pair:
    answer = Answer(type="set", value=f"{{{n},{n + 3}}}")
    return answer, f"The roots are \\boxed{{\\{{{n + 3}, {n}\\}}}}."


def _tuple(n: int) -> Pair:
    answer = Answer(type="tuple", value=f"({n},{n + 3})")
    return answer, f"The point is \\boxed{{({n}, {n + 3})}}."


def _interval(n: int) -> Pair:
    value = f"({n},{n + 3}]U[{n + 9},oo)"
    answer = Answer(type="interval", value=value, params={"variable": "x"})
    return answer, f"So it holds on \\boxed{{({n}, {n + 3}] \\cup [{n + 9}, \\infty)}}."


def _quadratic(n: int) -> Pair:
    value = f"x^2+{n}*x+{n + 1}"
    answer = Answer(type="expression", value=value, params={"variables": ["x"]})
    return answer, f"It is \\boxed{{(x+1)^2 + {n - 2}x + {n}}}."


_WRITE: dict[str, Callable[[int], Pair]] = {
    "integer": _integer,
    "fraction": _fraction,
    "set": _set,
    "tuple": _tuple,
    "interval": _interval,
    "quadratic": _quadratic,
}


def judges(count: int, *, peers: bool) -> list[dict[str, Any]]:
    """Responses judged a second by kind: in the judging process, in this one, and by the peer."""
    rows = []
    peer = problem_peers.judge() if peers and problem_peers.installed(problem_peers.JUDGE) else None
    for kind in _WRITE:
        asked = pairs(kind, count)
        assert all(verdict.correct for verdict in verify_all(asked)), kind
        row: dict[str, Any] = {
            "kind": kind,
            "per_second": _rate(partial(verify_all, asked), count, both=True),
            "here_per_second": _rate(partial(_each, judge, asked), count),
        }
        if peer is not None:
            few = [(_latex(answer.value), text) for answer, text in asked[: max(8, count // 50)]]
            row["peer_per_second"] = _rate(partial(_each, peer, few), len(few))
        rows.append(row)
    return rows


def _each(work: Callable[..., Any], pairs: Sequence[tuple[Any, str]]) -> None:
    for each in pairs:
        work(*each)


def _latex(value: str) -> str:
    """A canonical value as LaTeX writes it, for a peer that reads nothing else."""
    for plain, written in (("{", "\\{"), ("}", "\\}"), ("U", "\\cup "), ("oo", "\\infty")):
        value = value.replace(plain, written)
    return value


def _rate(work: Callable[[], Any], count: int, *, both: bool = False) -> float:
    """Results a second of CPU time, in the best of a few rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = _cpu_s(both)
        work()
        best = min(best, _cpu_s(both) - began)
    return count / max(best, 1e-6)


def _cpu_s(both: bool) -> float:
    """CPU time of this process, and of the one that judges where ``both`` count."""
    spent = time.process_time()
    pid = worker().pid if both else None
    if pid is not None:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        spent += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent


def golden(*, peers: bool) -> dict[str, Any]:
    """How many of the golden rows get their verdict, of those that are compared here."""
    rows = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["type"] in TYPES]
    found = {"rows": len(rows), "ours": sum(_met(row) for row in rows)}
    if peers and problem_peers.installed(problem_peers.JUDGE):
        found["peer"] = problem_peers.met(rows)
    return found


def _met(row: dict[str, Any]) -> bool:
    answer = Answer(type=row["type"], value=row["gold"], params=row["params"])
    verdict = judge(answer, row["answer"], extract=row["input"] == "response")
    return verdict.correct is row["verdict"]


def lines(page: dict[str, Any]) -> Iterator[str]:
    """The summary in words."""
    for who, name in (("ours", "limite"), ("peer", problem_peers.MAKER)):
        found = page["makers"][who]
        if found["families"]:
            yield (
                f"{name}: {found['families']} families, median "
                f"{found['median_per_second']:,.0f} a second, least "
                f"{found['least_per_second']:,.0f} ({found['least']}), "
                f"slowest problem {found['slowest_problem_ms']:,.1f} ms"
            )
    golds = page["golden"]
    peer = f", {problem_peers.JUDGE} {golds['peer']}" if "peer" in golds else ""
    yield f"golden rows met of {golds['rows']}: limite {golds['ours']}{peer}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures everything and prints it."""
    parser = argparse.ArgumentParser(description="Problems made and judged a second.")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--difficulty", type=float, default=0.5)
    parser.add_argument("--count", type=int, default=256, help="problems of a family in a round")
    parser.add_argument("--responses", type=int, default=4000, help="of a kind in a round")
    parser.add_argument("--alone", action="store_true", help="without the peers")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    names = asked.families or load_registry().names("generator")
    peers = not asked.alone
    page: dict[str, Any] = {
        "versions": {
            name: problem_peers.installed(name)
            for name in ("limite", problem_peers.MAKER, problem_peers.JUDGE)
        },
        "makers": makers(names, asked.difficulty, asked.count, peers=peers),
        "judges": judges(asked.responses, peers=peers),
        "golden": golden(peers=peers),
    }
    if asked.json:
        show_json(page)
        return 0
    show_table(
        ("RESPONSES A SECOND", "LIMITE", "IN THIS PROCESS", problem_peers.JUDGE.upper()),
        [
            (
                row["kind"],
                f"{row['per_second']:,.0f}",
                f"{row['here_per_second']:,.0f}",
                f"{row['peer_per_second']:,.0f}" if "peer_per_second" in row else "-",
            )
            for row in page["judges"]
        ],
    )
    for line in lines(page):
        print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
