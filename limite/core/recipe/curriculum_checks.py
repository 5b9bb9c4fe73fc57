"""Whether a curriculum can choose among what its stage draws from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, sentence
from limite.core.kinds import Curriculum
from limite.core.recipe.single_problems import SingleProblems, chooses_problems, not_a_file
from limite.core.recipe.stages import RL, is_file


def curriculum_faults(stage: RL) -> Iterator[Fault]:
    """A curriculum of single problems needs files, enough of them, and what its settings name."""
    curriculum = cast(Curriculum, stage.curriculum)
    kind: Any = type(curriculum)
    settings = attrs.fields(kind) if attrs.has(kind) else ()
    lacking = any(not hasattr(curriculum, each.name) for each in settings)  # told already
    if lacking or not chooses_problems(stage):
        return
    generators = [name for name in stage.problems.entries if not is_file(name)]
    for name in generators:
        yield Fault(("problems", "sources", name), not_a_file(name))
    if generators:
        return
    try:
        arms = SingleProblems(stage.problems).arms
    except LimiteError:  # what is wrong with a file is told where files are looked at
        return
    try:
        curriculum.build(arms, 0)
    except Exception as error:  # whatever a component raises is a mistake in it
        yield Fault(("curriculum",), sentence(error))
    most_groups = getattr(stage.rollout_schedule, "most_groups", None)
    most = stage.groups if most_groups is None else int(most_groups(stage.groups))
    if most > len(arms):
        asked = f"got {stage.groups:,}"
        if most != stage.groups:
            asked = f"and with this 'rollout_schedule' {stage.groups:,} groups may be {most:,}"
        yield Fault(
            ("groups",) if most == stage.groups else ("rollout_schedule",),
            f"must be at most {len(arms):,} groups, as many problems as there are to train on: the "
            f"'curriculum' asks none twice for a batch, {asked}",
        )
