"""Requests written to files, and their replies read from others, until problems are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limite.core.jsonl import read_jsonl, write_jsonl
from limite.problems import files
from limite.problems.gen.policies import INSTRUCTION
from tests.problems.author.conftest import FAST
from tests.problems.author.replay import ReplayServer, made

KINDS = ["plain", "wrong-answer", "one-solver-wrong", "solvers-disagree", "assumes"]


@pytest.fixture
def ask(gen: Callable, topics: Path, tmp_path: Path):
    """Calls ``limite-gen requests``."""

    def call(*more: object) -> Any:
        out = tmp_path / "p.jsonl"
        return gen("requests", topics, "--model", "m", "-o", out, *FAST, *more)

    return call


def replied(server: ReplayServer, line: dict[str, Any]) -> dict[str, Any]:
    """A line of results, as a server of batches writes it."""
    assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
    prompt = line["body"]["messages"][0]["content"]
    text = server.attempted(prompt) if prompt.endswith(INSTRUCTION) else server.answered(prompt)[1]
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 50}
    body = {"choices": [choice], "usage": usage}
    response = {"status_code": 200, "body": body}
    return {"custom_id": line["custom_id"], "response": response, "error": None}


def test_replies_in_any_order_end_in_the_same_problems_and_none_is_asked_for_twice(
    ask: Callable, gen: Callable, author: Callable, tmp_path: Path
) -> None:
    terms = ("--count", 4, "--most-asked", 4, "--vary", 1, "--policy-model", "reader")
    terms = (*terms, "--policy-samples", 2)
    asked: set[str] = set()
    rounds = []
    with ReplayServer(KINDS) as server:
        for _ in range(20):
            ended = ask(*terms)
            lines = [*read_jsonl(tmp_path / "p.jsonl.requests.jsonl")]
            if not lines:
                break
            assert ended.code == 0, ended.err
            assert f"{len(lines)} requests to be made" in ended.out
            rounds.append(len(lines))
            new = {line["custom_id"] for line in lines}
            assert not new & asked
            asked |= new
            results = [replied(server, line) for line in reversed(lines)]
            write_jsonl(tmp_path / "results.jsonl", results)
            taken = gen("collect", tmp_path / "p.jsonl", tmp_path / "results.jsonl", "--json")
            assert json.loads(taken.out)["new"] == len(lines)
        assert ended.code == 1  # two of four were refused
        offline = [*read_jsonl(tmp_path / "p.jsonl")]
        author(server, *terms, out="online.jsonl")
        online = [*read_jsonl(tmp_path / "online.jsonl")]
    # Problems, all their solvers, readings, attempts; then a pattern, its solvers, attempts.
    assert rounds == [4, 9, 2, 4, 2, 6, 4]
    assert [each["id"] for each in offline] == [each["id"] for each in online]
    assert len(offline) == 4
    assert {each["source"]["endpoint"] for each in offline} == {"batch"}
    for one, other in zip(offline, online, strict=True):
        assert one["verification"] == other["verification"]
        assert one["difficulty"]["pass_rate"] == other["difficulty"]["pass_rate"]


def test_what_failed_is_asked_for_again_until_it_is_given_up(
    ask: Callable, gen: Callable, tmp_path: Path
) -> None:
    results, place = tmp_path / "results.jsonl", tmp_path / "p.jsonl"
    with ReplayServer(["plain"]) as server:
        assert ask("--count", 3, "--most-asked", 3).code == 0
        lines = [*read_jsonl(tmp_path / "p.jsonl.requests.jsonl")]
        first, second, third = (line["custom_id"] for line in lines)
        error = {"code": 500, "message": "a \n bad day"}
        bad = {"status_code": 400, "body": {"error": {"message": "no such thing"}}}
        write_jsonl(
            results,
            [
                {"custom_id": first, "response": None, "error": error},
                {"custom_id": "a stranger", "response": bad},
                {"custom_id": second, "response": bad, "error": None},
                {"custom_id": third, "response": {"status_code": 200, "body": {"odd": 1}}},
            ],
        )
        ended = gen("collect", place, results)
        assert "0 replies taken, 0 known already, 1 to nothing that was asked" in ended.out
        for reason in ("a bad day", "status 400: no such thing", "a reply that is no chat compl"):
            assert f"1 failed: {reason}" in ended.out
        ask("--count", 3, "--most-asked", 3)
        assert [*read_jsonl(tmp_path / "p.jsonl.requests.jsonl")] == lines
        write_jsonl(results, [*[*read_jsonl(results)][:3], replied(server, lines[2])])
        gen("collect", place, results, "--give-up")
        ask("--count", 3, "--most-asked", 3)
        assert len([*read_jsonl(tmp_path / "p.jsonl.requests.jsonl")]) == 3  # solvers of one
    refused = {line["shown"] for line in read_jsonl(tmp_path / "p.jsonl.refused.jsonl")}
    assert refused <= {"a bad day", "status 400: no such thing"}
    assert not [*files.iterate(place)]


def test_files_that_are_none_of_these_are_told(
    ask: Callable, gen: Callable, tmp_path: Path
) -> None:
    results, place = tmp_path / "results.jsonl", tmp_path / "p.jsonl"
    results.write_text('{"id": 1}\n')
    ended = gen("collect", place, results)
    assert ended.code == 2
    assert "limite-gen requests -o" in ended.err
    assert ask("--count", 1).code == 0
    ended = gen("collect", place, results)
    assert ended.code == 2
    assert "line 1: no custom_id, as results of a batch have" in ended.err
    assert not (tmp_path / "p.jsonl.replies.jsonl").exists()
    ended = gen("collect", place, tmp_path / "none.jsonl")
    assert "none.jsonl: no such file" in ended.err
    ended = gen("requests", tmp_path / "topics.toml", "-o", place)
    assert "--model: say for which model" in ended.err
    dry = ask("--dry-run")
    assert "Variant: 1" in dry.out
    assert str(made(1).answer) not in dry.out
