"""A whole batch as plain data and arrays, and back: what a checkpoint keeps of one.

Tokens and their log-probabilities are by far the most of it. Those of all responses lie end to end
in arrays, beside how many each response has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import attrs
import numpy as np
import torch
from torch import Tensor

from limite.core.errors import LimiteError
from limite.core.rollout_kinds import Batch
from limite.core.types import Answer, Group, Problem, Response, Verdict

COLUMNS = "columns"
FLAT = ("prompt_ids", "completion_ids", "logprobs")
LISTS = ("topk_ids", "topk_logprobs")
IDS = frozenset(("prompt_ids", "completion_ids", "topk_ids"))


def packed(batch: Batch) -> dict[str, Any]:
    """The batch as mappings, lists, tuples, text, numbers and, under ``columns``, tensors."""
    groups = [*batch.groups, *batch.dropped]
    responses = [response for group in groups for response in group.responses]
    kept = [attrs.asdict(_without_columns(group)) for group in groups]
    for each in (response for group in kept for response in group["responses"]):
        for name in (*FLAT, *LISTS):
            del each[name]
    rest = attrs.asdict(attrs.evolve(batch, groups=(), dropped=()))
    count = len(batch.groups)
    columns = _columns(responses)
    return {**rest, "groups": kept[:count], "dropped": kept[count:], COLUMNS: columns}


def unpacked(data: Mapping[str, Any]) -> Batch:
    """The batch that ``packed`` was given. What is no such data is a LimiteError.

    A batch without ``columns`` holds everything in its responses, as it did in older checkpoints.
    """
    fields = dict(data)
    try:
        found = fields.pop(COLUMNS, None)
        rows = None if found is None else _rows(found)
        groups = [_group(each, rows) for each in data["groups"]]
        dropped = [_group(each, rows) for each in data["dropped"]]
        if rows is not None and next(rows, None) is not None:
            raise ValueError("it holds tokens of more responses than there are")
        return Batch(**{**fields, "groups": groups, "dropped": dropped})
    except (KeyError, TypeError, ValueError) as error:
        raise LimiteError(f"the pending batch is damaged: {error}") from error


def _without_columns(group: Group) -> Group:
    nothing: dict[str, Any] = dict.fromkeys((*FLAT, *LISTS), ())
    bare = [attrs.evolve(response, **nothing) for response in group.responses]
    return attrs.evolve(group, responses=bare)


def _columns(responses: Sequence[Response]) -> dict[str, Tensor]:
    """Each sequence of all responses end to end, and how many of it each of them has.

    Of lists also how long that of each position is.
    """
    found = {}
    for name in FLAT:
        values = [getattr(each, name) for each in responses]
        found[f"{name}_counts"] = _ids(map(len, values))
        found[name] = _array(name, chain.from_iterable(values))
    for name in LISTS:
        values = [getattr(each, name) for each in responses]
        found[f"{name}_counts"] = _ids(map(len, values))
        positions = list(chain.from_iterable(values))
        found[f"{name}_sizes"] = _ids(map(len, positions))
        found[name] = _array(name, chain.from_iterable(positions))
    return found


def _array(name: str, values: Iterable[float]) -> Tensor:
    if name in IDS:
        return _ids(values)
    exact = np.fromiter(values, dtype=np.float64)
    # A sampler's are of this type, a server's need not be.
    with np.errstate(over="ignore"):
        half = exact.astype(np.float32)
    return torch.from_numpy(half if np.array_equal(half, exact) else exact)


def _ids(values: Iterable[float]) -> Tensor:
    return torch.from_numpy(np.fromiter(values, dtype=np.int64).astype(np.int32, casting="unsafe"))


def _rows(columns: Mapping[str, Tensor]) -> Iterator[dict[str, Any]]:
    """The sequences of one response after the other."""
    parts = [_flat(columns, name) for name in FLAT] + [_lists(columns, name) for name in LISTS]
    for row in zip(*parts, strict=True):
        yield dict(zip((*FLAT, *LISTS), row, strict=True))


def _flat(columns: Mapping[str, Tensor], name: str, counts: str = "counts") -> list[Any]:
    values, sizes = columns[name].tolist(), columns[f"{name}_{counts}"].tolist()
    if sum(sizes) != len(values) or min(sizes, default=0) < 0:
        raise ValueError(f"{len(values)} numbers in {name!r} where {sum(sizes)} are told")
    coming = iter(values)
    return [tuple(islice(coming, size)) for size in sizes]


def _lists(columns: Mapping[str, Tensor], name: str) -> list[Any]:
    positions = _flat(columns, name, "sizes")
    counts = columns[f"{name}_counts"].tolist()
    if sum(counts) != len(positions) or min(counts, default=0) < 0:
        raise ValueError(f"{len(positions)} lists in {name!r} where {sum(counts)} are told")
    coming = iter(positions)
    return [tuple(islice(coming, count)) for count in counts]


def _group(data: Mapping[str, Any], rows: Iterator[dict[str, Any]] | None) -> Group:
    problem = data["problem"]
    responses = data["responses"]
    columns = [{}] * len(responses) if rows is None else list(islice(rows, len(responses)))
    return Group(
        **{
            **data,
            "problem": Problem(**{**problem, "answer": Answer(**problem["answer"])}),
            "responses": [
                Response(**each, **own) for each, own in zip(responses, columns, strict=True)
            ],
            "verdicts": [Verdict(**each) for each in data["verdicts"]],
        }
    )
