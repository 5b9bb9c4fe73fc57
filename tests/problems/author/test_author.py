"""``limite-gen author`` with a server that writes problems of every kind."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from limite.core.errors import LimiteError
from limite.core.hookspecs import Registrar
from limite.core.jsonl import read_json, read_jsonl
from limite.core.registry import Registry
from limite.core.types import Answer, Problem
from limite.problems import files
from limite.problems.author import models, session
from limite.problems.gen.policies import Reply
from tests.problems.author.conftest import FAST
from tests.problems.author.replay import KEPT, REASONS, ReplayServer, made, mixed


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


CHEAP = ("plain", "busy", "reset", "wrong-answer", "prose", "assumes", "again", "latex")
FILES = ("p.jsonl", "p.jsonl.refused.jsonl", "p.jsonl.manifest.json")


def stop_here() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def whole(author: Callable, folder: Path, kinds: list[str], *more: object) -> dict[str, bytes]:
    """The files of a run that nothing interrupts; they are taken away again."""
    with ReplayServer(kinds) as server:
        author(server, "--count", 1000, "--most-asked", len(kinds), *more)
    # The port of the server stands in records: it is another one each time.
    found = {name: without_port((folder / name).read_bytes(), server) for name in FILES}
    for path in folder.glob("p.jsonl*"):
        path.unlink()
    return found


def without_port(data: bytes, server: ReplayServer) -> bytes:
    data = data.replace(server.url.split("/")[2].encode(), b"HOST")
    return re.sub(rb'"(file|refused)_sha256":"[0-9a-f]+"', b"", data)


def interrupted(
    author: Callable, folder: Path, kinds: list[str], points: list[int], *more: object
) -> tuple[dict[str, bytes], ReplayServer]:
    """The files of a run that is stopped by hand after so many replies, again and again."""
    known: set[str] = set()
    with ReplayServer(kinds) as server:
        for point in points:
            server.stop_after = (point, stop_here)
            ended = author(server, "--count", 1000, "--most-asked", len(kinds), *more)
            assert ended.code == 130, ended.err
            assert "the same command goes on from them" in ended.err
            now = {problem.id for problem in files.iterate(folder / "p.jsonl")}
            assert known <= now  # what was accepted once is not lost again
            known = now
        server.stop_after = None
        assert author(server, "--count", 1000, "--most-asked", len(kinds), *more).code == 1
    return {name: without_port((folder / name).read_bytes(), server) for name in FILES}, server


def test_a_run_stopped_again_and_again_ends_with_the_same_bytes_and_pays_nothing_twice(
    author: Callable, tmp_path: Path
) -> None:
    kinds = mixed(9, seed=2, of=CHEAP)
    expected = whole(author, tmp_path, kinds, "--concurrency", 1)
    found, server = interrupted(author, tmp_path, kinds, [3, 14], "--concurrency", 2)
    assert found == expected
    assert {*server.paid.values()} == {1}


@pytest.mark.nightly
@pytest.mark.slow
def test_stopped_at_fifty_random_points_it_loses_nothing_and_pays_nothing_twice(
    author: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = mixed(47, seed=3)
    registrar = Registrar()
    registrar.author_step("marks", Marks)
    registry = Registry()
    registry.add(registrar.registrations, distribution="tests", version="1.0")
    monkeypatch.setattr(session, "load_registry", lambda: registry)
    more = ("--step", "marks", "--vary", 1, "--policy-model", "reader", "--policy-samples", 1)
    expected = whole(author, tmp_path, kinds, *more)
    assert expected["p.jsonl"].count(b'"variant"') > 7
    draws = random.Random(4)
    points = sorted(draws.sample(range(1, 200), 50))
    found, server = interrupted(author, tmp_path, kinds, points, "--concurrency", 5, *more)
    assert found == expected
    assert {*server.paid.values()} == {1}


@pytest.mark.nightly
@pytest.mark.slow
def test_of_four_hundred_replies_no_wrong_one_is_kept(author: Callable, tmp_path: Path) -> None:
    kinds = mixed(400, seed=5)
    with ReplayServer(kinds) as server:
        author(server, "--count", 1000, "--most-asked", len(kinds), "--program-seconds", 1)
    check_kept(tmp_path, kinds)
    assert {*server.paid.values()} == {1}


@pytest.mark.nightly
@pytest.mark.slow
def test_a_killed_run_goes_on_with_the_same_bytes(
    author: Callable, tmp_path: Path, topics: Path
) -> None:
    kinds = mixed(24, seed=6, of=CHEAP)
    expected = whole(author, tmp_path, kinds)
    with ReplayServer(kinds) as server:
        arguments = [
            sys.executable, "-m", "limite", "gen", "author", topics, "--endpoint", server.url,
            "--model", "m", "-o", tmp_path / "p.jsonl", "--benchmark", tmp_path / "benchmark.jsonl",
            *FAST, "--count", 1000, "--most-asked", len(kinds),
        ]  # fmt: skip
        for point in (5, 25, 60):
            process = subprocess.Popen(
                [str(word) for word in arguments],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            server.stop_after = (point, process.kill)
            assert process.wait() == -signal.SIGKILL
        server.stop_after = None
        assert author(server, "--count", 1000, "--most-asked", len(kinds)).code == 1
    found = {name: without_port((tmp_path / name).read_bytes(), server) for name in FILES}
    assert found == expected


def test_budgets_are_kept_and_the_same_command_goes_on(author: Callable, tmp_path: Path) -> None:
    kinds = ["plain"]
    terms = ("--count", 3, "--max-tokens", 50, "--no-schema", "--concurrency", 1)
    with ReplayServer(kinds) as server:
        ended = author(server, *terms, "--max-requests", 7)
        assert ended.code == 1
        assert "--max-requests 7: so many were made; the same command goes on" in ended.err
        assert server.paid.total() == 7
        assert len([*files.iterate(tmp_path / "p.jsonl")]) == 1
        priced = (*terms, "--price-in", 1, "--price-out", 10)
        # A prompt has some 1,600 bytes, of which the most is charged while it is under way.
        ended = author(server, *priced, "--max-cost", 0.004, "--json")
        assert ended.code == 1
        assert "--max-cost 0.004" in ended.err
        done = json.loads(ended.out.splitlines()[-1])
        assert 0 < done["requests"] < 8
        assert done["cost"] == done["requests"] * (100 * 1 + 50 * 10) / 1e6 <= 0.004
        ended = author(server, *terms, "--json")
        assert ended.code == 0, ended.err
        done = json.loads(ended.out.splitlines()[-1])
        assert done["cost"] is None
        assert done["asked"] == done["accepted"] == 3
        assert {*server.paid.values()} == {1}
        before = server.paid.total()
        assert author(server, *terms).code == 0
        assert author(server, *terms, "--force").code == 0
        assert server.paid.total() == before == 15


def test_solvers_see_the_text_alone_and_the_key_stands_nowhere(
    author: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "sk-very-secret")
    with ReplayServer(["plain"], schemas=False) as server:
        dry = author(server, "--dry-run", "--count", 2)
        assert not server.prompts
        ended = author(server, "--count", 2, "--key-env", "A_KEY")
    assert ended.code == 0, ended.err
    assert "takes no JSON schema" in ended.err
    assert server.keys == {"Bearer sk-very-secret"}
    asked = [prompt for prompt in server.prompts if "\nVariant: " in prompt]
    others = [prompt for prompt in server.prompts if prompt not in asked]
    assert next(prompt for prompt in asked if "\nVariant: 1\n" in prompt) in dry.out
    assert others
    for number in (1, 2):
        problem = made(number)
        assert all(str(problem.answer) not in prompt for prompt in others)
        assert all(problem.source not in prompt for prompt in others)
    assert "sk-very-secret" not in ended.out + ended.err
    for path in tmp_path.iterdir():
        assert b"sk-very-secret" not in path.read_bytes()
    record = next(read_jsonl(tmp_path / "p.jsonl"))
    assert record["verification"]["agree"] == 3
    assert record["verification"]["sandbox"]
    assert record["source"]["kind"] == "llm"


def test_a_server_that_takes_schemas_otherwise_is_asked_as_it_wants_to_be(author: Callable) -> None:
    with ReplayServer(["plain"], schemas="object") as server:
        ended = author(server, "--count", 1, "--concurrency", 1)
    assert ended.code == 0, ended.err
    assert "asking again" not in ended.err
    first, *others = server.forms
    assert first["type"] == "json_schema"
    assert {form["type"] for form in others} == {"json_object"}
    assert others[0]["schema"] == first["json_schema"]["schema"]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (200, b"<html>hello</html>", "in a row failed, the last by a web page in place of JSON"),
        (200, b'{"result": "ok"}', "in a row failed, the last by a reply that is no chat complet"),
        (500, b"", "in a row failed, the last by status 500"),
        (401, b'{"error": "bad key"}', "refuses every request: status 401"),
    ],
)
def test_a_server_that_is_of_no_use_ends_the_run_with_a_sentence(
    author: Callable, tmp_path: Path, status: int, body: bytes, said: str
) -> None:
    with ReplayServer(["plain"]) as server:
        server.always = (status, body)
        ended = author(server, "--count", 30, "--retries", 0)
        assert ended.code == 1
        assert said in ended.err
        assert "the same command goes on from what came" in ended.err
        assert (tmp_path / "p.jsonl").read_bytes() == b""
        if status == 500:
            server.always = None
            assert author(server, "--count", 1, "--force", "--retries", 0).code == 0
            assert len([*files.iterate(tmp_path / "p.jsonl")]) == 1


@pytest.mark.parametrize("most", [3, 100])
def test_what_a_server_that_is_down_was_asked_is_asked_for_again(
    author: Callable, tmp_path: Path, most: int
) -> None:
    terms = ("--count", 2, "--most-asked", most, "--retries", 0, "--concurrency", 1)
    with ReplayServer(["plain"]) as server:
        server.always = (503, b"")
        ended = author(server, *terms)
        assert ended.code == 1
        assert "the same command goes on" in ended.err
        assert "0 asked = 0 accepted + 0 rejected + 0 failed" in ended.out
        server.always = None
        assert author(server, *terms).code == 0
        assert [each.source["index"] for each in files.iterate(tmp_path / "p.jsonl")] == [0, 1]


def test_a_model_that_never_follows_the_format_is_told_with_what_it_wrote(
    author: Callable, tmp_path: Path
) -> None:
    with ReplayServer(["prose"]) as server:
        ended = author(server, "--count", 2, "--most-asked", 5)
    assert ended.code == 1
    assert "0 of 2 problems after 5 were asked for" in ended.err
    refused = [*read_jsonl(tmp_path / "p.jsonl.refused.jsonl")]
    assert Counter(line["reason"] for line in refused) == {"unreadable-reply": 5}
    assert all(line["reply"].startswith("Sure! The problem is") for line in refused)
    assert (tmp_path / "p.jsonl").read_bytes() == b""


class Here:
    """A model that is sampled here, as far as authoring asks it; it writes as the server does."""

    def __init__(self, model: Path, **record: object) -> None:
        assert record.pop("stage") is None
        self.name, self.record = "here:1", record
        self.replay = ReplayServer(["plain", "wrong-answer"])
        self.asked, self.notes = 0, ()

    def answer(self, problems: list[Problem], samples: int) -> list[list[Reply]]:
        self.asked += 1
        return [[Reply(text=self.replay.answered(each.problem)[1])] for each in problems]

    def reads(self, text: str) -> None:
        if "one new mathematics problem" not in text or self.record["max_tokens"] == 7:
            raise LimiteError("the tokenizer's alphabet has no 'W'")

    def close(self) -> None:
        self.replay._server.server_close()


def test_a_model_that_is_here_writes_too_and_what_it_wrote_is_kept(
    gen: Callable, topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "LocalPolicy", Here)
    arguments = ("author", topics, "--local", tmp_path, "--count", 2, "-o", tmp_path / "p.jsonl")
    first = gen(*arguments)
    assert first.code == 0, first.err
    assert "3 asked = 2 accepted + 1 rejected (1 program-disagrees) + 0 failed" in first.out
    before = (tmp_path / "p.jsonl").read_bytes()
    again = gen(*arguments, "--force")
    assert "this call: 0 requests" in again.out
    assert (tmp_path / "p.jsonl").read_bytes() == before
    ended = gen(*arguments, "--max-tokens", 7, "-o", tmp_path / "q.jsonl")
    assert ended.code == 2
    assert "cannot be asked to write: the tokenizer's alphabet has no 'W'" in ended.err
    assert not [*tmp_path.glob("q.jsonl*")]
    ended = gen(*arguments, "--model", "m")
    assert "--model: belongs to --endpoint" in ended.err


def test_other_arguments_are_refused_with_what_differs(author: Callable, tmp_path: Path) -> None:
    with ReplayServer(["plain"]) as server:
        assert author(server, "--count", 1).code == 0
        ended = author(server, "--count", 1, "--solvers", 4)
        journal = tmp_path / "p.jsonl.journal.jsonl"
        whole = journal.read_bytes()
        journal.write_bytes(whole + b'{"slot":1}\n')
        damaged = author(server, "--count", 1)
        journal.write_bytes(whole + b'{"slot":1,"outc')  # as a killed process leaves it
        assert author(server, "--count", 1).code == 0
        assert journal.read_bytes() == whole
    assert ended.code == 2
    assert "solvers: 3 -> 4" in ended.err
    assert "line 3: nothing that this command wrote" in damaged.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--min-agree", 4), "--min-agree 4: of 3 solvers no more can agree"),
        (("--max-cost", 1), "--max-cost: needs --price-in and --price-out"),
        (("--extra", "[1]"), "--extra: expected an object"),
        (("--extra", '{"seed": 1}'), "--extra: 'seed' is said by limite itself"),
        (("--local", "somewhere"), "say who writes"),
        (("--key-env", "NO_SUCH_KEY"), "--key-env: the environment has no NO_SUCH_KEY"),
        (("--package", "no_such_package"), "'no_such_package' is not installed"),
        (("--prompts", "nowhere"), "nowhere: no such folder of prompts"),
    ],
)
def test_wrong_options_are_told_before_anything_is_asked(
    author: Callable, tmp_path: Path, options: tuple, said: str
) -> None:
    with ReplayServer(["plain"]) as server:
        ended = author(server, *options)
        assert not server.prompts
    assert ended.code == 2
    assert said in ended.err
    assert not [*tmp_path.glob("p.jsonl*")]


def test_prompts_can_be_changed_and_are_part_of_what_was_asked_for(
    author: Callable, gen: Callable, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    assert gen("author", "--write-prompts", mine).code == 0
    changed = (mine / "ask.txt").read_text() + "\nBe kind.\n"
    (mine / "ask.txt").write_text(changed)
    with ReplayServer(["plain"]) as server:
        assert author(server, "--count", 1, "--prompts", mine).code == 0
        assert server.prompts[0].endswith("\nBe kind.\n")
        (mine / "ask.txt").write_text(changed.replace("{{topic}}", "{{topc}}"))
        ended = author(server, "--count", 1, "--prompts", mine)
    assert "nothing fills {{topc}}; did you mean 'topic'?" in ended.err
    assert "{{topic}} has no place in it" in ended.err


@attrs.frozen(kw_only=True)
class Marks:
    """Gives a problem a tag that the model is asked for."""

    def __call__(self, problem: Problem, ask: Callable[[str], str]) -> Problem | str:
        said = ask(f"----------\n{problem.problem}\n----------\n another way")
        return attrs.evolve(problem, tags=(*problem.tags, f"of {len(said)} characters"))


MIDDLE = sorted(made(number).answer for number in (1, 2, 3))[1]


@attrs.frozen(kw_only=True)
class Shorter:
    """Leaves the remark in brackets away where the model says so, and refuses large numbers."""

    def __call__(self, problem: Problem, ask: Callable[[str], str]) -> Problem | str:
        if int(problem.answer.value) > MIDDLE:
            return "too large"
        assert "def solve" in ask(f"----------\n{problem.problem}\n----------\n another way")
        text = problem.problem.replace(" (or by both of them)", "")
        return attrs.evolve(problem, problem=text, tags=(*problem.tags, "short"))


@attrs.frozen(kw_only=True)
class Cheat:
    """Changes the answer, which no step may."""

    def __call__(self, problem: Problem, ask: Callable[[str], str]) -> Problem | str:
        return attrs.evolve(problem, answer=Answer(type="integer", value="7"))


def test_a_step_of_a_plugin_refuses_problems_or_gives_them_another_text(
    author: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registrar = Registrar()
    registrar.author_step("shorter", Shorter)
    registrar.author_step("cheat", Cheat)
    registry = Registry()
    registry.add(registrar.registrations, distribution="tests", version="1.0")
    monkeypatch.setattr(session, "load_registry", lambda: registry)
    with ReplayServer(["plain"]) as server:
        for number in (1, 2, 3):  # what solvers are shown
            text = made(number).text.replace(" (or by both of them)", "")
            server._texts[text] = number
        ended = author(server, "--count", 3, "--most-asked", 3, "--step", "shorter")
        assert "1 step-shorter" in ended.out
        found = [*files.iterate(tmp_path / "p.jsonl")]
        assert len(found) == 2
        assert all("both" not in problem.problem for problem in found)
        assert all(problem.tags == ("multiples", "short") for problem in found)
        ended = author(server, "--count", 1, "--step", "cheat", "--force")
        assert "author step 'cheat': gives the problem on with its answer" in ended.err
        assert author(server, "--step", "shortr", "--force").code == 2
