"""What ``results.json`` says that follows from the records of the responses, computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from limite.core.types import FINISH_REASONS
from limite.evaluate.figures import UNRELIABLE_SHARE, figures_of
from limite.evaluate.grading.failures import STATUSES
from limite.evaluate.shares import length_figures, longer_than

Record = Mapping[str, Any]


def recounted(records: Sequence[Record], samples: int, confidence: float) -> dict[str, Any]:
    """The figures of a complete set of records, problem by problem, ``samples`` of each.

    They are those of ``summary`` but for what a verifier must be asked again: ``majority``,
    ``correct_but_truncated`` and what protocols tell.
    """
    total = len(records)
    groups = [records[start : start + samples] for start in range(0, total, samples)]
    counts = [sum(one["correct"] for one in group) for group in groups]
    endings = Counter(one["finish_reason"] for one in records)
    grader = Counter(one["grader_status"] for one in records)
    closed = sum(one["reasoning_closed"] for one in records)
    right = [one["generated_tokens"] for one in records if one["correct"]]
    return {
        **figures_of(counts, [group[0]["correct"] for group in groups], samples, confidence),
        "complete": True,
        "endings": {reason: endings[reason] for reason in FINISH_REASONS},
        "natural_end": {
            "count": endings["eos"],
            "total": total,
            "share": endings["eos"] / total,
        },
        "closed_reasoning": {"count": closed, "total": total, "share": closed / total},
        "grader": {status: grader[status] for status in STATUSES},
        "unreliable": grader["error"] + grader["timeout"] > UNRELIABLE_SHARE * total,
        "tokens": {
            "all": length_figures([one["generated_tokens"] for one in records]),
            "correct": length_figures(right),
        },
        "correct_longer_than": longer_than(right),
        "by_arm": _by_arm(groups, counts),
        "per_problem": [
            {
                "id": group[0]["problem_id"],
                "arm": group[0]["arm"],
                "correct": count,
                "first": group[0]["correct"],
            }
            for group, count in zip(groups, counts, strict=True)
        ],
    }


def _by_arm(groups: Sequence[Sequence[Record]], counts: Sequence[int]) -> dict[str, Any]:
    table: dict[str, dict[str, Any]] = {}
    for group, count in zip(groups, counts, strict=True):
        row = table.setdefault(
            group[0]["arm"], {"problems": 0, "correct": 0, "total": 0, "score": 0.0}
        )
        row["problems"] += 1
        row["correct"] += count
        row["total"] += len(group)
        row["score"] = row["correct"] / row["total"]
    return table
