"""Rollout records as plain data, one line per response, and back without losing a bit.

A line holds what was asked, what was sampled with which probabilities, how it ended and what it
earned. Floats are written as Python writes them, so reading gives the very same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.types import Answer, Group, Problem, Response, Verdict

LISTS = ("topk_ids", "topk_logprobs")
"""What is written of a response only where it was recorded."""
DROPPED = "dropped"
"""Of a response that its rollout schedule left out of the batch."""
PENALTY = "penalty"
"""What length and repetition have taken off a reward, written where a stage penalises them."""
RESPONSE_FIELDS = tuple(field.name for field in attrs.fields(Response) if field.name not in LISTS)


def group_lines(groups: Iterable[Group], dropped: Iterable[Group] = ()) -> Iterator[dict[str, Any]]:
    """One line per response; ``group`` counts the groups of the batch.

    Those of ``dropped``, which were sampled and not learned from, come last and say so. The
    problem goes along in every line, without its worked solutions and what else its file said, so
    that a line can be read alone; compression makes the repetition free.
    """
    kept: list[tuple[Group, dict[str, Any]]] = [(group, {}) for group in groups]
    left_out = [(group, {DROPPED: True}) for group in dropped]
    for number, (group, mark) in enumerate([*kept, *left_out]):
        problem = attrs.asdict(group.problem)
        del problem["solutions"], problem["extra"]
        count = len(group.responses)
        verdicts: Sequence[Verdict | None] = group.verdicts or [None] * count
        penalties: Sequence[float | None] = group.penalties or [None] * count
        for response, reward, correct, verdict, penalty in zip(
            group.responses, group.rewards, group.correct, verdicts, penalties, strict=True
        ):
            line: dict[str, Any] = {"group": number, "problem": problem, **mark}
            for name in RESPONSE_FIELDS:
                value = getattr(response, name)
                line[name] = list(value) if isinstance(value, tuple) else value
            for name in LISTS:
                value = getattr(response, name)
                if value:
                    line[name] = [list(each) for each in value]
            line["reward"] = reward
            if penalty is not None:
                line[PENALTY] = penalty
            line["correct"] = correct
            line["verdict"] = None if verdict is None else attrs.asdict(verdict)
            yield line


def read_groups(lines: Iterable[Mapping[str, Any]]) -> Iterator[Group]:
    """The groups that ``group_lines`` wrote, in order; a damaged line is a LimiteError."""
    pending: list[Mapping[str, Any]] = []
    for line in lines:
        if "group" not in line:
            raise LimiteError("a rollout record lacks 'group'")
        if pending and line["group"] != pending[0]["group"]:
            yield _group(pending)
            pending = []
        pending.append(line)
    if pending:
        yield _group(pending)


def _group(lines: Sequence[Mapping[str, Any]]) -> Group:
    number = lines[0]["group"]
    try:
        problem = Problem(
            **{**lines[0]["problem"], "answer": Answer(**lines[0]["problem"]["answer"])}
        )
        verdicts = [Verdict(**line["verdict"]) for line in lines if line["verdict"] is not None]
        group = Group(
            problem=problem,
            responses=[_response(line) for line in lines],
            rewards=[line["reward"] for line in lines],
            correct=[line["correct"] for line in lines],
            verdicts=verdicts,
            penalties=tuple(line[PENALTY] for line in lines if PENALTY in line),
        )
    except (KeyError, TypeError) as error:
        raise LimiteError(f"a rollout record of group {number} is damaged: {error}") from error
    if len(group.penalties) not in (0, len(lines)):
        raise LimiteError(f"a rollout record of group {number} lacks {PENALTY!r} in some lines")
    if any(response.problem_id != problem.id for response in group.responses):
        raise LimiteError(f"a rollout record of group {number} names another problem")
    return group


def _response(line: Mapping[str, Any]) -> Response:
    fields = {name: line[name] for name in RESPONSE_FIELDS}
    for name in ("prompt_ids", "completion_ids", "logprobs"):
        fields[name] = tuple(fields[name])
    for name in LISTS:
        fields[name] = tuple(map(tuple, line.get(name, ())))
    return Response(**fields)
