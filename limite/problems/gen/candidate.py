"""One candidate for a file: made, solved again by other code, and judged by the verifier.

A candidate is a pure function of family, version, settings, difficulty, seed and index: whichever
process makes it, and after whatever others, it is the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from limite.core.errors import sentence
from limite.core.jsonl import dumps
from limite.core.seeds import Seeds
from limite.core.types import Answer, Problem, Verdict
from limite.problems import files
from limite.problems.gen.families import Share, family, version_of
from limite.problems.procedural.base import MARKER
from limite.problems.reading.extract import extract
from limite.problems.reading.faults import Undecided, Unreadable, WrongForm
from limite.problems.verifiers.judge import Standard
from limite.problems.verifiers.mathematics import Mathematics
from limite.problems.verifiers.named import verifier_named

Made = tuple[str, bytes, str]
"""The id of a candidate, its line, and by what it was refused: empty where it was not.

The line is empty where the id was seen before, and nothing more was done."""


class Maker:
    """Makes the candidates of one share of a file, each by its index."""

    def __init__(self, share: Share, seed: int, verifier: str) -> None:
        self.component = family(share.name, share.settings)
        self.low, self.high = share.difficulty
        self.judge = Judge(verifier)
        self.source = source_of(share, seed)
        # As text, with a place for the index: "%" is doubled where a setting has one.
        written = dumps({**self.source, "index": 0}).replace("%", "%%")
        self.written = written.replace('"index":0', '"index":%d', 1)
        version, params = self.source["version"], dumps(self.source["params"])
        # Hashed to one number here, so that a stream costs a hash of its index alone.
        self.seeds = Seeds(Seeds(seed).integer("problem", share.name, version, params))

    def __call__(self, index: int, seen: Container[bytes] = frozenset()) -> Made:
        """The candidate number ``index``. One that is refused says by what, and why."""
        return self.make(range(index, index + 1), seen)[0]

    def make(self, indexes: Sequence[int], seen: Container[bytes] = frozenset()) -> list[Made]:
        """The candidates of these numbers, in order.

        One whose id is among ``seen`` is a repetition: it is neither solved nor judged again.
        Each step is done for all before the next: a processor does one thing over and over half
        again as fast as all things in turn.
        """
        found: dict[int, Made] = {}
        problems: dict[int, tuple[Problem, str]] = {}
        for index in indexes:
            try:
                problem = self.sample(self.seeds.stream(index))
                name = problem.id
            except Exception as error:  # a family may be anyone's, and one bad index is not the end
                found[index] = self._refused(index, None, "error", sentence(error))
                continue
            if bytes.fromhex(name) in seen:
                found[index] = name, b"", ""
                continue
            problems[index] = problem, name
        for step in (self._unsolved, self._unjudged):
            for index, (problem, _) in list(problems.items()):
                try:
                    by, reason = step(problem)
                except Exception as error:
                    by, reason = "error", sentence(error)
                if by:
                    found[index] = self._refused(index, problem, by, reason)
                    del problems[index]
        for index, (problem, name) in problems.items():
            found[index] = name, self._line(index, problem, name), ""
        return [found[index] for index in indexes]

    def _unsolved(self, problem: Problem) -> tuple[str, str]:
        solved = self.component.check(problem) is True
        return ("", "") if solved else ("check", "its own check finds another answer")

    def _unjudged(self, problem: Problem) -> tuple[str, str]:
        reason = self.judge.objection(problem)
        return ("verifier", reason) if reason else ("", "")

    def sample(self, stream: random.Random) -> Problem:
        """A problem somewhere in the share's stretch of difficulty."""
        difficulty = self.low + (self.high - self.low) * stream.random()
        return self.component.sample(stream, min(difficulty, self.high))

    def _line(self, index: int, problem: Problem, name: str) -> bytes:
        if not problem.extra:
            try:
                return files.line_of_made(problem, name, self.written % index)
            except (TypeError, ValueError):
                pass  # halves of characters and numbers that are none are told by the other way
        return files.line_of(self._record(index, problem))

    def _record(self, index: int, problem: Problem) -> dict[str, Any]:
        return {**files.record_of(problem), "source": {**self.source, "index": index}}

    def _refused(self, index: int, problem: Problem | None, by: str, reason: str) -> Made:
        if problem is None:
            record: dict[str, Any] = {"source": {**self.source, "index": index}}
        else:
            record = self._record(index, problem)
        aside = {"refused_by": by, "reason": reason, "record": record}
        return record.get("id", ""), files.line_of(aside), by


