"""Texts that a stage trains on and a later one asks as problems: told before anything runs.

Generators draw for training and for evaluation from two parts that share no text. A file may hold
anything, so what files say is compared with the very problems that later stages will ask.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import attrs

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, sentence
from limite.core.jsonl import read_jsonl
from limite.core.recipe.problem_checks import ASKED
from limite.core.recipe.problem_source import held_out_problems
from limite.core.recipe.recipe import Recipe, evaluation_seeds
from limite.core.recipe.stages import Eval, FitCritic, Probe, Soup, Stage, files_at
from limite.core.recipe.tasting import asked_of, drawn_problems
from limite.core.registry import Registry
from limite.core.separation import text_hash
from limite.core.types import Problem

SHOWN = 3


class Question(NamedTuple):
    """A problem that a stage asks."""

    stage: str
    text: str
    answer: str = ""


@attrs.define(kw_only=True, eq=False)
class Watch:
    """Looks out for problems that stages after one ask, in what that one trains on."""

    asked: Mapping[str, Question]
    """By the hash of the normalised text."""
    met: dict[str, Question] = attrs.field(factory=dict)

    def see(self, hashes: Iterable[str]) -> None:
        """Takes note of texts that are trained on."""
        for each in hashes:
            if each in self.asked:
                self.met.setdefault(each, self.asked[each])

    def faults(self, *path: str | int, where: str) -> Iterator[Fault]:
        """One for each stage that asks what ``where`` holds."""
        by_stage: dict[str, list[str]] = {}
        for question in self.met.values():
            by_stage.setdefault(question.stage, []).append(question.text)
        for stage, texts in by_stage.items():
            examples = ", ".join(map(repr, sorted(texts)[:SHOWN]))
            count = "1 problem" if len(texts) == 1 else f"{len(texts):,} problems"
            message = (
                f"{where} trains on {count} that {stage!r} asks, such as {examples}; leave them "
                "out of it, or that score would not mean ability"
            )
            yield Fault(path, message)


@attrs.define(kw_only=True, eq=False)
class Questions:
    """The problems that the stages of a recipe ask, each drawn once and only if wanted."""

    recipe: Recipe
    registry: Registry
    drawn: dict[str, Mapping[str, Question]] = attrs.field(factory=dict)
    probed: dict[str, Mapping[str, Question]] = attrs.field(factory=dict)
    most: int = ASKED
    """The problems of an evaluation that are looked at."""

    def after(self, name: str) -> Watch:
        """Looks out for what the stages after one ask."""
        names = list(self.recipe.stages)
        asked: dict[str, Question] = {}
        for later in names[names.index(name) + 1 :]:
            for key, question in self.of(later).items():
                asked.setdefault(key, question)
        return Watch(asked=asked)

    def with_probes(self, name: str) -> Watch:
        """The same, and for what the probes of this stage and of those after it ask."""
        names = list(self.recipe.stages)
        asked = dict(self.after(name).asked)
        for later in names[names.index(name) :]:
            for key, question in self.of_probe(later).items():
                asked.setdefault(key, question)
        return Watch(asked=asked)

    def of_probe(self, name: str) -> Mapping[str, Question]:
        """The problems that decide when a stage ends; none, where they cannot be drawn."""
        if name not in self.probed:
            problems: Iterable[Problem] = ()
            rule = getattr(self.recipe.stages[name], "stop_when", None)
            probe = getattr(rule, "probe", None)
            if isinstance(probe, Probe):
                with contextlib.suppress(LimiteError, AttributeError):
                    problems = drawn_problems(self.recipe, name, probe, self.registry)
            self.probed[name] = _questions(f"{name}.stop_when.probe", problems)
        return self.probed[name]

    def of(self, name: str) -> Mapping[str, Question]:
        """The problems of a stage; none, where they cannot be drawn, which is told elsewhere."""
        if name not in self.drawn:
            problems: Iterable[Problem] = ()
            with contextlib.suppress(LimiteError, AttributeError):
                problems = self._problems(name, self.recipe.stages[name])
            self.drawn[name] = _questions(name, problems)
        return self.drawn[name]

    def _problems(self, name: str, stage: Stage) -> Iterable[Problem]:
        if isinstance(stage, Eval):
            few = attrs.evolve(stage, count=min(stage.count, self.most))
            seeds = evaluation_seeds(self.recipe, name)
            return held_out_problems(few, self.registry, seeds)
        if isinstance(stage, Soup) and stage.greedy is not None:
            found: Iterable[Problem] = asked_of(
                self.recipe, name, stage.greedy, self.registry
            ).problems
            return found
        return ()


def _questions(asker: str, problems: Iterable[Problem]) -> dict[str, Question]:
    return {
        text_hash(each.problem): Question(asker, each.problem, each.answer.value)
        for each in problems
    }


def rollout_overlap_faults(stage: FitCritic, watch: Watch) -> Iterator[Fault]:
    """Problems in the rollout files of a critic; files that cannot be read are told as well."""
    for number, given in enumerate(stage.rollout_files if watch.asked else ()):
        own = attrs.evolve(watch, met={})
        path = ("rollout_files", number)
        for file in files_at(Path(given)):
            try:
                own.see(text_hash(line["problem"]["problem"]) for line in read_jsonl(file))
            except LimiteError as error:
                yield Fault(path, str(error))
            except (KeyError, TypeError) as error:
                yield Fault(path, f"{file}: not a record of responses: {sentence(error)}")
        yield from own.faults(*path, where=given)


def soup_overlap_faults(name: str, stage: Soup, questions: Questions) -> Iterator[Fault]:
    """Problems of a file that chooses a soup and is asked again later."""
    if stage.greedy is None or stage.greedy.benchmark is None:
        return
    watch = questions.after(name)
    watch.see(questions.of(name))
    for fault in watch.faults("greedy", "benchmark", where=stage.greedy.benchmark):
        message = fault.message.replace(" trains on ", " chooses models by ", 1)
        yield attrs.evolve(fault, message=message)
