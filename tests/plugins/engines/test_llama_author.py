"""A real, weak model behind a real server as the writer of problems: what it writes is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from limite.core.jsonl import read_json, read_jsonl
from limite.problems import files
from limite.problems.author.report import STAGES, stage_of
from tests.plugins.engines.test_llama_server import gguf as gguf
from tests.plugins.engines.test_llama_server import serve as serve
from tests.problems.gen.conftest import gen as gen

pytestmark = pytest.mark.server

TOPICS = """
answer_types = ["integer"]
difficulty = "an exercise of one step for a child"
[topics.sums]
description = "adding whole numbers in a short story"
"""


def test_what_a_weak_model_writes_is_refused_for_what_is_wrong_with_it(
    gen: Callable, serve: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "topics.toml").write_text(TOPICS)
    ended = gen(
        "author", tmp_path / "topics.toml", "--endpoint", f"{serve('2048')}/v1", "--model", "m",
        "--count", 3, "--most-asked", 3, "--max-tokens", 200, "--concurrency", 1,
        "--timeout", 900, "-o", tmp_path / "p.jsonl",
    )  # fmt: skip
    assert "asking again" not in ended.err  # the form of its schemas was found at once
    counts = read_json(tmp_path / "p.jsonl.manifest.json")["counts"]
    assert counts["asked"] == 3
    assert counts["failed"] == 0
    refused = [*read_jsonl(tmp_path / "p.jsonl.refused.jsonl")]
    assert all(stage_of(line["reason"]) in STAGES for line in refused)
    assert len(refused) + len([*files.iterate(tmp_path / "p.jsonl")]) == 3
    for problem in files.iterate(tmp_path / "p.jsonl"):  # by chance: then two others agreed
        assert problem.extra["verification"]["agree"] >= 2
