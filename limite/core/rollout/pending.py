"""A whole batch as plain data and back, nothing left out: what a checkpoint keeps of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.kinds import Batch
from limite.core.types import Answer, Group, Problem, Response, Verdict


def packed(batch: Batch) -> dict[str, Any]:
    """The batch as mappings, lists, tuples, text and numbers; see ``unpacked``."""
    return attrs.asdict(batch)


def unpacked(data: Mapping[str, Any]) -> Batch:
    """The batch that ``packed`` was given. What is no such data is a LimiteError."""
    try:
        return Batch(
            **{
                **data,
                "groups": [_group(each) for each in data["groups"]],
                "dropped": [_group(each) for each in data["dropped"]],
            }
        )
    except (KeyError, TypeError) as error:
        raise LimiteError(f"the pending batch is damaged: {error}") from error


def _group(data: Mapping[str, Any]) -> Group:
    problem = data["problem"]
    return Group(
        **{
            **data,
            "problem": Problem(**{**problem, "answer": Answer(**problem["answer"])}),
            "responses": [Response(**each) for each in data["responses"]],
            "verdicts": [Verdict(**each) for each in data["verdicts"]],
        }
    )
