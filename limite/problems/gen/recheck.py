"""Problems of a file solved again in a process that can be killed, each with a hard deadline.

The text of a problem may have been edited, or come from anywhere: a search that is short for what a
family makes may have no end then.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import attrs

from limite.core.errors import LimiteError, Mistake, RunFailed, sentence
from limite.core.jsonl import dumps
from limite.core.kinds import Generator
from limite.core.types import Problem
from limite.problems.answers import CHECKED
from limite.problems.gen.candidate import Judge, stated_in
from limite.problems.gen.families import family
from limite.problems.gen.workers import start
from limite.problems.sandbox.pool import WeakSandbox, weak_allowed
from limite.problems.verifiers.judge import Standard
from limite.problems.verifiers.serve import LOADING_S

DEADLINE_S = 10.0
"""What one problem may take: a hundred times what the slowest family takes for its own."""

MEMORY_BYTES = 4 * 1024**3
_AT_ONCE = 64  # problems handed over together, so that few messages are sent
_CHARACTERS = 1_000_000  # and about so much text, so that long ones are not all held at once
_SHOWN = 1_000  # the most characters of a reason: what came back always fits in a pipe

Line = tuple[int, Problem | Mistake]
Found = tuple[str, bool]
"""What is wrong with a problem, if anything, and whether its family solved it again."""


class Rechecker:
    """Checks the lines of a file in one process, which is killed where a problem takes too long.

    Checker programs are not run without ``programs``. RunFailed says why this machine cannot check
    a problem at all: programs need a sandbox, or ``allow_weak`` where there is none.
    """

    def __init__(
        self,
        verifier: str,
        deadline_s: float = DEADLINE_S,
        *,
        programs: bool = True,
        allow_weak: bool = False,
    ) -> None:
        Judge(verifier)  # a name that is unknown is told here, and not by a process that ended
        self.verifier, self.deadline_s = verifier, deadline_s
        self.programs, self.allow_weak = programs, allow_weak
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def __call__(self, lines: Iterable[Line]) -> Iterator[tuple[Line, Found]]:
        """Every line with what was found of it, in order. The next are read meanwhile."""
        before: list[Line] = []
        for some in _parts(lines):
            yield from self._found(before)
            self._hand_over(_problems(some))
            before = some
        yield from self._found(before)

    def close(self) -> None:
        """Ends the process; what is asked for next starts another."""
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if process is not None and pipe is not None:
            process.kill()
            process.join()
            pipe.close()

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return None if self._process is None else self._process.pid

    def _found(self, lines: Sequence[Line]) -> Iterator[tuple[Line, Found]]:
        found = iter(self._results(_problems(lines)))
        for line in lines:
            if isinstance(line[1], Mistake):
                yield line, ("", False)
            else:
                yield line, next(found)

    def _results(self, problems: Sequence[Problem]) -> list[Found]:
        """What was found of problems that were handed over, whatever became of the process."""
        found: list[Found] = []
        ended_at = -1
        while len(found) < len(problems):
            if self._pipe is None:
                self._hand_over(problems[len(found) :])
            try:
                found.append(self._take())
            except TimeoutError:
                self.close()
                found.append((f"it was not solved again within {self.deadline_s:g} s", False))
            except (EOFError, OSError):
                self.close()
                # Whoever killed it may have meant it and not this problem: once more.
                if ended_at == len(found):
                    found.append(("the process that solved it again ended", False))
                else:
                    ended_at = len(found)
        return found

    def _hand_over(self, problems: Sequence[Problem]) -> None:
        if not problems:
            return
        if self._pipe is None:
            self._start()
        assert self._pipe is not None
        try:
            self._pipe.send(problems)
        except OSError:
            self.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        told = (self.verifier, self.deadline_s, self.programs, self.allow_weak)
        self._process = context.Process(target=_serve, args=(theirs, *told), daemon=True)
        start(self._process)
        theirs.close()
        try:
            self._receive(LOADING_S)
        except (EOFError, OSError) as error:
            self.close()
            raise RunFailed("the process that solves problems again did not start") from error

    def _take(self) -> Found:
        """The next result. Loading computer algebra on the way has a deadline of its own."""
        message = self._receive(self.deadline_s)
        while isinstance(message, bool):
            message = self._receive(LOADING_S if message else self.deadline_s)
        if isinstance(message, str):
            raise RunFailed(message)
        found: Found = message
        return found

    def _receive(self, seconds: float) -> Any:
        if self._pipe is None:
            raise EOFError
        if not self._pipe.poll(seconds):
            raise TimeoutError
        return self._pipe.recv()


def _problems(lines: Sequence[Line]) -> list[Problem]:
    return [found for _, found in lines if not isinstance(found, Mistake)]


def _parts(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """The lines in order, some at a time: not too many, and not too much text."""
    part: list[Line] = []
    characters = 0
    for line in lines:
        part.append(line)
        if isinstance(line[1], Problem):
            texts = (line[1].problem, line[1].answer.value, *line[1].solutions.values())
            characters += sum(map(len, texts))
        if len(part) == _AT_ONCE or characters > _CHARACTERS:
            yield part
            part, characters = [], 0
    yield part


def _serve(
    pipe: Connection, verifier: str, deadline_s: float, programs: bool, allow_weak: bool
) -> None:
    """The process's own half. A timer of its own ends it should the caller be gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever a family prints is not the command's
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from limite.problems.algebra import symbolic

    def around_loading(begins: bool) -> None:
        signal.setitimer(signal.ITIMER_REAL, LOADING_S if begins else 2 * deadline_s + 1)
        pipe.send(begins)

    symbolic.AROUND_LOADING.append(around_loading)
    checker = Checker(verifier, programs=programs)
    with (
        weak_allowed() if allow_weak else contextlib.nullcontext(),
        warnings.catch_warnings(),
        contextlib.suppress(EOFError, OSError),  # the process that asked is gone
    ):
        warnings.simplefilter("ignore", WeakSandbox)  # the command has said it
        pipe.send(False)
        while True:
            for problem in pipe.recv():
                signal.setitimer(signal.ITIMER_REAL, 2 * deadline_s + 1)
                found = _bounded(checker, problem)
                signal.setitimer(signal.ITIMER_REAL, 0)
                pipe.send(found if isinstance(found, str) else (found[0][:_SHOWN], found[1]))


