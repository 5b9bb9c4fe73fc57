"""``limite-gen author`` with a server that writes problems of every kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from limite.core.jsonl import read_json, read_jsonl
from limite.core.types import Answer, Problem
from limite.problems import files
from tests.problems.author.replay import BENCHMARK, KEPT, REASONS, ReplayServer, made, mixed

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


def check_kept(folder: Path, kinds: list[str], out: str = "p.jsonl") -> None:
    """No wrong answer is in the file; every refusal has its reason; all of it adds up."""
    accepted = [*files.iterate(folder / out)]
    for problem in accepted:
        number = int(problem.source["index"]) + 1
        assert int(problem.answer.value) == made(number).answer
        assert kinds[number - 1] in KEPT
    refused = list(read_jsonl(folder / f"{out}.refused.jsonl"))
    found = {line["slot"]: (kinds[line["slot"]], line["reason"]) for line in refused}
    right_reasons = {slot: (kind, REASONS.get(kind)) for slot, (kind, _) in found.items()}
    assert found == right_reasons
    right = sum(kind in KEPT for kind in kinds)
    assert len(accepted) == right
    assert len(refused) == len(kinds) - right
    counts = read_json(folder / f"{out}.manifest.json")["counts"]
    assert counts["asked"] == len(kinds) == counts["accepted"] + sum(counts["rejected"].values())


def test_of_replies_of_every_kind_those_that_are_right_are_kept(
    author: Callable, tmp_path: Path
) -> None:
    kinds = mixed(47, seed=1)
    assert {*kinds} == {*KEPT, *REASONS}
    with ReplayServer(kinds) as server:
        ended = author(server, "--count", 1000, "--most-asked", len(kinds))
    assert ended.code == 1, ended.err
    check_kept(tmp_path, kinds)
    assert f"{len(kinds)} asked = " in ended.out
    assert max(server.paid.values()) == 1
