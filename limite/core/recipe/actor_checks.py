"""Whether sampling and learning can take turns the way a stage wants it."""

from __future__ import annotations

from collections.abc import Iterator

from limite.core.actor.turns import AFTER_UPDATE, BEFORE_UPDATE
from limite.core.config_faults import Fault
from limite.core.recipe.stages import RL


def turn_faults(stage: RL) -> Iterator[Fault]:
    """What ``rollout_prefetch_schedule``, ``overlap_actor_learner`` and ``max_policy_lag`` say."""
    schedule = stage.rollout_prefetch_schedule
    if schedule == AFTER_UPDATE and stage.overlap_actor_learner:
        yield Fault(
            ("overlap_actor_learner",),
            f"needs rollout_prefetch_schedule = {BEFORE_UPDATE!r}: with {AFTER_UPDATE!r} a batch "
            "waits for the policy that the update before it leaves",
        )
    updates = stage.off_policy_updates + 1
    ahead, late = int(schedule == BEFORE_UPDATE), batches_late(stage)
    least = (ahead + late) * updates
    if stage.max_policy_lag >= least:
        return
    of_updates = f"{updates} update{'s' * (updates > 1)}"
    why = []
    if ahead:
        why.append(
            f"with rollout_prefetch_schedule = {BEFORE_UPDATE!r}, as a batch then comes from "
            f"before the {of_updates} of the one before it"
        )
    if late:
        why.append(
            f"with this 'rollout_schedule', whose groups may come {late} "
            f"batch{'es' * (late > 1)} late, of {of_updates} each"
        )
    yield Fault(
        ("max_policy_lag",),
        f"must be at least {least} {', and '.join(why)}, got {stage.max_policy_lag}",
    )


def batches_late(stage: RL) -> int:
    """By how many batches a response may come later than the one it was begun for."""
    schedule = stage.rollout_schedule
    if not getattr(schedule, "carries_over", False):
        return 0
    return int(getattr(schedule, "most_batches_late", 1))
