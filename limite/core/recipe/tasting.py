"""What a greedy soup is chosen by: the problems that its averages are asked, and their scores."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from limite.core.errors import LimiteError
from limite.core.model.decoder import Decoder
from limite.core.pretrained.soup_greedy import Measure, Score
from limite.core.recipe.problem_source import ProblemSource, held_out_problems
from limite.core.recipe.recipe import Recipe, evaluation_seeds, stage_seeds
from limite.core.recipe.stages import Eval, Greedy, Probe
from limite.core.registry import Registry
from limite.core.separation import text_hash
from limite.core.tokenizer import Tokenizer
from limite.core.types import Problem

BENCHMARK = ("limite.evaluate.benchmark", "Benchmark")
"""Named as text: ``core`` knows nothing of what is above it."""


class Asked(Protocol):
    """Problems and the terms on which they are asked."""

    @property
    def problems(self) -> Any: ...

    def measure(
        self, decoder: Decoder, tokenizer: Tokenizer, /
    ) -> tuple[dict[str, Any], list[Any]]: ...


def benchmark() -> Any:
    """The class of a file of problems that models are measured on."""
    return getattr(importlib.import_module(BENCHMARK[0]), BENCHMARK[1])


def asked_of(recipe: Recipe, name: str, greedy: Greedy, registry: Registry) -> Asked:
    """What the averages of a stage are asked, always the same."""
    terms = {
        "samples": greedy.samples,
        "max_tokens": greedy.max_tokens,
        "temperature": greedy.temperature,
        "verifier": greedy.verifier,
        # Below 2**53, which every reader of JSON keeps.
        "seed": stage_seeds(recipe, name).integer("responses") >> 11,
    }
    if greedy.benchmark is not None:
        found: Asked = benchmark().read(greedy.benchmark, **terms)
        return found
    made: Asked = benchmark()(problems=drawn_problems(recipe, name, greedy, registry), **terms)
    return made


def drawn_problems(
    recipe: Recipe, name: str, wanted: Greedy | Probe, registry: Registry
) -> list[Problem]:
    """Held-out problems that no evaluation of the recipe asks: those must not choose the model."""
    if wanted.problems is None:
        raise LimiteError("there is nothing to draw problems from")
    seeds = stage_seeds(recipe, name).child("problems")
    source = ProblemSource(wanted.problems, registry, seeds, held_out=True)
    elsewhere = {
        text_hash(problem.problem)
        for other, stage in recipe.stages.items()
        if isinstance(stage, Eval)
        for problem in held_out_problems(stage, registry, evaluation_seeds(recipe, other))
    }
    return source.distinct(wanted.count, without=elsewhere)


def measuring(
    make: Callable[[tuple[float, ...]], Decoder],
    count: int,
    asked: Asked,
    tokenizer: Tokenizer,
    terms: dict[str, Any],
) -> Measure:
    """Measures uniform averages of some of ``count`` models; ``terms`` gets those of the last."""

    def measure(chosen: tuple[int, ...]) -> Score:
        shares = tuple(1 / len(chosen) if each in chosen else 0.0 for each in range(count))
        results, _ = asked.measure(make(shares), tokenizer)
        terms.update(results)
        low, high = results["interval"]
        return Score(correct=results["correct"], total=results["total"], interval=(low, high))

    return measure


def greedy_record(tried: Mapping[str, Any], terms: Mapping[str, Any]) -> dict[str, Any]:
    """What a soup's receipt says of how it was chosen."""
    return {
        "method": "greedy",
        "greedy": dict(tried),
        "protocol": terms["protocol"],
        "scope": terms["scope"],
    }
