"""The paired difference of two evaluations, and what may be said of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limite.core.errors import LimiteError
from limite.evaluate.intervals import difference_interval
from limite.evaluate.protocol import refuse_other_protocol

SCOPE = (
    "covers resampling of evaluation problems; not variation between training runs, "
    "seeds of training, graders or prompts"
)


def paired_difference(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    before_name: str,
    after_name: str,
    confidence: float = 0.95,
) -> dict[str, Any]:
    """How the share of correct responses changed on the same problems, with its interval.

    Both are results as ``limite.evaluate.measure`` makes them. Another protocol is an error, and
    so are other problems. Numbers are shares (0.1 is ten points); the difference and both ends of a
    bootstrap interval are whole multiples of one response. Where all problems changed alike the
    bootstrap has no spread: ``method`` names the wider interval given instead, which is not counted
    in responses (``interval_count`` is None).
    """
    refuse_other_protocol(after, before, our_name=after_name, their_name=before_name)
    was = {entry["id"]: entry["correct"] for entry in before["per_problem"]}
    now = {entry["id"]: entry["correct"] for entry in after["per_problem"]}
    if was.keys() != now.keys() or not (before["complete"] and after["complete"]):
        raise LimiteError(
            f"{after_name!r} cannot be compared with {before_name!r}: "
            "their results are not of the same complete set of problems"
        )
    changes = [now[problem] - was[problem] for problem in now]
    total = after["total"]
    found = difference_interval(changes, total // max(1, len(changes)), confidence)
    said = wording(found.low, found.high)
    points = [100 * share for share in (sum(changes) / total, found.low, found.high)]
    return {
        "stage": before_name,
        "protocol_id": after["protocol_id"],
        "difference": sum(changes) / total,
        "difference_count": sum(changes),
        "interval": [found.low, found.high],
        "interval_count": None if found.counts is None else list(found.counts),
        "confidence": confidence,
        "method": found.method,
        "wording": said,
        "text": (
            f"{points[0]:+.1f} points, {100 * confidence:g}% paired interval "
            f"[{points[1]:+.1f}, {points[2]:+.1f}]: {said}"
        ),
        "scope": SCOPE,
        "training_runs": 1,
        "better_problems": sum(change > 0 for change in changes),
        "worse_problems": sum(change < 0 for change in changes),
    }


def wording(low: float, high: float) -> str:
    """What an interval of a difference allows to be said; touching zero supports no claim."""
    if low > 0:
        return "improved"
    if high < 0:
        return "regressed"
    return "no observed difference"
