"""Programs of records run again: each must still give the answer of its problem.

Records of problems that a model wrote hold a ``program`` whose ``solve()`` gave the answer. It is
run as it was then: in the sandbox, twice, with two hash seeds.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs

from limite.core.errors import Mistake
from limite.core.types import Problem
from limite.problems import verify
from limite.problems.answers import CHECKED
from limite.problems.author.program import LIMITS, Faulty, Runner, look_at
from limite.problems.gen.recheck import Found, Line
from limite.problems.sandbox.limits import Limits

_AT_ONCE = 64  # problems whose programs are run together


@attrs.frozen
class Ran:
    """What became of a record's program: run or not, and what is wrong with it."""

    run: bool = False
    reason: str = ""


class Rerunner:
    """Runs the programs of records; the sandbox is looked for when the first has one.

    Raises NoSandbox where none can be had.
    """

    def __init__(
        self, *, limits: Limits = LIMITS, packages: Sequence[str] = (), allow_weak: bool = False
    ) -> None:
        self.limits, self.packages, self.allow_weak = limits, tuple(packages), allow_weak
        self._runner: Runner | None = None

    def __call__(
        self, checked: Iterable[tuple[Line, Found]]
    ) -> Iterator[tuple[tuple[Line, Found], Ran]]:
        """Every line as it came, with what became of its program. The order is kept."""
        lines = iter(checked)
        with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as threads:
            while some := list(itertools.islice(lines, self._together())):
                yield from zip(some, threads.map(self._of, some), strict=True)

    def _together(self) -> int:
        # One by one until there is a program, so that progress is told as lines come.
        return 1 if self._runner is None else _AT_ONCE

    def _of(self, line: tuple[Line, Found]) -> Ran:
        (_, problem), (reason, _) = line
        if isinstance(problem, Mistake) or reason:
            return Ran()  # wrong already
        program = problem.extra.get("program")
        if not isinstance(program, str) or not program.strip():
            return Ran()
        return self.run(problem, program)

    def run(self, problem: Problem, program: str) -> Ran:
        """What became of the program of one problem."""
        answer = problem.answer
        try:
            look_at(program)
            if self._runner is None:
                self._runner = Runner(
                    limits=self.limits, packages=self.packages, allow_weak=self.allow_weak
                )
            if answer.type in CHECKED:  # its value is no answer but decides on answers
                value = self._runner(program, "string", {}, twice=True).value
            else:
                value = self._runner(program, answer.type, answer.params, twice=True).value
        except Faulty as error:
            if error.reason == "program-no-entry" and problem.source.get("kind") != "llm":
                return Ran()  # what other data sets call a program may be anything
            return Ran(True, f"its program: {error.reason}: {_hinted(str(error))}")
        if value == answer.value or verify(answer, value, extract=False).correct:
            return Ran(True)
        if answer.type in CHECKED:
            return Ran(True, f"its program gives {value[:80]}, which its checker takes for wrong")
        return Ran(True, f"its program gives {value[:80]}, and its answer is {answer.value[:80]}")

    def close(self) -> None:
        """Ends the processes that programs were run from."""
        if self._runner is not None:
            self._runner.close()


def _hinted(error: str) -> str:
    if "ModuleNotFoundError" in error:
        return f"{error} (--package NAME lets programs import one)"
    return error
