"""Measures every operation of the kernel core beside what else could do the same work.

    python -m benchmarks.kernels --json benchmarks/results/

On a GPU one run takes five minutes at most: what the device can do, every kernel compiled, every
result checked, then each case timed in turn with its peers. What fails is a line with its reason.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: its folder is no place to import from
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import attrs

from benchmarks import checks, cpu_cases, gpu_cases, machine, measure, report
from benchmarks.cases import Case, pick, tiny
from benchmarks.clock import MEASURED_MS
from benchmarks.floors import Ceilings
from benchmarks.peers import needs_compiler
from benchmarks.rows import Check, Document, Row
from benchmarks.worker import Failed, Worker, run_all, worker

BUDGET_S = {"cuda": 300.0, "cpu": 1800.0}
WARM_SHARE = 0.3  # of the budget gone when compiling ends at the latest
CHECKED_SHARE = 0.5  # and when checking does
LONGEST_TASK_S = {"cuda": 90.0, "cpu": 1800.0}
CPU_MEASURED_MS = 500.0
TINY_MEASURED_MS = 1.0
MOST_PROCESSES = 8
COMPILING = "compiled while timing: "


def main(argv: Sequence[str] | None = None, cases: Sequence[Case] | None = None) -> int:
    """Runs what the arguments ask for; 1 where a result was wrong or a case failed."""
    asked = parser().parse_args(argv)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # the processes are many already
    device = asked.device or default_device()
    if cases is None:
        cases = cases_of(device, asked.tiny)
    cases = pick(cases, asked.only)
    if not cases:
        print("no such case or operation; --list names them", file=sys.stderr)
        return 2
    if asked.list:
        for case in cases:
            print(f"{case.name}  {case.op}  {case.shape}  {case.dtype}  {case.importance}")
        return 0
    run = Run(device, cases, small=asked.tiny, budget_s=asked.budget_s, json=asked.json)
    try:
        document = run.document()
    except Failed as failure:
        print(f"{device}: {failure}", file=sys.stderr)
        return 1
    if asked.json == "-":
        print(report.as_json(document), end="")
    else:
        report.show(document)
    wrong = any(check.failed or (check.share_of_allowed or 0) > 1 for check in document.checks)
    return int(wrong or any(row.failed for row in document.rows))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="benchmarks.kernels", description=__doc__.splitlines()[0])
    made.add_argument("--device", choices=("cuda", "cpu"), help="default: a GPU where there is one")
    made.add_argument("--tiny", action="store_true", help="sizes that take no time")
    made.add_argument("--only", action="append", default=[], metavar="NAME", help="case, op; a*")
    made.add_argument("--budget-s", type=float, metavar="S", help="drop what does not fit into it")
    made.add_argument("--json", metavar="PATH", help="a file, a folder for one named, or -")
    made.add_argument("--list", action="store_true", help="name the cases and end")
    return made


def default_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def cases_of(device: str, small: bool) -> list[Case]:
    """A GPU's or a CPU's cases; tiny runs take on all, without what needs a compiler."""
    if not small:
        return list(gpu_cases.CASES if device == "cuda" else cpu_cases.CASES)
    return [
        attrs.evolve(case, peers=tuple(name for name in case.peers if not needs_compiler(name)))
        for case in map(tiny, (*gpu_cases.CASES, *cpu_cases.CASES))
    ]


class Run:
    """One run, stage by stage, within its budget."""

    def __init__(
        self,
        device: str,
        cases: Sequence[Case],
        *,
        small: bool,
        budget_s: float | None,
        json: str | None,
    ) -> None:
        self.device, self.cases, self.small = device, list(cases), small
        self.budget_s = BUDGET_S[device] if budget_s is None else budget_s
        self.json = None if json == "-" else json
        self.start = time.monotonic()
        self.stages_s: dict[str, float] = {}
        self.notes: list[str] = []
        self.dropped: list[str] = []
        self.processes = 1
        if device == "cuda" or not small:
            self.processes = max(1, min(MOST_PROCESSES, len(os.sched_getaffinity(0)) // 2))

    def document(self) -> Document:
        """Everything measured. What is there so far is in the JSON file after each case."""
        with worker() as one:
            about, versions, ceilings, figures = self.stage("device", lambda: self.look(one))
            self.stage("compile", self.compile)
            checked = self.stage("check", self.check)

            def so_far(rows: Sequence[Row]) -> Document:
                document = Document(
                    device=about,
                    versions=versions,
                    ceilings=figures,
                    settings=self.settings,
                    rows=tuple(with_errors(row, checked) for row in rows),
                    checks=tuple(checked),
                    dropped=tuple(self.dropped),
                    notes=tuple(self.notes),
                    stages_s=dict(self.stages_s),
                )
                self.keep(document)
                return document

            rows = self.stage("time", lambda: self.time(one, ceilings, so_far))
        return so_far(rows)

    def keep(self, document: Document) -> None:
        if self.json is None:
            return
        path = Path(self.json)
        if self.json.endswith("/") or path.is_dir():
            path /= machine.file_name(dict(document.device), dict(document.versions))
        report.write(document, path)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "tiny": self.small,
            "budget_s": self.budget_s,
            "measured_ms": self.measured_ms,
            "threads": 1,
            "kernels": os.environ.get("LIMITE_KERNELS", ""),
        }

    @property
    def measured_ms(self) -> float:
        if self.small:
            return TINY_MEASURED_MS
        return MEASURED_MS if self.device == "cuda" else CPU_MEASURED_MS

    def left_s(self, share: float = 1.0) -> float:
        return self.start + share * self.budget_s - time.monotonic()

    def stage(self, name: str, do: Callable[[], Any]) -> Any:
        began = time.monotonic()
        say(f"{name} …")
        result = do()
        self.stages_s[name] = time.monotonic() - began
        return result

    def look(self, one: Worker) -> Any:
        """What the device is and can do."""
        about, versions = one.call(machine.describe, self.device, limit_s=60)
        ceilings, figures = one.call(machine.measured_ceilings, self.device, self.small, limit_s=60)
        return about, versions, ceilings, figures

    def compile(self) -> None:
        """Leaves a warm kernel cache: every case once, flex_attention in a process of its own."""
        if self.device == "cpu":
            return
        tasks: list[tuple[Any, ...]] = []
        for case in sorted(self.cases, key=lambda case: -case.importance):
            others = tuple(name for name in case.peers if name == "compiled")
            tasks.append((measure.warm, case, self.device, (measure.OURS, *others)))
            if "flex" in case.peers:
                tasks.insert(0, (measure.warm, case, self.device, ("flex",)))
        results = run_all(
            tasks,
            processes=self.processes,
            deadline=self.start + WARM_SHARE * self.budget_s,
            limit_s=LONGEST_TASK_S[self.device],
        )
        for (_, case, _, names), result in zip(tasks, results, strict=True):
            if isinstance(result, Failed):
                self.notes.append(f"{COMPILING}{case.name}, {', '.join(names)}: {result}")

    def check(self) -> list[Check]:
        """Every operation against its reference, in every dtype."""
        operations = sorted({case.op for case in self.cases})
        asked = checks.questions(operations, self.device, small=self.small)
        results = run_all(
            [(checks.answer, question, self.device) for question in asked],
            processes=self.processes,
            deadline=self.start + CHECKED_SHARE * self.budget_s,
            limit_s=LONGEST_TASK_S[self.device],
        )
        found: list[Check] = []
        for question, result in zip(asked, results, strict=True):
            if isinstance(result, Failed) and str(result).startswith("dropped"):
                self.dropped.append(f"check of {question.op} in {question.dtype}")
            elif isinstance(result, Failed):
                found.append(checks.failed(question, str(result)))
            else:
                found.extend(result)
        return found

    def time(
        self, one: Worker, ceilings: Ceilings, keep: Callable[[Sequence[Row]], object]
    ) -> list[Row]:
        """Times the cases, the important ones first, and gives rows in the order of the list."""
        done: dict[str, Row] = {}

        def in_order() -> list[Row]:
            return [done[case.name] for case in self.cases if case.name in done]

        for case in sorted(self.cases, key=lambda case: -case.importance):
            if self.left_s() < case.expected_s:
                self.dropped.append(case.name)
                continue
            try:
                row = one.call(
                    measure.run_case,
                    case,
                    self.device,
                    ceilings,
                    self.measured_ms,
                    limit_s=min(LONGEST_TASK_S[self.device], max(self.left_s(), 1.0)),
                )
            except Failed as failure:
                row = failed_row(case, str(failure))
            done[case.name] = row
            keep(in_order())
            say(f"{case.name}: {row.failed or f'{row.ms:.3g} ms'}")
        return in_order()


def failed_row(case: Case, reason: str) -> Row:
    return Row(
        name=case.name,
        op=case.op,
        shape=case.shape,
        sizes=dict(case.sizes),
        dtype=case.dtype,
        direction=case.direction,
        target_ms=case.target_ms,
        failed=reason,
    )


def with_errors(row: Row, checked: Sequence[Check]) -> Row:
    """The largest errors found for the row's operation, dtype and direction."""
    parts = {"forward": ("outputs",), "backward": ("gradients",)}.get(
        row.direction, ("outputs", "gradients")
    )
    mine = [
        check
        for check in checked
        if check.op == row.op and check.dtype == row.dtype and check.part in parts
    ]
    largest = [check.max_error for check in mine if check.max_error is not None]
    relative = [check.relative_error for check in mine if check.relative_error is not None]
    return attrs.evolve(
        row, max_error=max(largest, default=None), relative_error=max(relative, default=None)
    )


def say(text: str) -> None:
    """Progress, where it is in nobody's way."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
