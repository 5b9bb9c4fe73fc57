"""What a model has solved before, as documents: right responses of earlier reinforcement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from limite.core.errors import LimiteError
from limite.core.jsonl import read_jsonl
from limite.core.recipe.rundir import ROLLOUTS
from limite.core.recipe.stages import OwnSolutions
from limite.core.rollout.store import read_groups
from limite.core.train.documents import Document
from limite.core.types import Problem, Response

if TYPE_CHECKING:
    from limite.core.recipe.context import StageContext

STYLE = "own"


def own_documents(context: StageContext, own: OwnSolutions) -> list[Document]:
    """The newest right responses that came to their own end, no two alike.

    A LimiteError where there is none.
    """
    found: dict[tuple[int, ...], Document] = {}
    of_problem: Counter[str] = Counter()
    for problem, response in right_responses(context, own):
        ids = (*response.prompt_ids, *response.completion_ids)
        if ids in found or of_problem[problem.id] >= own.per_problem:
            continue
        of_problem[problem.id] += 1
        found[ids] = Document(ids=ids, prompt_tokens=len(response.prompt_ids), style=STYLE)
        if len(found) == own.documents:
            break
    if not found:
        raise LimiteError(
            f"stages.{context.name}: {' and '.join(own.rollouts)} left no right response to learn"
        )
    problems = f"{len(of_problem):,} problems"
    context.echo(f"{context.name}: {len(found):,} own right responses, to {problems}")
    return list(found.values())


def right_responses(context: StageContext, own: OwnSolutions) -> Iterator[tuple[Problem, Response]]:
    """Batch by batch, the last first; the stages too, as the recipe has them."""
    order = [name for name in context.recipe.stages if name in own.rollouts]
    for name in reversed(order):
        folder = context.for_stage(name).directory / ROLLOUTS
        for path in sorted(folder.glob("*.jsonl.zst"), reverse=True):
            for group in read_groups(read_jsonl(path)):
                for response, right in zip(group.responses, group.correct, strict=True):
                    if right and response.finish_reason == "eos":
                        yield group.problem, response