def source_of(share: Share, seed: int) -> dict[str, Any]:
    """Where the problems of a share come from; with ``index`` it is enough to make one again."""
    return {
        "kind": "procedural",
        "generator": share.name,
        "version": version_of(family(share.name, share.settings)),
        "seed": seed,
        "params": {"difficulty": list(share.difficulty), **share.settings},
    }


class Judge:
    """Whether a verifier takes a problem's own answer, and its worked solutions, for right.

    ``mathematics`` compares by value, as ``limite.problems.verify`` does, in this process: these
    texts are a family's or a record's own. Other verifiers read what they write themselves.
    """

    def __init__(self, name: str) -> None:
        self.verifier = verifier_named(name)
        self.by_value = isinstance(self.verifier, Mathematics)
        self.write: Callable[[Answer], str] | None = getattr(self.verifier, "write", None)

    def objection(self, problem: Problem, *, solutions: bool = True) -> str:
        """What the verifier does not take for right, or an empty text."""
        answer = problem.answer
        texts = problem.solutions if solutions else {}
        if self.by_value:
            return _by_value(answer, texts)
        wrong = "" if self.write is None else self._of_text(answer, self.write(answer))
        if wrong:
            return f"its own answer: {wrong}"
        for style, text in texts.items():
            wrong = self._of_text(answer, text)
            if wrong:
                return f"{style}: {wrong}"
        return ""

    def _of_text(self, answer: Answer, text: str) -> str:
        return _unless_right(self.verifier(answer, text))


def _by_value(answer: Answer, solutions: Mapping[str, str]) -> str:
    """What is wrong with an answer, or with what its solutions end in: a marked or boxed answer."""
    standard = Standard(answer)
    if standard.fault:
        return (
            f"its own answer: no answer of type {answer.type!r}: {answer.value[:80]!r}: "
            f"{standard.fault}"
        )
    try:
        found = standard.kind.show(standard.gold, answer.params)
    except (Unreadable, WrongForm, Undecided) as error:
        return f"its own answer: it cannot be written: {error}"
    if standard.by_program:
        return _by_program(answer, solutions)
    if found != answer.value:
        return (
            f"its own answer: {answer.value[:80]!r} is not its canonical form, "
            f"which is {found[:80]!r}"
        )
    wrong = _unless_right(standard.judge(answer.value))
    if wrong:
        return f"its own answer: {wrong}"
    for style, text in solutions.items():
        if text.count(MARKER) > 1:
            return f"{style}: it marks more than one answer"
        wrong = _unless_right(standard.judge(stated_in(text)))
        if wrong:
            return f"{style}: {wrong}"
    return ""


def stated_in(solution: str) -> str | None:
    """What a solution ends in: after its mark, or in its box."""
    _, marker, last = solution.rpartition(MARKER)
    return last if marker else extract(solution)


def _by_program(answer: Answer, solutions: Mapping[str, str]) -> str:
    """What is wrong with a checker program: it takes a wrong answer, or a solution for wrong."""
    from limite.problems.verifiers.checker import checked

    nothing, *verdicts = checked(
        [(answer, "-"), *((answer, stated_in(text)) for text in solutions.values())]
    )
    if nothing.correct:
        return "its own answer: the checker takes a mere dash for right"
    if nothing.outcome != "wrong":
        return f"its own answer: {nothing.outcome}: {nothing.reason}"
    for style, verdict in zip(solutions, verdicts, strict=True):
        if wrong := _unless_right(verdict):
            return f"{style}: {wrong}"
    return ""


def _unless_right(verdict: Verdict) -> str:
    return "" if verdict.correct else f"{verdict.outcome}: {verdict.reason}"
