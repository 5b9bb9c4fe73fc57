"""The audit of responses from anybody's file: budgets, endings, hidden cut-offs.

A record needs ``problem_id``, ``sample_index``, ``completion_budget``, ``generated_tokens`` and
``finish_reason``; with ``prompt_tokens`` and a context its budget can be held to what the context
leaves, and with ``completion_ids`` its ending to its last token. What could not be looked at is
said: only what was looked at and found right makes an audit clean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.jsonl import NotJSON, UnfinishedFile, read_numbered
from limite.core.types import FINISH_REASONS

SAME_LENGTH = 3
LONG_TOKENS = 1024
NATURAL = ("eos", "stop")
TOLD_BY_FEW = ("completion_budget", "generated_tokens", "finish_reason")
"""What files of other tools may leave out."""
FIELDS: dict[str, type] = {
    "problem_id": str,
    "sample_index": int,
    "completion_budget": int,
    "generated_tokens": int,
    "finish_reason": str,
}


@attrs.frozen(kw_only=True)
class Violation:
    """What is wrong with one record; ``line`` counts from 1."""

    line: int
    record: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.record}: {self.message}"


@attrs.frozen(kw_only=True)
class Audit:
    """What was found in a file. ``unseen`` says of which checks no record gave enough."""

    responses: int
    violations: tuple[Violation, ...]
    unseen: tuple[str, ...]
    endings: Mapping[str, int]
    missing: str = ""
    """Which responses are not there, as far as that can be known; no rule is broken by it."""

    @property
    def clean(self) -> bool:
        return not self.violations

    @property
    def native(self) -> bool:
        """Whether a score of these responses may be called one of the native context."""
        return self.clean and not self.unseen


@attrs.define(kw_only=True)
class _Seen:
    """What the records are held to together."""

    places: dict[tuple[str, str, int], int] = attrs.field(factory=dict)
    lengths: dict[tuple[str, int], list[tuple[int, str]]] = attrs.field(factory=dict)
    unseen: Counter[str] = attrs.field(factory=Counter)


def audit(
    path: str | Path,
    *,
    eos_ids: Collection[int] = (),
    context: int | None = None,
    budget: int | None = None,
    asked: Mapping[str, int] | None = None,
    records: Iterable[tuple[int, Any]] | None = None,
) -> Audit:
    """Every record of a ``.jsonl`` or ``.jsonl.zst`` file, held to the rules; all violations.

    ``context`` asks for native budgets (the context less the prompt), ``budget`` for a fixed one.
    ``asked`` are the problems, where they are known, and how many responses each has.
    A last line that was cut short is an unfinished write and is left out; a file with no record at
    all is a LimiteError. ``records`` are those of another tool's file, with their lines: what it
    does not tell is no violation, and is told as what could not be looked at.
    """
    if context is not None and budget is not None:
        raise LimiteError("a budget is the context behind the prompt or a fixed number, not both")
    violations: list[Violation] = []
    endings: Counter[str] = Counter()
    seen = _Seen()
    count = 0
    for line, record in _records(Path(path)) if records is None else records:
        count += 1
        lacks = () if records is None else [name for name in TOLD_BY_FEW if name not in record]
        if lacks:
            seen.unseen[f"budgets and endings: {', '.join(map(repr, lacks))} are not told"] += 1
            endings["unknown ending"] += 1
            violations += _places(line, record, seen)
            continue
        name, faults = _check(line, record, seen, frozenset(eos_ids), context, budget)
        faults += _foreign(record, asked)
        violations += [Violation(line=line, record=name, message=each) for each in faults]
        if isinstance(record, Mapping):
            endings[str(record.get("finish_reason"))] += 1
    if not count:
        raise LimiteError(f"{path}: holds no record of a response")
    violations += _cut_offs(seen)
    return Audit(
        responses=count,
        violations=tuple(sorted(violations, key=lambda each: each.line)),
        unseen=tuple(f"{what} ({times:,} responses)" for what, times in seen.unseen.items()),
        endings=dict(sorted(endings.items())),
        missing=_missing(seen, asked),
    )


def _places(line: int, record: Mapping[str, Any], seen: _Seen) -> Iterator[Violation]:
    """What can be said of a response of which neither budget nor ending is known."""
    place = (str(record["model"]), record["problem_id"], record["sample_index"])
    name = f"sample {place[2]} of problem {place[1]}"
    if place in seen.places:
        message = f"a second time; it is in line {seen.places[place]} already"
        yield Violation(line=line, record=name, message=message)
    seen.places.setdefault(place, line)
    length, budget = record.get("generated_tokens"), record.get("completion_budget")
    if isinstance(length, int) and isinstance(budget, int) and length > budget:
        message = f"{length:,} tokens exceed its budget of {budget:,}"
        yield Violation(line=line, record=name, message=message)
    if isinstance(length, int) and length >= LONG_TOKENS and length != budget:
        seen.lengths.setdefault((place[0], length), []).append((line, name))


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """Those of a file; where tokens are given and not counted, as in rollouts, with their count."""
    try:
        for line, record in read_numbered(path):
            counted = not isinstance(record, Mapping) or "generated_tokens" in record
            if not counted and isinstance(record.get("completion_ids"), list):
                record = {**record, "generated_tokens": len(record["completion_ids"])}
            yield line, record
    except UnfinishedFile:
        return


def _check(
    line: int,
    record: Any,
    seen: _Seen,
    eos_ids: frozenset[int],
    context: int | None,
    budget: int | None,
) -> tuple[str, list[str]]:
    """The name of a record, and what is wrong with it."""
    if isinstance(record, NotJSON) or not isinstance(record, Mapping):
        why = f": {record}" if isinstance(record, NotJSON) else ""
        return "no record", [f"not an object of JSON{why}"]
    wrong = [
        f"{field!r}: expected {kind.__name__}, got {_shown(record[field])}"
        if field in record
        else f"lacks {field!r}"
        for field, kind in FIELDS.items()
        if type(record.get(field)) is not kind
    ]
    if "correct" in record and type(record["correct"]) is not bool:
        wrong.append(f"'correct': expected bool, got {_shown(record['correct'])}")
    if wrong:
        named = isinstance(record.get("problem_id"), str)
        return f"problem {record['problem_id']}" if named else "a response without a problem", wrong
    problem, sample = record["problem_id"], record["sample_index"]
    name = f"sample {sample} of problem {problem}"
    model = str(record.get("model", ""))
    place = (f"{model}/{record.get('stage', '')}", problem, sample)
    if place in seen.places:
        wrong.append(f"a second time; it is in line {seen.places[place]} already")
    seen.places.setdefault(place, line)
    if sample < 0:
        wrong.append("a sample index below 0")
    wrong += _budget_faults(record, seen, context, budget)
    wrong += _ending_faults(record, seen, eos_ids)
    length, reason = record["generated_tokens"], record["finish_reason"]
    used_up = length == record["completion_budget"] and _is_known(record, context, budget)
    if length >= LONG_TOKENS and reason not in NATURAL and not used_up:
        seen.lengths.setdefault((place[0], length), []).append((line, name))
    return name, wrong


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value)


def _budget_faults(
    record: Mapping[str, Any], seen: _Seen, context: int | None, budget: int | None
) -> Iterator[str]:
    given, length = record["completion_budget"], record["generated_tokens"]
    if budget is not None and given != budget:
        yield f"a budget of {given:,} tokens, not {budget:,}"
    prompt = record.get("prompt_tokens")
    if context is None and budget is None:
        seen.unseen["budgets: neither a context nor a fixed budget is known"] += 1
    elif context is not None and type(prompt) is not int:
        seen.unseen["native budgets: 'prompt_tokens' is not told"] += 1
    elif context is not None and type(prompt) is int and given != context - prompt:
        yield (
            f"a budget of {given:,} tokens; the context of {context:,} leaves "
            f"{context - prompt:,} behind a prompt of {prompt:,}"
        )
    if length > given:
        yield f"{length:,} tokens exceed its budget of {given:,}"
    if record["finish_reason"] == "length" and length < given:
        yield f"hidden cut-off: it ended on length after {length:,} of {given:,} tokens"


def _foreign(record: Any, asked: Mapping[str, int] | None) -> Iterator[str]:
    """Whether a response is none of those that were asked for."""
    if asked is None or not isinstance(record, Mapping):
        return
    problem, sample = record.get("problem_id"), record.get("sample_index")
    if not isinstance(problem, str) or type(sample) is not int:
        return  # which is told already
    if problem not in asked:
        yield "its problem is none of those that were asked"
    elif sample >= asked[problem]:
        yield f"there are samples 0 to {asked[problem] - 1} of a problem"


def _is_known(record: Mapping[str, Any], context: int | None, budget: int | None) -> bool:
    """Whether the budget is the one that was asked for, so that to use it up hides nothing."""
    given, prompt = record["completion_budget"], record.get("prompt_tokens")
    if budget is not None:
        return bool(given == budget)
    return context is not None and type(prompt) is int and given == context - prompt


def _ending_faults(
    record: Mapping[str, Any], seen: _Seen, eos_ids: frozenset[int]
) -> Iterator[str]:
    given, length = record["completion_budget"], record["generated_tokens"]
    reason = record["finish_reason"]
    if reason not in FINISH_REASONS:
        yield f"its finish reason {reason!r} is none of {', '.join(FINISH_REASONS)}"
        return
    ids = record.get("completion_ids")
    if not isinstance(ids, list) or not eos_ids:
        seen.unseen[
            "last tokens: 'completion_ids' are not told"
            if eos_ids
            else "last tokens: the end-of-sequence ids are not known"
        ] += 1
        return
    if len(ids) != length:
        yield f"it has {len(ids):,} token ids and says {length:,}"
    ended = bool(ids) and ids[-1] in eos_ids
    early = next((at for at, token in enumerate(ids[:-1]) if token in eos_ids), None)
    if early is not None:
        yield f"it goes on after token {early + 1:,} of {len(ids):,}, which ends a sequence"
    if ended != (reason == "eos"):
        last = ids[-1] if ids else "nothing"
        yield f"its finish reason is {reason!r} and its last token is {last}"
    if length == given and not ended and reason not in ("length", "stop", "eos"):
        yield f"its budget is used up, and its finish reason is {reason!r}"


def _missing(seen: _Seen, asked: Mapping[str, int] | None) -> str:
    """The first response that is not there: of those ``asked`` for, or else, as far as a file can
    tell, a sample of a problem that another problem of the model has."""
    samples: dict[str, int] = {}
    lines: dict[tuple[str, str], int] = {}
    for (model, problem, sample), line in seen.places.items():
        samples[model] = max(samples.get(model, 0), sample + 1)
        lines.setdefault((model, problem), line)
    wanted = (
        [(pair, samples[pair[0]]) for pair in lines]
        if asked is None
        else [((model, each), count) for model in samples for each, count in asked.items()]
    )
    gone = [
        (pair, sample)
        for pair, count in wanted
        for sample in range(count)
        if (*pair, sample) not in seen.places
    ]
    if not gone:
        return ""
    first, sample = gone[0]
    where = f" (line {lines[first]})" if first in lines else ""
    others = len(gone) - 1
    more = f" and {others:,} {'other' if others == 1 else 'others'}" if others else ""
    return (
        f"sample {sample} of problem {first[1]}{where}{more}: a score of the responses that are "
        "there would favour short ones"
    )


def _cut_offs(seen: _Seen) -> Iterator[Violation]:
    """Several long responses of one length that did not end by themselves.

    Those that used up a budget known to be right are left out: that is no hidden end.
    """
    for (_, length), found in seen.lengths.items():
        if len(found) < SAME_LENGTH:
            continue
        first, name = found[0]
        yield Violation(
            line=first,
            record=name,
            message=(
                f"hidden cut-off: it and {len(found) - 1} more of its model have exactly "
                f"{length:,} tokens and no natural end"
            ),
        )
