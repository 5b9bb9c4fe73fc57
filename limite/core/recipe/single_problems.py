"""The problems of files, each one an arm of its own, for curricula that choose them."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from limite.core.errors import LimiteError
from limite.core.kinds import Arm
from limite.core.recipe.problem_files import problems_in
from limite.core.recipe.stages import RL, Mix, is_file
from limite.core.seeds import Name
from limite.core.separation import is_held_out, text_hash
from limite.core.types import Problem


def chooses_problems(stage: RL) -> bool:
    """Whether the curriculum of a stage chooses single problems, and not kinds of them."""
    return bool(getattr(type(stage.curriculum), "of_problems", False))


class SingleProblems:
    """Every problem of a mixture's files that is not held out, each text once.

    ``arms`` are the problems, in the order of the entries and of their lines. The weight of a file
    is shared evenly by its problems; one that stands in several files has the shares of all.
    """

    def __init__(self, mix: Mix) -> None:
        found: dict[str, Arm] = {}
        problems: dict[str, Problem] = {}
        for name, source in mix.entries.items():
            if not is_file(name):
                raise LimiteError(not_a_file(name))
            own = [each for each in problems_in(name, source) if not is_held_out(each.problem)]
            if not own:
                raise LimiteError(f"{name}: no problem belongs to the part not held out")
            for problem in own:
                key = text_hash(problem.problem)
                rate = problem.difficulty.get("pass_rate")
                arm = Arm(
                    name=f"{name}#{key}",
                    weight=source.weight / len(own),
                    difficulty=(0.0, 1.0),
                    files=(name,),
                    pass_rate=float(rate) if isinstance(rate, (int, float)) else None,
                )
                known = found.get(key)
                if known is not None:
                    # Unlike in one file, as it is no copy that a file has by mistake.
                    arm = attrs.evolve(
                        known,
                        weight=known.weight + arm.weight,
                        files=tuple(dict.fromkeys((*known.files, name))),
                        pass_rate=arm.pass_rate if known.pass_rate is None else known.pass_rate,
                    )
                else:
                    problems[key] = attrs.evolve(problem, meta={**problem.meta, "arm": name})
                found[key] = arm
        self.arms: Sequence[Arm] = list(found.values())
        self._problems: Sequence[Problem] = list(problems.values())

    def draw(self, arm: int, *_names: Name) -> Problem:
        """The problem that is arm number ``arm``; ``problem.meta["arm"]`` names its first file."""
        return self._problems[arm]


def not_a_file(name: str) -> str:
    """Why a generator is nothing for a curriculum of single problems."""
    return (
        f"{name!r} makes problems without end, and the 'curriculum' chooses among single ones; "
        "write some to a file with `limite-gen make`, or take the curriculum 'pass-rate'"
    )