def _bounded(checker: Checker, problem: Problem) -> Found | str:
    """What is found of a problem; a text says why none of its kind can be checked here."""
    try:
        return checker(problem)
    except MemoryError:
        return "solving it again needs too much memory", False
    except Exception as error:  # a verifier may be anyone's
        if problem.answer.type == "python" and isinstance(error, LimiteError):
            return str(error)
        return f"its verifier fails on it: {sentence(error)}", False


class Checker:
    """Checks one problem after another: what is wrong with it, and whether it was solved again."""

    def __init__(self, verifier: str, *, programs: bool = True) -> None:
        self.judge = Judge(verifier)
        self.programs = programs
        self._families: dict[str, Generator | str] = {}

    def __call__(self, problem: Problem) -> Found:
        made = problem.source.get("kind") == "procedural"
        checked = problem.answer.type in CHECKED
        if checked and not self.programs:
            objection = Standard(problem.answer).fault
        elif checked and not made:  # the checker is all there is to tell, so it is tried on these
            stating = {
                style: text
                for style, text in problem.solutions.items()
                if stated_in(text) is not None
            }
            objection = self.judge.objection(attrs.evolve(problem, solutions=stating))
        else:
            objection = self.judge.objection(problem, solutions=made)
        if objection or not made:
            return objection, False
        component = self._family(problem.source)
        if isinstance(component, str):
            return component, False
        try:
            right = component.check(problem) is True
        except MemoryError:
            raise
        except Exception as error:  # a family may be anyone's
            return f"its family fails on it: {sentence(error)}", False
        return "" if right else "its family finds another answer", True

    def _family(self, source: Mapping[str, Any]) -> Generator | str:
        name, params = source.get("generator"), source.get("params", {})
        if not isinstance(name, str) or not isinstance(params, Mapping):
            return "'source': a procedural problem names its generator, and an object as params"
        settings = {key: value for key, value in params.items() if key != "difficulty"}
        place = dumps([name, settings])
        if place not in self._families:
            self._families[place] = _or_reason(lambda: family(name, settings))
        return self._families[place]


def _or_reason(make: Callable[[], Generator]) -> Generator | str:
    try:
        return make()
    except LimiteError as error:
        return f"'source': {error}"
