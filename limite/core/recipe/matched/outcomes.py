"""Whether what a stage trains on hangs on what its model solves: variants would then differ in it.

A curriculum is asked, not believed: two of one seed are told different outcomes, and must go on to
choose the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError
from limite.core.kinds import Curriculum
from limite.core.recipe.matched.settings import Matched
from limite.core.recipe.problem_source import arms as arms_of
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.single_problems import SingleProblems, chooses_problems
from limite.core.recipe.stages import RL
from limite.core.registry import Registry

_STEPS = 4
_DRAWN = 64


def outcome_faults(matched: Matched, recipe: Recipe, registry: Registry) -> Iterator[Fault]:
    """Stages of a variant that choose by outcomes, unless that is what is compared."""
    for name, stage in recipe.stages.items():
        if not isinstance(stage, RL):
            continue
        for field, wrong in (
            ("curriculum", follows_outcomes(stage)),
            ("rollout_schedule", getattr(type(stage.rollout_schedule), "leaves_out", False)),
        ):
            if not wrong or f"stages.{name}.{field}" in matched.varies:
                continue
            called = registry.name_of(type(getattr(stage, field)))
            instead = "'uniform'" if field == "curriculum" else "'complete-episodes'"
            does = "chooses problems" if field == "curriculum" else "keeps groups"
            message = (
                f"{called!r} {does} by what the model solves, so that variants would not learn "
                f"from the same; take {instead}"
            )
            yield Fault(("stages", name, field), message)


def follows_outcomes(stage: RL) -> bool:
    """Whether the curriculum of a stage goes on differently after other outcomes."""
    curriculum = cast(Curriculum, stage.curriculum)
    try:
        single = chooses_problems(stage)
        arms = SingleProblems(stage.problems).arms if single else arms_of(stage.problems)
        count = min(_DRAWN, max(1, len(arms) // 2)) if single else _DRAWN
        runs = [curriculum.build(arms, 0) for _ in range(2)]
        for step in range(_STEPS):
            chosen = [list(run.next(step, count)) for run in runs]
            if chosen[0] != chosen[1]:
                return True
            for number, run in enumerate(runs):
                for arm in chosen[number]:
                    # Half the arms are solved always, the others every other time.
                    run.observe(arm, [True, (arm + number) % 2 == 0] * (stage.rollouts // 2 or 1))
    except LimiteError:  # what is wrong with its files is told where they are looked at
        return False
    return False
