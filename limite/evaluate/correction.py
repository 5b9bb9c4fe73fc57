"""Correcting the set of end-of-sequence ids after the fact: cut, and grade again.

Every response is cut at its first token of the corrected set, whatever it was graded before;
nothing is sampled again and nothing chosen by correctness. What was recorded is kept beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from limite.core.errors import LimiteError
from limite.core.kinds import Verifier
from limite.core.rollout.budget import reasoning_is_closed
from limite.core.rollout.grading import verdicts_on
from limite.core.types import Answer
from limite.evaluate.grading.failures import status_of
from limite.evaluate.shares import share_text

KEPT = ("generated_tokens", "finish_reason", "correct", "extracted_answer", "grader_status", "text")


def corrected(
    records: Sequence[Mapping[str, Any]],
    eos_ids: Collection[int],
    *,
    decode: Callable[[Sequence[int]], str],
    verifier: Verifier,
    natural_end: bool,
) -> list[dict[str, Any]]:
    """The records as they are under the corrected set, each with what it was under ``recorded``.

    A record needs ``completion_ids`` and its gold answer: ``answer``, ``answer_type`` and, where
    the type has some, ``answer_params``. A LimiteError names the first that lacks them.
    """
    if not eos_ids:
        raise LimiteError("the corrected set of end-of-sequence ids is empty")
    ends = frozenset(eos_ids)
    cut = [_cut(record, number, ends, decode) for number, record in enumerate(records, start=1)]
    golds = [_gold(record, number) for number, record in enumerate(records, start=1)]
    pairs = [(gold, str(record["text"])) for gold, record in zip(golds, cut, strict=True)]
    for record, verdict in zip(cut, verdicts_on(verifier, pairs), strict=True):
        ended = record["finish_reason"] in ("eos", "stop") or not natural_end
        record["correct"] = verdict.correct and ended and reasoning_is_closed(record["text"])
        record["extracted_answer"] = verdict.extracted
        record["grader_status"] = status_of(verdict)
        record["grader_reason"] = verdict.reason
    return cut


def both_results(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The score as recorded and as corrected; none where the set is not complete."""
    samples: dict[str, int] = {}
    for record in records:
        samples[record["problem_id"]] = samples.get(record["problem_id"], 0) + 1
    expected = max(samples.values(), default=0) * len(samples)
    changed = sum(bool(record["cut"]) for record in records)
    found: dict[str, Any] = {"complete": len(records) == expected, "cut": changed}
    if not found["complete"]:
        return {**found, "recorded_samples": len(records), "expected_samples": expected}
    for name, rows in (("recorded", [r["recorded"] for r in records]), ("corrected", records)):
        right = sum(row.get("correct") is True for row in rows)
        found[name] = {
            "correct": right,
            "total": len(rows),
            "score": right / len(rows),
            "text": share_text(right, len(rows)),
        }
    return found


def _cut(
    record: Mapping[str, Any],
    number: int,
    ends: frozenset[int],
    decode: Callable[[Sequence[int]], str],
) -> dict[str, Any]:
    ids = record.get("completion_ids")
    if not isinstance(ids, list):
        raise LimiteError(
            f"line {number}: sample {record.get('sample_index')} of problem "
            f"{record.get('problem_id')} tells no 'completion_ids', so it cannot be cut"
        )
    at = next((place for place, token in enumerate(ids) if token in ends), None)
    before = {name: record[name] for name in KEPT if name in record}
    if at is None:
        return {**record, "recorded": before, "cut": False}
    text = decode(ids[:at])
    return {
        **record,
        "recorded": before,
        "cut": at + 1 < len(ids) or record.get("finish_reason") != "eos",
        "completion_ids": ids[: at + 1],
        "generated_tokens": at + 1,
        "finish_reason": "eos",
        "reasoning_closed": reasoning_is_closed(text),
        "text": text,
        **({"wrong_step": None} if "wrong_step" in record else {}),  # it was of the longer text
        "text_sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    }


def _gold(record: Mapping[str, Any], number: int) -> Answer:
    kind, value = record.get("answer_type"), record.get("answer")
    if not isinstance(kind, str) or not isinstance(value, str):
        raise LimiteError(
            f"line {number}: sample {record.get('sample_index')} of problem "
            f"{record.get('problem_id')} tells no gold answer ('answer', 'answer_type'), so it "
            "cannot be graded again"
        )
    return Answer(type=kind, value=value, params=record.get("answer_params") or {})
