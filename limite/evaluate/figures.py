"""The figures of a complete set of graded responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from limite.core.kinds import Verifier
from limite.core.types import FINISH_REASONS, Answer
from limite.evaluate import protocol as terms
from limite.evaluate.bootstrap import exact_interval
from limite.evaluate.compare import SCOPE
from limite.evaluate.graded import Graded, arm_of
from limite.evaluate.grading.failures import STATUSES, status_of
from limite.evaluate.grading.protocols import Grading, told
from limite.evaluate.hierarchical import hierarchical_interval
from limite.evaluate.intervals import PLAIN, accuracy_interval, bootstrap_confidence
from limite.evaluate.majority import majority_correct
from limite.evaluate.passk import mean_pass_at_k, mean_pass_hat_k
from limite.evaluate.power import POWER, assumed_spread, detectable, power_text
from limite.evaluate.shares import length_figures, longer_than, share_text, wilson

# More answers than this that the grader failed or ran out of time on make a score unreliable.
UNRELIABLE_SHARE = 0.01


def summary(
    graded: Sequence[Graded], protocol: terms.Protocol, confidence: float, verifier: Verifier
) -> dict[str, Any]:
    """The figures of a complete set of graded responses. Shares run from 0 to 1.

    ``method`` says how the interval was made. ``interval_count`` has its ends in responses, and is
    None where they are not whole ones: where all problems agree. ``verifier`` says which answers
    are the same one, for the majority.
    """
    samples, total = protocol.samples, len(graded)
    groups = [graded[start : start + samples] for start in range(0, total, samples)]
    counts = [sum(one.correct for one in group) for group in groups]
    endings = Counter(one.response.finish_reason for one in graded)
    grader = Counter(status_of(one.verdict) for one in graded)
    closed = sum(one.closed for one in graded)
    agreed = majority_correct([_stated(group, protocol) for group in groups], verifier)
    return {
        **figures_of(counts, [group[0].correct for group in groups], samples, confidence),
        "complete": True,
        "protocol_id": protocol.id,
        "protocol": protocol.record(),
        "majority": {
            "samples": samples,
            "correct": agreed,
            "total": len(groups),
            "score": agreed / len(groups),
        },
        "endings": {reason: endings[reason] for reason in FINISH_REASONS},
        "natural_end": {
            "count": endings["eos"],
            "total": total,
            "share": endings["eos"] / total,
        },
        "closed_reasoning": {"count": closed, "total": total, "share": closed / total},
        "correct_but_truncated": sum(
            one.verdict.correct and one.response.finish_reason == "length" for one in graded
        ),
        "grader": {status: grader[status] for status in STATUSES},
        "unreliable": grader["error"] + grader["timeout"] > UNRELIABLE_SHARE * total,
        "tokens": {
            "all": length_figures([one.response.generated_tokens for one in graded]),
            "correct": length_figures(
                [one.response.generated_tokens for one in graded if one.correct]
            ),
        },
        "correct_longer_than": longer_than(
            [one.response.generated_tokens for one in graded if one.correct]
        ),
        **_by_protocols(graded, verifier),
        "by_arm": _byarm_of(groups, counts),
        "per_problem": [
            {
                "id": group[0].problem.id,
                "arm": arm_of(group[0].problem),
                "correct": count,
                "first": group[0].correct,
            }
            for group, count in zip(groups, counts, strict=True)
        ],
    }


def figures_of(
    counts: Sequence[int], firsts: Sequence[bool], samples: int, confidence: float
) -> dict[str, Any]:
    """What follows from the correct responses to each problem alone: score, intervals, pass@k.

    ``firsts`` says of each problem whether the first response to it is right.
    """
    problems = len(counts)
    total, correct, first = problems * samples, sum(counts), sum(firsts)
    found = accuracy_interval(counts, samples, confidence)
    plain = exact_interval(counts, confidence)
    wide = hierarchical_interval(counts, samples, bootstrap_confidence(problems, confidence))
    seen = detectable(assumed_spread(counts, samples), problems, confidence=confidence)
    return {
        "text": (
            f"{share_text(correct, total)}, {100 * confidence:g}% interval "
            f"[{100 * found.low:.1f}%, {100 * found.high:.1f}%]"
        ),
        "scope": SCOPE,
        "problems": problems,
        "samples": samples,
        "correct": correct,
        "total": total,
        "score": correct / total,
        "confidence": confidence,
        "interval": [found.low, found.high],
        "interval_count": None if found.counts is None else list(found.counts),
        "method": found.method,
        "bootstrap": {
            "interval_count": list(plain),
            "interval": [end / total for end in plain],
            "method": PLAIN,
        },
        "first_sample": {
            "correct": first,
            "total": problems,
            "score": first / problems,
            # One response to a problem: these are independent, as Wilson's interval needs.
            "wilson": list(wilson(first, problems, confidence)),
        },
        "hierarchical": {
            "interval_count": list(wide),
            "interval": [end / total for end in wide],
            "method": "problems, then responses, exact",
        },
        "power": {
            "difference": seen,
            "power": POWER,
            "text": power_text(problems, samples, seen),
            "assumes": "the noise of sampling alone, as much of it in the other model",
        },
        "pass_at_k": {str(k): mean_pass_at_k(counts, samples, k) for k in _powers_of_two(samples)},
        "pass_hat_k": {
            str(k): mean_pass_hat_k(counts, samples, k) for k in _powers_of_two(samples) if k > 1
        },
    }


def _by_protocols(graded: Sequence[Graded], verifier: Verifier) -> dict[str, Any]:
    marks = [one.marks for one in graded if one.marks is not None]
    if not isinstance(verifier, Grading):
        return {}
    cut = [one.response.finish_reason == "length" for one in graded]
    return {"grading": told(marks, cut, verifier)}


def _stated(
    group: Sequence[Graded], protocol: terms.Protocol
) -> tuple[Answer, list[str | None], list[bool]]:
    """What the responses to a problem answer. One whose answer may not count has no vote."""
    stated = [one.verdict.extracted if _may_count(one, protocol) else None for one in group]
    return group[0].problem.answer, stated, [one.correct for one in group]


def _may_count(one: Graded, protocol: terms.Protocol) -> bool:
    """Protocols that grade have read no answer where one may not count; a verifier has."""
    ended = one.response.finish_reason in ("eos", "stop") or not protocol.natural_end
    return ended and (one.marks is not None or one.closed)


def _byarm_of(groups: Sequence[Sequence[Graded]], counts: Sequence[int]) -> dict[str, Any]:
    table: dict[str, dict[str, Any]] = {}
    for group, count in zip(groups, counts, strict=True):
        row = table.setdefault(
            arm_of(group[0].problem), {"problems": 0, "correct": 0, "total": 0, "score": 0.0}
        )
        row["problems"] += 1
        row["correct"] += count
        row["total"] += len(group)
        row["score"] = row["correct"] / row["total"]
    return dict(sorted(table.items()))


def _powers_of_two(samples: int) -> list[int]:
    """1, 2, 4, ... and ``samples`` itself."""
    powers = [2**exponent for exponent in range(samples.bit_length()) if 2**exponent < samples]
    return [*powers, samples]
