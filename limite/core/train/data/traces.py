"""A teacher's texts with its likeliest tokens at every position: as files have them, and as ids."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from limite.core.errors import LimiteError
from limite.core.tokenizer import Tokenizer
from limite.core.train.data.counts import Counts
from limite.core.train.data.pairs import ended
from limite.core.train.data.prompts import Prompt, prompt_of
from limite.core.train.data.records import Record, required, text_of

LARGEST_MASS = 1.0 + 1e-3
LARGEST_NATS = 1e-5  # above 0, from rounding
ABSENT = -1
"""The id of an entry that is not there; its log-probability is minus infinity."""


@attrs.frozen(kw_only=True, eq=False)
class Lists:
    """``K`` tokens at each of ``L`` positions. Entries that are not there are ``ABSENT``."""

    ids: NDArray[np.int32]  # [L, K]
    nats: NDArray[np.float32]  # [L, K]

    def __len__(self) -> int:
        return len(self.ids)


@attrs.frozen(kw_only=True, eq=False)
class Trace:
    """One line of a file of traces. ``completion`` is text, ids, or not there."""

    prompt: Prompt
    completion: str | tuple[int, ...] | None
    lists: Lists | None


@attrs.frozen(kw_only=True, eq=False)
class TraceIds:
    """The same as token ids."""

    prompt: Sequence[int]
    completion: Sequence[int]
    lists: Lists | None


@attrs.frozen(kw_only=True)
class TraceReader:
    """What a stage reads of a line, and what it refuses. ``listed_tokens`` is how long lists are;
    None: they are not read."""

    completions: bool = True
    listed_tokens: int | None = None
    temperature: float = 1.0

    def __call__(self, record: Record) -> Trace:
        """The trace of a line; a ValueError says what is wrong with it."""
        prompt = prompt_of(record)
        if not self.completions:
            return Trace(prompt=prompt, completion=None, lists=None)
        completion = completion_of(record)
        if self.listed_tokens is None:
            return Trace(prompt=prompt, completion=completion, lists=None)
        lists = lists_of(record, self.listed_tokens)
        temperature = record.get("temperature", 1)
        if type(temperature) not in (int, float) or temperature != self.temperature:
            raise ValueError(
                f"temperature: the lists are of temperature {temperature}, and the stage learns "
                f"at {self.temperature:g}; lists of another temperature cannot be converted"
            )
        return Trace(prompt=prompt, completion=completion, lists=lists)


def completion_of(record: Record) -> str | tuple[int, ...]:
    """The text under ``completion``, or the ids under ``completion_ids``, which have precedence."""
    if "completion_ids" not in record:
        return text_of(record, "completion")
    ids = record["completion_ids"]
    if not isinstance(ids, list) or not ids or not all(type(each) is int for each in ids):
        raise ValueError("completion_ids: expected a list of token ids, one at least")
    return tuple(ids)


def lists_of(record: Record, count: int) -> Lists:
    """The lists of a line, the likeliest ``count`` entries of each; a ValueError refuses them."""
    missing = [name for name in ("topk_ids", "topk_logprobs") if name not in record]
    if len(missing) == 2:
        raise ValueError(
            "lacks the lists of a teacher's likeliest tokens ('topk_ids' and 'topk_logprobs'); "
            "where the file has texts alone, name a model that is asked for them with 'teacher'"
        )
    ids, nats = required(record, "topk_ids"), required(record, "topk_logprobs")
    for name, rows in (("topk_ids", ids), ("topk_logprobs", nats)):
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise ValueError(f"{name}: expected a list of lists, one for each completion token")
    if len(ids) != len(nats) or any(map(_unequal, ids, nats)):
        raise ValueError("topk_ids and topk_logprobs differ in length")
    if not all(type(each) is int and abs(each) < 2**31 for each in chain.from_iterable(ids)):
        raise ValueError("topk_ids: expected token ids, which are whole numbers below 2**31")
    width = max(map(len, ids), default=0)
    id_table = np.full((len(ids), max(width, count)), ABSENT, dtype=np.int64)
    nat_table = np.full(id_table.shape, -np.inf)
    for place, (some, theirs) in enumerate(zip(ids, nats, strict=True)):
        id_table[place, : len(some)] = some
        nat_table[place, : len(theirs)] = [_nats(each) for each in theirs]
    id_table[np.isneginf(nat_table)] = ABSENT
    _check_lists(id_table, nat_table)
    if width > count:
        order = np.argsort(-nat_table, axis=1, kind="stable")[:, :count]
        id_table, nat_table = (np.take_along_axis(each, order, 1) for each in (id_table, nat_table))
    return Lists(ids=id_table.astype(np.int32), nats=nat_table.astype(np.float32))


def _unequal(some: list[Any], others: list[Any]) -> bool:
    return len(some) != len(others)


def _nats(value: Any) -> float:
    """A log-probability; minus infinity, which JSON lacks, is null or a word."""
    if value is None or value == "-Infinity":
        return -math.inf
    if type(value) not in (int, float) or math.isnan(value):
        raise ValueError(f"topk_logprobs: expected log-probabilities, got {value!r}")
    return float(value)


def _check_lists(ids: NDArray[np.int64], nats: NDArray[np.float64]) -> None:
    if (nats > LARGEST_NATS).any():
        place, entry = np.argwhere(nats > LARGEST_NATS)[0]
        raise ValueError(
            f"topk_logprobs[{place}]: a log-probability is at most 0, got {nats[place, entry]:g}"
        )
    mass = np.exp(nats).sum(axis=1)
    if (mass > LARGEST_MASS).any():
        place = int(np.argmax(mass > LARGEST_MASS))
        raise ValueError(f"topk_logprobs[{place}]: the probabilities sum to {mass[place]:.4f}")
    ordered = np.sort(ids, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != ABSENT)
    if twice.any():
        place, entry = np.argwhere(twice)[0]
        raise ValueError(f"topk_ids[{place}]: the id {ordered[place, entry]} is there twice")
    if (ids < ABSENT).any() or ((ids == ABSENT) & ~np.isneginf(nats)).any():
        raise ValueError("topk_ids: an id is below 0")


def trace_ids(trace: Trace, tokenizer: Tokenizer) -> TraceIds:
    """A trace as ids. A text gets its end token; ids are taken as they are.

    A ValueError says what does not fit together.
    """
    given = trace.completion
    if given is None:
        completion: tuple[int, ...] = ()
    else:
        completion = ended("completion", given, tokenizer) if isinstance(given, str) else given
    _require_known("completion_ids", completion, tokenizer)
    lists = trace.lists
    if lists is not None:
        if len(lists) != len(completion):
            end = ", the end token among them" if isinstance(given, str) else ""
            raise ValueError(
                f"topk_ids: the completion has {len(completion)} tokens{end}, and {len(lists)} "
                "have a list"
            )
        _require_known("topk_ids", lists.ids[lists.ids != ABSENT].tolist(), tokenizer)
    return TraceIds(prompt=trace.prompt.ids(tokenizer), completion=completion, lists=lists)


def _require_known(name: str, ids: Sequence[int], tokenizer: Tokenizer) -> None:
    if ids and not 0 <= min(ids) <= max(ids) < tokenizer.vocabulary:
        wrong = next(each for each in ids if not 0 <= each < tokenizer.vocabulary)
        raise LimiteError(
            f"{name}: the id {wrong} is outside the vocabulary of {tokenizer.vocabulary}"
        )


def fitted_trace(
    trace: TraceIds, max_tokens: int, counts: Counts, *, room: int = 1
) -> TraceIds | None:
    """The trace within ``max_tokens``, cut at the end; None where its prompt leaves no ``room``."""
    counts.read += 1
    left = max_tokens - len(trace.prompt)
    if left < room:
        counts.dropped += 1
        return None
    counts.cut += len(trace.completion) > left
    lists = trace.lists
    if lists is not None:
        lists = Lists(ids=lists.ids[:left], nats=lists.nats[:left])
    return attrs.evolve(trace, completion=trace.completion[:left], lists=lists)


def told(counts: Counts, max_tokens: int) -> str:
    """What became of the traces of a file, in one line."""
    return counts.told("traces", max_tokens, "no completion")
