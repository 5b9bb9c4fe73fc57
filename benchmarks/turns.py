"""Programs that take turns: each does one step when it is told to, and says what that took.

A program is a process of its own, in an interpreter of its own; both ends are here, and nothing
beyond the standard library is imported.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "WANDB_DISABLED": "true"}


def cpu_s() -> float:
    """Processor time of this process and of all that it started."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(_scheduled_s(pid) for pid in _children(os.getpid()))
    return time.process_time() + ended.ru_utime + ended.ru_stime + living


def peak_mib() -> float | None:
    """The most memory this process has held, and its children; None where Linux cannot say."""
    found = [_most_kib(pid) for pid in (os.getpid(), *_children(os.getpid()))]
    return None if found[0] is None else sum(each or 0 for each in found) / 1024


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            mine = [int(word) for word in task.read_text(encoding="utf-8").split()]
        except OSError:  # it ended meanwhile
            continue
        for each in mine:
            found += [each, *_children(each)]
    return found


def _scheduled_s(pid: int) -> float:
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(task.read_text(encoding="utf-8").split()[0])
        except OSError:
            continue
    return total / 1e9


def _most_kib(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return None


class Turns:
    """The program's end: it says what a step took, and waits until it is told to go on.

    What else the process prints goes to where errors go.
    """

    def __init__(self) -> None:
        self._say = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.asked: dict[str, Any] = {}
        self.imported_cpu_s = 0.0
        self._cpu_s = self._wall_s = 0.0
        self._begun = False

    def imported(self) -> None:
        """Everything that a step needs is imported; nothing is made yet."""
        self.imported_cpu_s = time.process_time()

    def done(self, **told: Any) -> None:
        """One step is done. Returns when the next is asked for; ends the process if none is."""
        cpu, wall = cpu_s(), time.perf_counter()
        told |= {"cpu_s": cpu - self._cpu_s, "wall_s": wall - self._wall_s, "peak_mib": peak_mib()}
        if not self._begun:
            told |= {"imported_cpu_s": self.imported_cpu_s, "begun": False, "wall_s": None}
        self._begun = True
        print(json.dumps(told), file=self._say, flush=True)
        line = sys.stdin.readline()
        if not line:
            os._exit(0)
        self.asked = json.loads(line)
        self._cpu_s, self._wall_s = cpu_s(), time.perf_counter()


class Ended(Exception):
    """A program ended before it was asked to; the message is the end of what it said."""


class Program:
    """The other end: starts a program, which does its first step at once."""

    def __init__(
        self, python: str, module: str, arguments: Sequence[str], said: Path, **more: str
    ) -> None:
        self._said = said
        environment = {**os.environ, **ONE_THREAD, **OFFLINE, "PYTHONPATH": str(ROOT), **more}
        with said.open("wb") as errors:
            self._process = subprocess.Popen(
                [python, "-m", module, *arguments],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def first(self) -> Mapping[str, Any]:
        """What its first step told."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            tail = self._said.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
            raise Ended("\n".join(tail) or f"exit code {self._process.returncode}")
        told: dict[str, Any] = json.loads(line)
        return told

    def step(self, **asked: Any) -> Mapping[str, Any]:
        """One more step; what it told."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self.first()

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
