"""Problems of a chosen pass rate: measured by sampling, kept or refused, and asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from limite.core.jsonl import read_json, read_jsonl
from limite.core.types import Problem
from limite.problems import files
from limite.problems.author import models
from limite.problems.author.aim import Aim
from limite.problems.gen.policies import Reply
from tests.problems.author.replay import ReplayServer

SHORT = ("--solvers", 1, "--min-agree", 1, "--reading-share", 0)
AIM = ("--aim", "0.2:0.8", "--policy-model", "reader", "--policy-samples", 6, *SHORT)


def skill(number: int) -> int:
    """Of six attempts those that are right."""
    return (6, 3, 0)[number % 3]


def test_problems_that_are_too_easy_or_too_hard_are_refused_and_others_asked_for(
    author: Callable, tmp_path: Path
) -> None:
    with ReplayServer(["plain"]) as server:
        server.skill = skill
        ended = author(server, "--count", 2, "--most-asked", 20, *AIM)
        assert ended.code == 0, ended.err
        kept = [*files.iterate(tmp_path / "p.jsonl")]
        refused = [*read_jsonl(tmp_path / "p.jsonl.refused.jsonl")]
        for line in refused:
            easy = skill(line["slot"] + 1) == 6
            assert (line["reason"], line["pass_rate"]) == (
                ("too-easy", 1.0) if easy else ("too-hard", 0.0)
            )
            assert line["shown"] == f"{6 * easy} of 6 were right"
        for problem in kept:
            found = problem.difficulty
            assert skill(problem.source["index"] + 1) == 3
            assert (found["pass_rate"], found["samples"], found["policy"]) == (
                0.5,
                6,
                f"reader at {server.url[7:-3]}",
            )
        assert {*server.attempts.values()} == {6}
        assert {*server.paid.values()} == {1}
        counts = read_json(tmp_path / "p.jsonl.manifest.json")["counts"]
        assert counts["stages"][-1] == {
            "stage": "aim", "reached": 2 + len(refused), "passed": 2,
        }  # fmt: skip
        assert "measured of 2 problems" in ended.out
        # Once more: nothing is paid for, and other aims are another file.
        before = server.paid.total()
        assert author(server, "--count", 2, "--most-asked", 20, *AIM, "--force").code == 0
        assert server.paid.total() == before
        ended = author(server, "--count", 2, "--most-asked", 20, *AIM, "--policy-samples", 7)
        assert ended.code == 2
        assert "aim.samples: 6 -> 7" in ended.err


def test_what_is_asked_for_follows_what_was_measured(author: Callable) -> None:
    with ReplayServer(["plain"]) as server:
        ended = author(server, "--count", 4, "--most-asked", 5, *AIM)
        assert ended.code == 1
    asked = [prompt for prompt in server.prompts if "\nVariant: " in prompt]
    hints = [re.search(r"^Difficulty: .*$", prompt, re.MULTILINE)[0] for prompt in asked]
    assert all("make this one" not in hint for hint in hints[:4])
    assert "solved the last 4 in 100% of all attempts: make this one harder" in hints[4]


def test_variants_are_measured_too_and_all_is_recorded_without_an_aim(
    author: Callable, tmp_path: Path
) -> None:
    with ReplayServer(["plain"]) as server:
        server.skill = lambda number: 3 if number < 2 else 6  # variants have larger numbers
        terms = ("--count", 1, "--vary", 2)
        assert author(server, *terms, *AIM).code == 0
        line = next(read_jsonl(tmp_path / "p.jsonl.refused.jsonl"))
        assert (line["reason"], line["shown"]) == ("vary-no-numbers", "2 too-easy")
        assert author(server, *terms, *AIM[2:], "--force").code == 0
        found = [problem.difficulty for problem in files.iterate(tmp_path / "p.jsonl")]
        assert [each["pass_rate"] for each in found] == [0.5, 1.0, 1.0]


class Reader:
    """A model that is sampled here, and is right every other time."""

    def __init__(self, model: Path, **record: object) -> None:
        self.name, self.record, self.notes, self.verifier = "here:1", record, (), None

    def answer(self, problems: list[Problem], samples: int) -> list[list[Reply]]:
        right = [f"\\boxed{{{problem.answer.value}}}" for problem in problems]
        return [
            [Reply(text=text if number % 2 else "no") for number in range(samples)]
            for text in right
        ]

    def close(self) -> None: ...


def test_a_model_that_is_here_is_measured_and_its_key_never_sent_elsewhere(
    author: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "LocalPolicy", Reader)
    monkeypatch.setenv("A_KEY", "sk-very-secret")
    with ReplayServer(["plain"]) as server, ReplayServer(["plain"]) as other:
        ended = author(server, "--count", 1, "--aim", "0.5:0.5", "--policy", tmp_path, *SHORT)
        assert ended.code == 0, ended.err
        found = next(files.iterate(tmp_path / "p.jsonl")).difficulty
        assert found == {"pass_rate": 0.5, "samples": 8, "policy": "here:1"}
        elsewhere = ("--policy-endpoint", other.url, "--policy-model", "m", "--key-env", "A_KEY")
        assert author(server, "--count", 1, *elsewhere, *SHORT, "--force").code == 0
        assert other.keys == {""}
        assert next(files.iterate(tmp_path / "p.jsonl")).difficulty["pass_rate"] == 1.0


def test_an_attempt_that_does_not_come_ends_as_failed_and_is_asked_for_again(
    author: Callable, tmp_path: Path
) -> None:
    with ReplayServer(["plain"]) as server, ReplayServer(["plain"]) as other:
        other.always = (500, b"")
        terms = (
            "--count", 1, "--most-asked", 1, "--retries", 0, "--policy-endpoint", other.url,
            "--policy-model", "m", "--policy-samples", 30, *SHORT,
        )  # fmt: skip
        ended = author(server, *terms)
        assert ended.code == 1
        assert "20 requests in a row failed, the last by status 500" in ended.err
        paid = server.paid.total()
        other.always = None
        assert author(server, *terms).code == 0
        assert server.paid.total() == paid
        assert {*other.paid.values()} == {1}


def test_hints_need_some_problems_and_a_rate_outside_the_window() -> None:
    aim = Aim(reader=None, judge=None, samples=4, low=0.4, high=0.6)  # type: ignore[arg-type]
    assert aim.hint([1.0, 1.0]) == ""
    assert aim.hint([0.5, 0.5, 0.6]) == ""
    assert "100% of all attempts: make this one harder" in aim.hint([1.0] * 3)
    assert "make this one easier" in aim.hint([1.0] * 20 + [0.1] * 8)  # the last ones count


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--aim", "0.2:0.8"), "--aim: a pass rate is a model's"),
        (("--aim", "0.8:0.2", "--policy-model", "m"), "--aim 0.8:0.2: expected two pass rates"),
        (("--aim", "half", "--policy-model", "m"), "--aim half: expected two pass rates"),
        (("--policy", "x", "--policy-model", "m"), "--policy-model: one model is measured"),
        (("--policy-endpoint", "http://a/v1"), "--policy-endpoint: needs --policy-model"),
        (("--policy-model", "m", "--policy-key-env", "NO_KEY"), "--policy-key-env: the environ"),
        (("--policy", "nowhere-at-all"), "nowhere-at-all"),
    ],
)
def test_aims_that_cannot_be_are_told_before_anything_is_asked(
    author: Callable, tmp_path: Path, options: tuple, said: str
) -> None:
    with ReplayServer(["plain"]) as server:
        ended = author(server, *options)
        assert not server.prompts
    assert ended.code == 2
    assert said in ended.err
    assert not [*tmp_path.glob("p.jsonl*")]
