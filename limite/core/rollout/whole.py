"""Refuses what no learner may be given: broken records, groups in pieces, groups twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from limite.core.errors import LimiteError
from limite.core.rollout.budget import check_response
from limite.core.types import Group, Problem, Response


def check_records(
    sampled: Iterable[tuple[Problem, Sequence[Response]]],
    *,
    eos_ids: Collection[int],
    context: int,
) -> None:
    """Holds responses, about to be scored, to the rules they were made by; a LimiteError says which
    one is broken."""
    for problem, responses in sampled:
        for response in responses:
            if response.problem_id != problem.id:
                raise LimiteError(
                    f"response {response.sample_index} to problem {response.problem_id} is "
                    f"refused: it is scored as one to problem {problem.id}"
                )
            check_response(response, eos_ids=eos_ids, context=context)


def check_groups(groups: Iterable[Group], size: int) -> None:
    """Refuses a batch in which a group is not whole: ``size`` responses to one problem, in order.

    A group in two pieces would have two baselines, and could be dealt to two updates.
    """
    # The same samples of a problem may come from two steps, where a schedule carries some over.
    seen: set[int] = set()
    for group in groups:
        problem = group.problem.id
        indexes = [response.sample_index for response in group.responses]
        first = indexes[0] if indexes else 0
        if indexes != list(range(first, first + size)) or first % size:
            raise LimiteError(
                f"the rollout schedule splits a group: that of problem {problem} comes with the "
                f"samples {indexes}, where {size} in a row belong together"
            )
        if not seen.isdisjoint(map(id, group.responses)):
            raise LimiteError(
                f"the rollout schedule gives the group of problem {problem} with the samples "
                f"{indexes} twice"
            )
        seen.update(map(id, group.responses))
