"""Questions that are answered by yes or no must not be won by always saying the same."""

from __future__ import annotations

import collections
import random

import pytest

from limite.core.discover import load_registry

NAMES = (
    "degree-sequence",
    "finite-automaton",
    "graph-parts",
    "heap-games",
    "independent-events",
    "knights-and-knaves",
    "logical-equivalence",
    "permutation-powers",
    "relations",
    "series-convergence",
    "set-operations",
    "syllogisms",
    "triangle-kinds",
    "truth-value",
)


@pytest.mark.parametrize("difficulty", [0.0, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_yes_and_no_are_about_as_likely(name: str, difficulty: float) -> None:
    family = load_registry().get("generator", name).load()()
    rng = random.Random(20)
    answers: dict[str, list[bool]] = collections.defaultdict(list)
    for _ in range(900):
        problem = family.sample(rng, difficulty)
        if problem.answer.type == "boolean":
            ask, _ = family.wordings.read(problem.problem)
            answers[ask].append(problem.answer.value == "true")
    shares = {ask: sum(said) / len(said) for ask, said in answers.items() if len(said) >= 50}
    assert all(0.35 <= share <= 0.65 for share in shares.values()), shares
