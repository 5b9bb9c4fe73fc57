"""Records of what a stage has sampled, one file a step: they are there, whole, as long as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from limite.core.errors import LimiteError
from limite.core.jsonl import read_jsonl
from limite.core.rollout.store import RESPONSE_FIELDS
from limite.core.types import Response

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext


def refuse_missing_rollouts(context: StageContext, steps: int) -> None:
    """Refuses to go on from ``steps`` when a record of what was sampled until then is damaged.

    Evaluations read them to make sure that no held-out problem was trained on, and people to see
    what a model learned from.
    """
    for step in range(1, steps + 1):
        place = context.run.rollout_file(context.name, step)
        try:
            for _ in read_jsonl(place):
                pass
        except LimiteError as error:
            raise LimiteError(
                f"stage {context.name!r} cannot go on, because a record of what it sampled is "
                f"missing or damaged: {error}; remove {context.directory} to run the stage again "
                "from its start"
            ) from error


def written_lines(
    traces: Sequence[int], responses: Sequence[Response], prompts: Sequence[str], *, held_out: bool
) -> list[dict[str, Any]]:
    """One line for each response that a student gave to a prompt: it was judged by no answer."""
    lines = []
    for trace, response, prompt in zip(traces, responses, prompts, strict=True):
        line: dict[str, Any] = {"trace": trace, "held_out": held_out, "prompt": prompt}
        for name in RESPONSE_FIELDS:
            if name not in ("problem_id", "sample_index"):
                value = getattr(response, name)
                line[name] = list(value) if isinstance(value, tuple) else value
        lines.append(line)
    return lines
