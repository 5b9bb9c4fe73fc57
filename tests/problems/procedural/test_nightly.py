"""Thousands of problems of every family, solved again from their texts alone and judged.

``pytest -n0 -m nightly tests/problems/procedural/test_nightly.py`` runs it; ``LIMITE_NIGHTLY_SEED``
gives other problems.
"""

from __future__ import annotations

import os

import pytest

from limite.core.discover import load_registry
from limite.core.jsonl import loads
from limite.problems.gen.candidate import Maker
from limite.problems.gen.families import Share, class_of

DIFFICULTIES = [step / 9 for step in range(10)]
COUNT = 1_000
BY_OTHERS = 10
"""Problems that only another library's scorer can judge, with computer algebra."""

TOGETHER = 10
SEED = int(os.environ.get("LIMITE_NIGHTLY_SEED", "0"))


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(load_registry().names("generator")))
def test_a_thousand_problems_at_each_of_ten_difficulties(name: str) -> None:
    refused = []
    count = BY_OTHERS if getattr(class_of(name), "method", "") == "checker" else COUNT
    for difficulty in DIFFICULTIES:
        share = Share(name=name, difficulty=(difficulty, difficulty))
        maker = Maker(share, SEED, "mathematics")
        made = [
            each
            for first in range(0, count, TOGETHER)
            for each in maker.make(range(first, first + TOGETHER))
        ]
        assert len(made) == count
        refused += [loads(line) for _, line, by in made if by]
    assert not refused, f"{len(refused)} refused, such as {refused[0]}"
