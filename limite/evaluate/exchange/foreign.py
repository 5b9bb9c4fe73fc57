"""Responses that another tool has graded, as results that can be audited and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import dumps
from limite.evaluate.figures import figures_of


@attrs.frozen(kw_only=True)
class Answered:
    """The responses to one problem, ``correct`` of them right by the metric that was chosen.

    ``told`` is what is known of each response beside its text, by the names of response records.
    """

    line: int
    id: str
    problem: str
    gold: str
    texts: Sequence[str]
    stated: Sequence[str | None]
    correct: int
    told: Sequence[Mapping[str, Any]]


@attrs.frozen(kw_only=True)
class Foreign:
    """A set of responses from a file of ``layout``. ``terms`` is what must agree to compare it."""

    layout: str
    place: str
    model: str
    task: str
    terms: Mapping[str, Any]
    answered: Sequence[Answered]
    expected: int | None = None
    """How many problems there should be, where the file says so."""
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, **parts: Any) -> Foreign:
        """Refuses what no score can be made of, by its line."""
        found = cls(**parts)
        seen: dict[str, int] = {}
        for each in found.answered:
            place = f"{found.place}:{each.line}"
            if each.id in seen:
                raise LimiteError(f"{place}: the problem of line {seen[each.id]} again")
            if len(each.texts) != len(found.answered[0].texts):
                raise LimiteError(
                    f"{place}: {len(each.texts)} responses, and {len(found.answered[0].texts)} to "
                    "the problem of the first line"
                )
            seen[each.id] = each.line
        if not found.answered:
            raise LimiteError(f"{found.place}: holds no record of a response")
        return found

    @property
    def samples(self) -> int:
        return len(self.answered[0].texts)

    @property
    def protocol(self) -> dict[str, Any]:
        """What was measured, as far as the file tells it."""
        problems = [[each.id, each.gold] for each in self.answered]
        return {
            "imported": self.layout,
            "task": self.task,
            "problems": _sha256(dumps(problems)),
            "prompts": _sha256(dumps([each.problem for each in self.answered])),
            "samples": self.samples,
            **self.terms,
        }

    @property
    def protocol_id(self) -> str:
        return _sha256(dumps(self.protocol))

    def results(self, confidence: float = 0.95) -> dict[str, Any]:
        """The figures of the set; of one that is not complete counts, and no accuracy."""
        common = {
            "model": self.model,
            "benchmark": {"name": self.task, "problems": len(self.answered)},
            "protocol_id": self.protocol_id,
            "protocol": self.protocol,
            "imported": {"layout": self.layout, "file": self.place, "notes": list(self.notes)},
        }
        if self.expected is not None and self.expected != len(self.answered):
            return {
                **common,
                "complete": False,
                "completed_problems": len(self.answered),
                "recorded_samples": len(self.answered) * self.samples,
                "expected_samples": self.expected * self.samples,
            }
        counts = [each.correct for each in self.answered]
        firsts = [self._first(each) for each in self.answered]
        figures = figures_of(counts, [bool(first) for first in firsts], self.samples, confidence)
        if None in firsts:
            figures["first_sample"] = None
        return {
            **figures,
            **common,
            "complete": True,
            "per_problem": [
                {"id": each.id, "arm": self.task, "correct": each.correct}
                | ({} if first is None else {"first": first})
                for each, first in zip(self.answered, firsts, strict=True)
            ],
        }

    def _first(self, each: Answered) -> bool | None:
        """Whether the first response is right; None where only a count is told."""
        return bool(each.correct) if each.correct in (0, self.samples) else None

    def records(self) -> list[tuple[int, dict[str, Any]]]:
        """A plain record per response with the line it comes from; unknown fields are left out."""
        found = []
        for each in self.answered:
            first = self._first(each)
            for number, text in enumerate(each.texts):
                record = {
                    "model": self.model,
                    "protocol_id": self.protocol_id,
                    "problem_id": each.id,
                    "sample_index": number,
                    "problem": each.problem,
                    "answer": each.gold,
                    "answer_type": "string",
                    "answer_params": {},
                    "extracted_answer": each.stated[number],
                    "text": text,
                    **each.told[number],
                }
                if first is not None:
                    record["correct"] = first
                found.append((each.line, record))
        return found


def whole_count(value: object, samples: int, place: str, metric: str) -> int:
    """How many of ``samples`` responses are right, where a metric is their mean."""
    if isinstance(value, (int, float)) and 0 <= value <= 1:
        count = round(float(value) * samples)
        if abs(count - float(value) * samples) < 1e-6:
            return count
    raise LimiteError(
        f"{place}: {metric!r} is {value!r}, which is no share of {samples} responses that are right"
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
