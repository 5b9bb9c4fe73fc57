"""Draws problems of a mixture, each addressed by name, from one side of the held-out split."""

from __future__ import annotations

import importlib
import itertools
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, cast

import attrs

from limite.core.errors import LimiteError, sentence
from limite.core.kinds import Arm, Generator
from limite.core.recipe.problem_files import only_of_files, problems_in
from limite.core.recipe.stages import Eval, Mix, file_at, is_file
from limite.core.seeds import Name, Seeds
from limite.core.separation import SHARE, is_held_out, text_hash
from limite.core.types import Problem

if TYPE_CHECKING:
    from limite.core.registry import Registry

STAGE_ASKED = "limite.evaluate.stage_asked"
"""Named as text: ``core`` knows nothing of what is above it."""

# At the smallest useful share, 5%, this many draws miss the held-out side once in 10**22 times.
TRIES = 1000


class ProblemSource:
    """The problems of one stage.

    ``arms`` are the kinds of problem there are: each generator of the mixture at each level, and
    each file as a whole.
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
        self._windows = {name: source.pass_rate for name, source in mix.entries.items()}
        self._files: dict[str, Sequence[Problem]] = {}
        loaded: dict[str, Generator] = {}
        for name, source in mix.entries.items():
            if is_file(name):
                self._files[name] = [
                    problem
                    for problem in problems_in(name, source)
                    if is_held_out(problem.problem, share) == held_out
                ]
            elif source.pass_rate is not None:
                raise LimiteError(f"'pass_rate' {only_of_files(name)}")
            else:
                loaded[name] = _made(name, registry)
        self._generators: Sequence[Generator | None] = [
            loaded.get(arm.name.rpartition("@")[0]) for arm in self.arms
        ]

    def draw(self, arm: int, *names: Name) -> Problem:
        """The problem of arm number ``arm`` that ``names`` stand for; repeats are possible.

        ``problem.meta["arm"]`` is the name of the arm.
        """
        kind, generator = self.arms[arm], self._generators[arm]
        stream = self.seeds.stream("problem", kind.name, *names)
        if generator is None:
            problems = self._files[kind.name]
            if not problems:
                raise LimiteError(f"{self._cell(kind)}: no problem belongs to the {self._side()}")
            return _of(problems[int(stream.random() * len(problems))], kind)
        low, high = kind.difficulty
        for _ in range(TRIES):
            difficulty = low + (high - low) * stream.random()
            try:
                problem = generator.sample(stream, min(difficulty, high))
                fits = is_held_out(problem.problem, self.share) == self.held_out
            except Exception as error:  # a generator may be anyone's
                raise LimiteError(f"{self._cell(kind)}: {sentence(error)}") from error
            if fits:
                return _of(problem, kind)
        raise LimiteError(
            f"{self._cell(kind)}: none of {TRIES:,} problems belongs to the {self._side()}; "
            "there are too few distinct ones, so widen 'difficulty' or use fewer 'levels'"
        )

    def distinct(
        self,
        count: int,
        *names: Name,
        without: Collection[str] = (),
        of: int | None = None,
    ) -> list[Problem]:
        """``count`` problems with no two alike, going round the arms by weight.

        The first problems of a longer list are those of a shorter one. Texts whose hashes are in
        ``without`` are left out. Where they are the first ``of`` more, errors tell those.
        """
        seen: set[str] = set()
        candidates = [self._candidates(arm, *names) for arm in range(len(self.arms))]
        found = [0] * len(self.arms)
        problems = []
        for arm in rotation([arm.weight for arm in self.arms], count):
            # A file ends by itself.
            tries = None if self._is_file(arm) else TRIES
            for problem in itertools.islice(candidates[arm], tries):
                if problem.id not in seen and not (
                    without and text_hash(problem.problem) in without
                ):
                    break
            else:
                advice = "widen 'difficulty', add a generator"
                if tries is None:
                    advice = "widen its windows, lower its weight, add to it"
                raise LimiteError(
                    f"{self._cell(self.arms[arm])}: only {found[arm]:,} distinct problems found "
                    f"in the {self._side()}, and {of or count:,} of the whole mixture are wanted; "
                    f"{advice}, or ask for fewer"
                )
            seen.add(problem.id)
            found[arm] += 1
            problems.append(problem)
        return problems

    def of_file(self, arm: int) -> Sequence[Problem] | None:
        """All that an arm can give, where that is a file."""
        kind = self.arms[arm]
        return [_of(each, kind) for each in self._files[kind.name]] if self._is_file(arm) else None

    def _is_file(self, arm: int) -> bool:
        return self._generators[arm] is None

    def _candidates(self, arm: int, *names: Name) -> Iterator[Problem]:
        """Problems of an arm, always the same ones in the same order: of a file each once."""
        if not self._is_file(arm):
            for number in itertools.count():
                yield self.draw(arm, *names, number)
        kind = self.arms[arm]
        order = list(self._files[kind.name])
        self.seeds.stream("order", kind.name, *names).shuffle(order)
        for problem in order:
            yield _of(problem, kind)

    def _cell(self, arm: Arm) -> str:
        if arm.name in self._files:
            window = self._windows[arm.name]
            between = "" if window is None else f" at a pass rate of {window[0]:g} to {window[1]:g}"
            return f"{arm.name}{between}"
        low, high = arm.difficulty
        return f"{arm.name.rpartition('@')[0]} at difficulty {low:g} to {high:g}"

    def _side(self) -> str:
        return f"{self.share:.0%} held out" if self.held_out else "part not held out"


def _of(problem: Problem, kind: Arm) -> Problem:
    return attrs.evolve(problem, meta={**problem.meta, "arm": kind.name})


def _made(name: str, registry: Registry) -> Generator:
    """The generator with its default settings."""
    cls = registry.get("generator", name).load()
    try:
        return cast(Generator, cls())
    except Exception as error:
        message = f"the generator {name!r} cannot be made: {sentence(error)}"
        raise LimiteError(message) from error


def held_out_problems(
    stage: Eval, registry: Registry, seeds: Seeds, *, most: int | None = None
) -> list[Problem]:
    """What an evaluation asks: a function of its mixture, its count and its streams alone.

    Of what is drawn the first ``most`` will do. Many stages of a recipe ask the same, so the last
    few are remembered.
    """
    # Files are told apart by their stamps; what cannot be read is told when it is drawn.
    stamps = [_stamp(file) for file in stage.files]
    count = stage.count if most is None else min(stage.count, most)
    terms = (repr((stage.problems, stage.suite, stage.data)), count, seeds, stamps)
    for known, theirs, problems in _ASKED:
        if known is registry and theirs == terms:
            return list(problems)
    if stage.suite is not None:
        asked = importlib.import_module(STAGE_ASKED)
        found: list[Problem] = asked.problems_of_suite(stage, registry)
    elif stage.problems is None:
        raise LimiteError("there is nothing to draw problems from")
    else:
        source = ProblemSource(stage.problems, registry, seeds.child("problems"), held_out=True)
        found = source.distinct(count, of=stage.count)
    _ASKED.append((registry, terms, tuple(found)))
    return found


_ASKED: deque[tuple[Registry, object, Sequence[Problem]]] = deque(maxlen=4)


def _stamp(file: str) -> tuple[int, ...] | None:
    try:
        about = file_at(file).stat()
    except OSError:
        return None
    return (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


def arms(mix: Mix) -> list[Arm]:
    """Each generator of the mixture at each level, named like ``gcd@0.25-0.5``, and each file.

    A generator's weight is shared evenly by its levels; one of weight 0 is left out.
    """
    found = []
    for name, source in mix.entries.items():
        if is_file(name):
            difficulty = source.difficulty or (0.0, 1.0)
            found.append(Arm(name=name, weight=source.weight, difficulty=difficulty))
            continue
        low, high = source.difficulty or mix.difficulty
        edges = [low + (high - low) * level / mix.levels for level in range(mix.levels)] + [high]
        found += [
            Arm(
                name=f"{name}@{start:.4g}-{stop:.4g}",
                weight=source.weight / mix.levels,
                difficulty=(start, stop),
            )
            for start, stop in itertools.pairwise(edges)
        ]
    return found


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
