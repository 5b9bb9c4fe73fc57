"""The four grading protocols of the Limite publisher, and what they say of a set of responses.

``reference`` reads the last box behind the thinking and compares it with ``math-verify``; ``exact``
is the grader of whoever published the benchmark; ``lenient`` also takes what a response most likely
means, and ``permissive`` anything it mentions: an upper bound and no score. Both rest on ``exact``
where there is one, else on ``reference``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.kinds import Verifier
from limite.core.recipe.stages.evaluation import GRADINGS
from limite.core.types import Answer, Verdict
from limite.evaluate.grading import read
from limite.evaluate.grading.failures import verdicts_or_failures
from limite.problems.verifiers.math_verify_equal import equal, version

REFERENCE, EXACT, LENIENT, PERMISSIVE = PROTOCOLS = GRADINGS
UNBOUND = "no grader of the benchmark's publisher is named"


@attrs.frozen(kw_only=True)
class Marks:
    """What each protocol says of one response; ``exact`` is None where there is no such grader.

    ``shape`` says how a response failed by ``reference``: U thinking left open, N no box, E an
    empty or open box, T no verdict in time, W another value; empty where it is right.
    """

    reference: Verdict
    exact: Verdict | None
    lenient: bool
    permissive: bool
    boxed: bool
    shape: str

    def says(self, protocol: str) -> bool | None:
        """Whether a protocol finds the response right."""
        if protocol == REFERENCE:
            return self.reference.correct
        if protocol == EXACT:
            return None if self.exact is None else self.exact.correct
        return self.lenient if protocol == LENIENT else self.permissive

    @property
    def record(self) -> dict[str, Any]:
        """The marks as plain data."""
        return {name: self.says(name) for name in PROTOCOLS} | {
            "format_ok": self.boxed,
            "shape": self.shape,
        }


@attrs.frozen(kw_only=True)
class Grading:
    """Grades by all four protocols, of which ``headline`` decides what is called correct.

    ``exact`` is the benchmark's own grader, under the name ``exact_name``.
    """

    headline: str
    exact: Verifier | None = None
    exact_name: str | None = None

    @classmethod
    def of(cls, headline: str, exact: Verifier | None, exact_name: str | None) -> Grading:
        """Refuses a headline that nothing here can give."""
        if headline == EXACT and exact is None:
            raise LimiteError(
                "--grading exact: the benchmark names no grader of its publisher, and none is "
                "named by --exact VERIFIER; --grading reference reads boxed answers"
            )
        return cls(headline=headline, exact=exact, exact_name=exact_name)

    @property
    def base(self) -> str:
        """What ``lenient`` and ``permissive`` rest on."""
        return EXACT if self.exact is not None else REFERENCE

    @property
    def record(self) -> dict[str, Any]:
        """The grader as a protocol holds it."""
        return {
            "type": f"grading-{self.headline}",
            "distribution": "limite",
            "comparator": f"math-verify {version()}",
            "base": self.base,
            "exact": self.exact_name,
        }

    @property
    def write(self) -> Callable[[Answer], str] | None:
        """Gives a response that states an answer; None where only the publisher's grader knows."""
        if self.headline == EXACT:
            return getattr(self.exact, "write", None)
        return lambda answer: f"\\boxed{{{read.unboxed(answer.value)}}}"

    def judge(self, pairs: Sequence[tuple[Answer, str]]) -> list[Verdict]:
        """The verdicts of the headline's protocol, as a verifier gives them."""
        marks = self.marks(pairs)
        return [self.verdict(each, text) for each, (_, text) in zip(marks, pairs, strict=True)]

    def __call__(self, answer: Answer, text: str) -> Verdict:
        return self.judge([(answer, text)])[0]

    def verdict(self, marks: Marks, text: str) -> Verdict:
        """What is called correct, and the answer that was read."""
        if self.headline in (REFERENCE, EXACT):
            found = marks.reference if self.headline == REFERENCE else marks.exact
            assert found is not None
            return found
        right = bool(marks.says(self.headline))
        late = marks.reference.outcome == "timed-out" and not right
        return Verdict(
            outcome="right" if right else "timed-out" if late else "wrong",
            extracted=read.lenient(text),
            reason=f"by {self.headline} grading over {self.base}",
        )

    def marks(self, pairs: Sequence[tuple[Answer, str]]) -> list[Marks]:
        """What every protocol says of each text; a protocol is asked where an earlier one fails."""
        golds = [read.unboxed(answer.value) for answer, _ in pairs]
        texts = [text for _, text in pairs]
        boxes = [None if read.is_unclosed(text) else read.strict_box(text) for text in texts]
        reference = _references(golds, texts, boxes)
        exact: list[Verdict | None] = [None] * len(pairs)
        if self.exact is not None:
            exact = [*verdicts_or_failures(self.exact, pairs)]
        base = [
            (one if other is None else other).correct
            for one, other in zip(reference, exact, strict=True)
        ]
        lenient = _also(base, golds, [[read.lenient(text)] for text in texts])
        wide = [
            [] if right else read.candidates(text)
            for right, text in zip(lenient, texts, strict=True)
        ]
        permissive = _also(lenient, golds, wide)
        return [
            Marks(
                reference=reference[at],
                exact=exact[at],
                lenient=lenient[at],
                permissive=permissive[at],
                boxed=boxes[at] is not None,
                shape=_shape(reference[at], texts[at], boxes[at]),
            )
            for at in range(len(pairs))
        ]


