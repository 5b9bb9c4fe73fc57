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
    if schedule == BEFORE_UPDATE and stage.max_policy_lag < updates:
        yield Fault(
            ("max_policy_lag",),
            f"must be at least {updates} with rollout_prefetch_schedule = {BEFORE_UPDATE!r}, as a "
            f"batch then comes from before the {updates} update{'s' * (updates > 1)} of the one "
            f"before it, got {stage.max_policy_lag}",
        )
