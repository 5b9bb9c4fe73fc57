"""One candidate for a file: made, solved again by other code, and judged by the verifier.

A candidate is a pure function of family, version, settings, difficulty, seed and index: whichever
process makes it, and after whatever others, it is the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container
from typing import Any, cast

from limite.core.discover import load_registry
from limite.core.errors import sentence
from limite.core.jsonl import dumps
from limite.core.kinds import Verifier
from limite.core.seeds import Seeds
from limite.core.types import Answer, Problem
from limite.problems import files
from limite.problems.gen.families import Share, family, version_of

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
    """Whether a verifier takes a problem's own answer, and its worked solutions, for right."""

    def __init__(self, name: str) -> None:
        self.verifier = cast(Verifier, load_registry().get("verifier", name).load()())
        self.write: Callable[[Answer], str] | None = getattr(self.verifier, "write", None)

    def objection(self, problem: Problem, *, solutions: bool = True) -> str:
        """What the verifier does not take for right, or an empty text."""
        answer, judge = problem.answer, self.verifier
        texts = dict(problem.solutions) if solutions else {}
        if self.write is not None:
            texts["its own answer"] = self.write(answer)
        for name, text in texts.items():
            verdict = judge(answer, text)
            if verdict.outcome != "right":
                return f"{name}: {verdict.outcome}: {verdict.reason}"
        return ""
