"""What was asked in an evaluation and what came back, problem by problem, within bounds.

A file of responses may be large; it is read once, and only what a page shows is kept of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core import jsonl
from limite.core.errors import LimiteError

MOST_CHANGED = 100  # rows of a paired table, of problems that went better, and of those worse
SHOWN = 36  # problems whose responses are on the page
OF_EACH = 2  # right and wrong responses to one problem, of one model
KEPT_TEXTS = 8  # responses to one problem that are kept whole, whatever they are
QUESTION_CHARACTERS = 2_000


@attrs.frozen(kw_only=True)
class Side:
    """One measured model: its name on the page, its figures, and the file of its responses."""

    name: str
    results: Mapping[str, Any]
    responses: Path

    @property
    def samples(self) -> int:
        """Responses to each problem."""
        said = self.results.get("samples")
        return said if type(said) is int else 0

    @property
    def counts(self) -> dict[str, int]:
        """How many responses to each problem were right, by its id, in the order asked."""
        rows = self.results.get("per_problem")
        return {
            str(row["id"]): row["correct"]
            for row in (rows if isinstance(rows, list) else ())
            if isinstance(row, Mapping) and "id" in row and type(row.get("correct")) is int
        }


@attrs.frozen
class Change:
    """One problem, how many responses were right before and after."""

    problem: str
    before: int
    after: int

    @property
    def by(self) -> int:
        return self.after - self.before


def changes(before: Side, after: Side) -> list[Change]:
    """Every problem of both, from the one that lost most to the one that gained most."""
    was, now = before.counts, after.counts
    found = [Change(name, was[name], now[name]) for name in now if name in was]
    return sorted(found, key=lambda each: each.by)  # of equals the order asked stays


def most_changed(found: Sequence[Change]) -> list[Change]:
    """Those a table has room for: the largest losses and the largest gains, in their order."""
    lost = [each for each in found if each.by < 0][:MOST_CHANGED]
    gained = [each for each in found if each.by > 0][-MOST_CHANGED:]
    return lost + gained


def shown_of_pair(found: Sequence[Change]) -> list[str]:
    """The problems whose responses are shown: a third that lost, a third that gained, and others
    that are not always solved; what one has not is left to the others."""
    lost = [each.problem for each in found if each.by < 0]
    gained = [each.problem for each in reversed(found) if each.by > 0]
    same = [each for each in found if each.by == 0]
    most = max((each.after for each in found), default=0)
    rest = [each.problem for each in same if each.after < most]
    rest += [each.problem for each in same if each.after == most]
    return _thirds([lost, gained, rest])


def shown_of_one(side: Side) -> list[str]:
    """The same of a single model: never, sometimes and always solved ones, in the order asked."""
    counts = side.counts
    never = [name for name, count in counts.items() if count == 0]
    always = [name for name, count in counts.items() if count >= max(1, side.samples)]
    rest = [name for name, count in counts.items() if 0 < count < max(1, side.samples)]
    return _thirds([never, rest, always])


def _thirds(groups: Sequence[Sequence[str]]) -> list[str]:
    """Up to ``SHOWN`` of several lists, as even as their lengths allow, list by list."""
    shares = [0] * len(groups)
    while sum(shares) < SHOWN and any(
        s < len(group) for s, group in zip(shares, groups, strict=True)
    ):
        for place, group in enumerate(groups):
            if shares[place] < len(group) and sum(shares) < SHOWN:
                shares[place] += 1
    return [name for share, group in zip(shares, groups, strict=True) for name in group[:share]]


@attrs.frozen
class Kept:
    """What a page shows of one side: questions by problem, and records in order of samples."""

    questions: Mapping[str, str]
    records: Mapping[str, Sequence[Mapping[str, Any]]]
    damaged: str = ""


def kept(side: Side, questions: Collection[str], responses: Collection[str]) -> Kept:
    """Reads the file once: the texts of some problems, and all responses to fewer of them."""
    texts: dict[str, str] = {}
    records: dict[str, list[dict[str, Any]]] = {name: [] for name in responses}
    damaged = ""
    try:
        for record in jsonl.read_jsonl(side.responses):
            if not isinstance(record, Mapping):
                continue
            name = str(record.get("problem_id"))
            if name in questions and name not in texts:
                texts[name] = str(record.get("problem", ""))[:QUESTION_CHARACTERS]
            if name in records:
                records[name].append(_slim(record, records[name]))
    except (LimiteError, OSError, RecursionError):
        damaged = f"the responses of {side.name} could not be read to their end"
    ordered = {name: sorted(found, key=_sample) for name, found in records.items()}
    return Kept(texts, ordered, damaged)


def _slim(record: Mapping[str, Any], before: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A record without what no page shows: tokens, and the text of one of very many responses."""
    slim = {name: value for name, value in record.items() if name != "completion_ids"}
    alike = sum(is_right(each) is is_right(record) for each in before)
    if len(before) >= KEPT_TEXTS and alike >= OF_EACH:
        slim.pop("text", None)
    return slim


def _sample(record: Mapping[str, Any]) -> int:
    number = record.get("sample_index")
    return number if type(number) is int else 0


def is_right(record: Mapping[str, Any]) -> bool:
    return record.get("correct") is True


def some_of(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The first right and the first wrong ones, in order of samples."""
    chosen: list[int] = []
    for right in (True, False):
        places = [at for at, record in enumerate(records) if is_right(record) is right]
        chosen += places[:OF_EACH]
    return [records[at] for at in sorted(chosen)]


def differing(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The first sample on which two models disagree, one right and one wrong, else the first."""
    theirs = {_sample(each): each for each in reversed(after) if "text" in each}
    pairs = [
        (each, theirs[_sample(each)])
        for each in before
        if "text" in each and _sample(each) in theirs
    ]
    for one, other in pairs:
        if is_right(one) is not is_right(other):
            return one, other
    return pairs[0] if pairs else None
