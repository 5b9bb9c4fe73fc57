"""Gate: sampling ahead, with and without overlap, gives what turn-taking gives.

Under either schedule the first batch is the start policy's. Ahead of the updates, overlapping the
learner changes when a batch is sampled and nothing else.
"""

from __future__ import annotations

import attrs

from limite.core.actor.turns import AFTER_UPDATE, BEFORE_UPDATE
from limite.core.recipe.admit.canary import Bench
from limite.core.recipe.admit.report import Gate
from limite.core.recipe.admit.small_run import (
    Left,
    differing_entries,
    differing_tensors,
    left_by,
    run_small,
)
from limite.core.recipe.admit.tolerances import verdict


def schedule(bench: Bench) -> Gate:
    """Three small runs: after updates, before them, and before them with overlap."""

    def run(folder: str, turns: str, *, overlap: bool) -> Left:
        stage = attrs.evolve(
            bench.stage, rollout_prefetch_schedule=turns, overlap_actor_learner=overlap
        )
        return left_by(run_small(bench, folder, stage).directory)

    after = run("after-update", AFTER_UPDATE, overlap=False)
    before = run("before-update", BEFORE_UPDATE, overlap=False)
    overlapping = run("overlapping", BEFORE_UPDATE, overlap=True)
    first = min(after.rollouts)
    batches = [each.rollouts[first] for each in (after, before, overlapping)]
    tensors = differing_tensors(before, overlapping)
    states = differing_entries(before.state, overlapping.state)
    rollouts = differing_entries(before.rollouts, overlapping.rollouts)
    return Gate(
        name="schedule",
        verdicts=[
            verdict(
                "schedule/first_batch_differing_bytes",
                sum(each != batches[0] for each in batches[1:]),
            ),
            verdict("schedule/overlap_differing_rollouts", len(rollouts)),
            verdict("schedule/overlap_differing_tensors", len(tensors)),
            verdict("schedule/overlap_differing_states", len(states)),
        ],
        recorded={
            "batches": len(before.rollouts),
            "updates": before.updates,
            "differing": {"rollouts": rollouts, "tensors": tensors, "states": states},
        },
    )
