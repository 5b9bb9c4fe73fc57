"""The paired difference of two evaluations, and what may be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from limite.core.errors import LimiteError
from limite.evaluate.hierarchical import paired_hierarchical_interval
from limite.evaluate.intervals import bootstrap_confidence, difference_interval
from limite.evaluate.power import POWER, detectable, observed_spread, power_text
from limite.evaluate.protocol import refuse_other_protocol
from limite.evaluate.significance import cautious_difference, mcnemar, sign_flip

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

    ``p_value`` is that of flipping signs, from all responses; ``first_samples`` has McNemar's of
    the first response to each problem, and is None where a result of an older release lacks them.
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
    samples = total // max(1, len(changes))
    found = difference_interval(changes, samples, confidence)
    wide = paired_hierarchical_interval(
        [was[problem] for problem in now],
        list(now.values()),
        samples,
        bootstrap_confidence(len(changes), confidence),
    )
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
        "p_value": sign_flip(changes),
        "first_samples": first_samples(before, after, confidence),
        "hierarchical": {
            "interval_count": list(wide),
            "interval": [end / total for end in wide],
            "method": "problems once for both, then responses of each, exact",
        },
        "power": _power(changes, samples, confidence),
        "better_problems": sum(change > 0 for change in changes),
        "worse_problems": sum(change < 0 for change in changes),
    }


def first_samples(
    before: Mapping[str, Any], after: Mapping[str, Any], confidence: float
) -> dict[str, Any] | None:
    """The same from the first response to each problem alone: McNemar's test, and a cautious
    interval that takes nothing from the pairing."""
    rows = (before["per_problem"], after["per_problem"])
    if not all("first" in entry for each in rows for entry in each):
        return None
    was, now = ({entry["id"]: bool(entry["first"]) for entry in each} for each in rows)
    lost = sum(was[problem] and not now[problem] for problem in was)
    won = sum(now[problem] and not was[problem] for problem in was)
    sides = [(sum(each.values()), len(each)) for each in (was, now)]
    return {
        "lost": lost,
        "won": won,
        "p_value": mcnemar(lost, won),
        "cautious_interval": list(cautious_difference(sides[0], sides[1], confidence)),
    }


def _power(changes: Sequence[int], samples: int, confidence: float) -> dict[str, Any] | None:
    """What could have been seen, by how much the problems' changes differ; None of one problem."""
    if len(changes) < 2:
        return None
    seen = detectable(observed_spread(changes, samples), len(changes), confidence=confidence)
    return {
        "difference": seen,
        "power": POWER,
        "text": power_text(len(changes), samples, seen),
        "assumes": "the spread over problems that was observed",
    }


def wording(low: float, high: float) -> str:
    """What an interval of a difference allows to be said; touching zero supports no claim."""
    if low > 0:
        return "improved"
    if high < 0:
        return "regressed"
    return "no observed difference"