def told(marks: Sequence[Marks], cut: Sequence[bool], grading: Grading) -> dict[str, Any]:
    """All four scores side by side, and the diagnostics, as plain data.

    ``cut`` says which responses ended on length. A protocol that is absent has a reason and no
    score. A response that was cut off inside its thinking has no say in ``format_ok``.
    """
    total = len(marks)
    protocols: dict[str, Any] = {}
    for name in PROTOCOLS:
        said = [each.says(name) for each in marks]
        if None in said:
            protocols[name] = {"absent": UNBOUND}
            continue
        correct = sum(map(bool, said))
        protocols[name] = {"correct": correct, "total": total, "score": correct / total}
        if name in (LENIENT, PERMISSIVE):
            protocols[name]["base"] = grading.base
    inside = [each.shape == "U" and late for each, late in zip(marks, cut, strict=True)]
    counted = [each for each, within in zip(marks, inside, strict=True) if not within]
    late = sum(each.reference.outcome == "timed-out" for each in marks)
    return {
        "headline": grading.headline,
        "base": grading.base,
        "protocols": protocols,
        "format_ok": {"count": sum(each.boxed for each in counted), "total": len(counted)},
        "truncated": {"count": sum(cut), "total": total},
        "timed_out": {"count": late, "total": total},
        "shapes": _counted(each.shape for each in marks if each.shape),
    }


def _references(
    golds: Sequence[str], texts: Sequence[str], boxes: Sequence[str | None]
) -> list[Verdict]:
    asked = [(gold, box) for gold, box in zip(golds, boxes, strict=True) if box is not None]
    found = iter(equal(asked))
    return [
        Verdict(outcome="unreadable", reason=_unread(text))
        if box is None
        else attrs.evolve(next(found), extracted=box)
        for text, box in zip(texts, boxes, strict=True)
    ]


def _unread(text: str) -> str:
    if read.is_unclosed(text):
        return "the thinking is not closed"
    return "no box" if r"\boxed" not in read.region(text) else "an empty box, or one that is open"


def _also(
    right: Sequence[bool], golds: Sequence[str], stated: Sequence[Sequence[str | None]]
) -> list[bool]:
    """Whether each is right already, or any of what it states equals its gold answer."""
    asked = [
        (at, (golds[at], each))
        for at, texts in enumerate(stated)
        if not right[at]
        for each in texts
        if each
    ]
    found = [*right]
    for (at, _), verdict in zip(asked, equal([pair for _, pair in asked]), strict=True):
        found[at] = found[at] or verdict.correct
    return found


def _shape(verdict: Verdict, text: str, box: str | None) -> str:
    if verdict.correct:
        return ""
    if read.is_unclosed(text):
        return "U"
    if box is None:
        return "N" if r"\boxed" not in read.region(text) else "E"
    return "T" if verdict.outcome == "timed-out" else "W"


def _counted(shapes: Iterable[str]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for each in shapes:
        counts[each] = counts.get(each, 0) + 1
    return dict(sorted(counts.items()))
