"""``limite-gen author``, called in this process as a shell would call it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from limite.core.types import Answer, Problem
from limite.problems import files
from tests.problems.author.replay import BENCHMARK, ReplayServer
from tests.problems.gen.conftest import gen as gen

TOPICS = """
answer_types = ["integer"]
[topics.multiples]
description = "sums of multiples"
"""
FAST = ("--program-seconds", 0.4, "--program-memory", 256, "--per-template", 10_000)


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    place = tmp_path / "topics.toml"
    place.write_text(TOPICS)
    return place


@pytest.fixture
def author(gen: Callable, topics: Path, tmp_path: Path):
    """Asks ``server`` for problems."""
    benchmark = tmp_path / "benchmark.jsonl"
    files.write_problems(
        benchmark, [Problem(problem=BENCHMARK, answer=Answer(type="integer", value="50"))]
    )

    def call(server: ReplayServer, *more: object, out: str = "p.jsonl"):
        return gen(
            "author", topics, "--endpoint", server.url, "--model", "m", "-o", tmp_path / out,
            "--benchmark", benchmark, *FAST, *more,
        )  # fmt: skip

    return call
