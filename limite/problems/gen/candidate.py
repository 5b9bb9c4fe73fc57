"""One candidate for a file: made, solved again by other code, and judged by the verifier.

A candidate is a pure function of family, version, settings, difficulty, seed and index: whichever
process makes it, and after whatever others, it is the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container
from typing import Any, cast

from limite.core.discover import load_registry
from limite.core.errors import LimiteError, sentence
from limite.core.jsonl import dumps
from limite.core.kinds import Verifier
from limite.core.seeds import Seeds
from limite.core.types import Answer, Problem, Verdict
from limite.problems import files
from limite.problems.answers import canonical
from limite.problems.gen.families import Share, family, version_of
from limite.problems.procedural.base import MARKER
from limite.problems.verifiers.judge import judge
from limite.problems.verifiers.mathematics import Mathematics

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
        version, params = self.source["version"], dumps(self.source["params"])
        # Hashed to one number here, so that a stream costs a hash of its index alone.
        self.seeds = Seeds(Seeds(seed).integer("problem", share.name, version, params))

    def __call__(self, index: int, seen: Container[bytes] = frozenset()) -> Made:
        """The candidate number ``index``. One that is refused says by what, and why.

        One whose id is among ``seen`` is a repetition: it is neither solved nor judged again.
        """
        source = {**self.source, "index": index}
        try:
            problem = self.sample(self.seeds.stream(index))
            name = problem.id
        except Exception as error:  # a family may be anyone's, and one bad index is not the end
            return self._refused("", {"source": source}, "error", sentence(error))
        if bytes.fromhex(name) in seen:
            return name, b"", ""
        record = files.record_of(problem, name)
        record["source"] = source
        try:
            solved = self.component.check(problem) is True
            reason = self.judge.objection(problem) if solved else ""
        except Exception as error:
            return self._refused(name, record, "error", sentence(error))
        if not solved:
            return self._refused(name, record, "check", "its own check finds another answer")
        if reason:
            return self._refused(name, record, "verifier", reason)
        return name, files.line_of(record), ""

    def sample(self, stream: random.Random) -> Problem:
        """A problem somewhere in the share's stretch of difficulty."""
        difficulty = self.low + (self.high - self.low) * stream.random()
        return self.component.sample(stream, min(difficulty, self.high))

    def _refused(self, name: str, record: dict[str, Any], by: str, reason: str) -> Made:
        aside = {"refused_by": by, "reason": reason, "record": record}
        return name, files.line_of(aside), by


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
        self.verifier = cast(Verifier, load_registry().get("verifier", name).load()())
        self.by_value = isinstance(self.verifier, Mathematics)
        self.write: Callable[[Answer], str] | None = getattr(self.verifier, "write", None)

    def objection(self, problem: Problem, *, solutions: bool = True) -> str:
        """What the verifier does not take for right, or an empty text."""
        answer = problem.answer
        if self.by_value:
            wrong, of_solution = self._of_own(answer), self._of_solution
        else:
            wrong = "" if self.write is None else self._of_text(answer, self.write(answer))
            of_solution = self._of_text
        if wrong:
            return f"its own answer: {wrong}"
        for style, text in problem.solutions.items() if solutions else ():
            wrong = of_solution(answer, text)
            if wrong:
                return f"{style}: {wrong}"
        return ""

    def _of_own(self, answer: Answer) -> str:
        try:
            found = canonical(answer).value
        except LimiteError as error:
            return str(error)
        if found != answer.value:
            return f"{answer.value[:80]!r} is not its canonical form, which is {found[:80]!r}"
        return self._of_value(answer, found)

    def _of_text(self, answer: Answer, text: str) -> str:
        return _unless_right(self.verifier(answer, text))

    def _of_value(self, answer: Answer, text: str) -> str:
        return _unless_right(judge(answer, text, extract=False))

    def _of_solution(self, answer: Answer, text: str) -> str:
        """A solution ends in its answer, behind the one marker in it, or has it in a box."""
        _, marker, stated = text.rpartition(MARKER)
        if not marker:
            return _unless_right(judge(answer, text))
        if text.count(MARKER) > 1:
            return "it marks more than one answer"
        return "" if stated == answer.value else self._of_value(answer, stated)


def _unless_right(verdict: Verdict) -> str:
    return "" if verdict.correct else f"{verdict.outcome}: {verdict.reason}"
