"""Draws problems of a mixture, each addressed by name, from one side of the held-out split."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, cast

import attrs

from limite.core.errors import LimiteError, sentence
from limite.core.kinds import Arm, Generator
from limite.core.recipe.stages import Eval, Mix
from limite.core.seeds import Name, Seeds
from limite.core.separation import SHARE, is_held_out, text_hash
from limite.core.types import Problem

if TYPE_CHECKING:
    from limite.core.registry import Registry

# At the smallest useful share, 5%, this many draws miss the held-out side once in 10**22 times.
TRIES = 1000


class ProblemSource:
    """The problems of one stage.

    ``arms`` are the kinds of problem there are: each generator of the mixture at each level.
    ``draw`` is a pure function of the seeds and the names it is given, so any problem can be drawn
    again, in any order. Where ``held_out`` is set all problems come from the part kept for
    evaluation, elsewhere none does.
    """

    def __init__(
        self,
        mix: Mix,
        registry: Registry,
        seeds: Seeds,
        held_out: bool,
        *,
        share: float = SHARE,
    ) -> None:
        self.seeds = seeds
        self.held_out = held_out
        self.share = share
        self.arms: Sequence[Arm] = arms(mix)
        loaded = {name: _made(name, registry) for name, weight in mix.sources.items() if weight}
        self._generators: Sequence[Generator] = [
            loaded[arm.name.rpartition("@")[0]] for arm in self.arms
        ]

    def draw(self, arm: int, *names: Name) -> Problem:
        """The problem of arm number ``arm`` that ``names`` stand for; repeats are possible.

        ``problem.meta["arm"]`` is the name of the arm.
        """
        kind, generator = self.arms[arm], self._generators[arm]
        stream = self.seeds.stream("problem", kind.name, *names)
        low, high = kind.difficulty
        for _ in range(TRIES):
            difficulty = low + (high - low) * stream.random()
            try:
                problem = generator.sample(stream, min(difficulty, high))
                fits = is_held_out(problem.problem, self.share) == self.held_out
            except Exception as error:  # a generator may be anyone's
                raise LimiteError(f"{self._cell(kind)}: {sentence(error)}") from error
            if fits:
                return attrs.evolve(problem, meta={**problem.meta, "arm": kind.name})
        raise LimiteError(
            f"{self._cell(kind)}: none of {TRIES:,} problems belongs to the {self._side()}; "
            "there are too few distinct ones, so widen 'difficulty' or use fewer 'levels'"
        )

    def distinct(self, count: int, *names: Name, without: Collection[str] = ()) -> list[Problem]:
        """``count`` problems with no two alike, going round the arms by weight.

        The first problems of a longer list are those of a shorter one. Texts whose hashes are in
        ``without`` are left out.
        """
        seen: set[str] = set()
        drawn = [0] * len(self.arms)
        found = [0] * len(self.arms)
        problems = []
        for arm in rotation([arm.weight for arm in self.arms], count):
            for _ in range(TRIES):
                problem = self.draw(arm, *names, drawn[arm])
                drawn[arm] += 1
                if problem.id not in seen and not (
                    without and text_hash(problem.problem) in without
                ):
                    break
            else:
                raise LimiteError(
                    f"{self._cell(self.arms[arm])}: only {found[arm]:,} distinct problems found "
                    f"in the {self._side()}, and {count:,} of the whole mixture are wanted; "
                    "widen 'difficulty', add a generator, or ask for fewer"
                )
            seen.add(problem.id)
            found[arm] += 1
            problems.append(problem)
        return problems

    def _cell(self, arm: Arm) -> str:
        low, high = arm.difficulty
        return f"{arm.name.rpartition('@')[0]} at difficulty {low:g} to {high:g}"

    def _side(self) -> str:
        return f"{self.share:.0%} held out" if self.held_out else "part not held out"


def _made(name: str, registry: Registry) -> Generator:
    """The generator with its default settings."""
    cls = registry.get("generator", name).load()
    try:
        return cast(Generator, cls())
    except Exception as error:
        message = f"the generator {name!r} cannot be made: {sentence(error)}"
        raise LimiteError(message) from error


def held_out_problems(stage: Eval, registry: Registry, seeds: Seeds) -> list[Problem]:
    """What an evaluation asks: a function of its mixture, its count and its streams alone."""
    source = ProblemSource(stage.problems, registry, seeds.child("problems"), held_out=True)
    return source.distinct(stage.count)


def arms(mix: Mix) -> list[Arm]:
    """Each generator of the mixture at each level, named like ``gcd@0.25-0.5``.

    A generator's weight is shared evenly by its levels; one of weight 0 is left out.
    """
    low, high = mix.difficulty
    edges = [low + (high - low) * level / mix.levels for level in range(mix.levels)] + [high]
    return [
        Arm(
            name=f"{name}@{start:.4g}-{stop:.4g}",
            weight=weight / mix.levels,
            difficulty=(start, stop),
        )
        for name, weight in mix.sources.items()
        if weight
        for start, stop in itertools.pairwise(edges)
    ]


def rotation(weights: Sequence[float], count: int) -> list[int]:
    """``count`` indexes, each as often as its weight asks, as evenly spread as can be.

    At every point no index is a whole turn away from its share.
    """
    total = sum(weights)
    taken = [0] * len(weights)
    order = []
    for turn in range(1, count + 1):
        pick = max(
            range(len(weights)), key=lambda index: turn * weights[index] / total - taken[index]
        )
        taken[pick] += 1
        order.append(pick)
    return order
