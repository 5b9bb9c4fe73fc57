"""Whether the responses of an RL stage make groups that its advantage can give credit to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, sentence
from limite.core.kinds import Advantage
from limite.core.recipe.load import whole
from limite.core.recipe.stages import RL
from limite.core.types import Answer, Group, Problem, Response


def dealing_faults(stage: RL) -> Iterator[Fault]:
    """Every update of a batch needs a group of its own, and contrast two responses in a group."""
    if stage.rollouts < 2 and getattr(type(stage.rollout_schedule), "needs_contrast", False):
        yield Fault(
            ("rollouts",),
            "must be at least 2 with a 'rollout_schedule' that keeps groups with right and wrong "
            f"answers, got {stage.rollouts}; 'complete-episodes' keeps all",
        )
    updates = stage.off_policy_updates + 1
    if updates > stage.groups:
        yield Fault(
            ("off_policy_updates",),
            f"must be at most {stage.groups - 1} with {stage.groups} groups, "
            f"as every update needs a group of its own, got {stage.off_policy_updates}",
        )


def advantage_faults(stage: RL) -> Iterator[Fault]:
    """Asks the advantage for the credit of a group with one right response."""
    advantage, rollouts = cast(Advantage, stage.advantage), stage.rollouts
    if not whole(advantage):
        return
    problem = Problem(problem="1+1=?", answer=Answer(type="integer", value="2"))
    responses = [
        Response(
            problem_id=problem.id,
            sample_index=index,
            prompt_ids=(1, 2),
            completion_ids=(3, 4),
            logprobs=(-0.5, -0.5),
            finish_reason="eos",
            completion_budget=2,
            policy_version=0,
            text="#2",
        )
        for index in range(rollouts)
    ]
    rewards = [1.0] + [0.0] * (rollouts - 1)
    reads_values = getattr(advantage, "needs_values", False)
    group = Group(
        problem=problem,
        responses=responses,
        rewards=rewards,
        correct=[reward > 0 for reward in rewards],
        values=[[0.5, 0.5]] * rollouts if reads_values else None,
        values_after=[0.5] * rollouts if reads_values else None,
    )
    try:
        lost = not bool(advantage(group).any())
    except (ValueError, LimiteError) as error:
        yield Fault(("rollouts",), f"the advantage cannot use groups of {rollouts}: {error}")
        return
    except Exception as error:
        yield Fault(("advantage",), f"failed on a group of {rollouts}: {sentence(error)}")
        return
    if lost:
        message = f"with groups of {rollouts} every advantage is 0, and nothing can be learned"
        yield Fault(("rollouts",), message)
