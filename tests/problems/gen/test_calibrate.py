"""``limite-gen calibrate``: pass rates of a model that is here, and of one behind an endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from limite.core.jsonl import read_jsonl, write_jsonl
from limite.core.recipe.engine import start
from limite.problems import files
from limite.problems.gen import local_policy
from limite.problems.gen.rates import Rates
from tests.problems.gen.chat_server import ChatServer, told
from tests.tiny_recipe import asked, head, llama, taught

RUN = head("letters", llama()) + taught("sum-chain") + asked("sum-chain")
SECRET = "sk-very-secret"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrate")
    (folder / "letters.toml").write_text(RUN)
    start(folder / "letters.toml", out=folder / "runs", name="letters", echo=lambda _line: None)
    return folder / "runs" / "letters"


@pytest.fixture
def problems(gen: Callable, tmp_path: Path) -> Path:
    place = tmp_path / "p.jsonl"
    gen("make", "sum-chain", "--count", 12, "--difficulty", "0:0.3", "-o", place)
    return place


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as found:
        yield found


@pytest.fixture
def ask(gen: Callable, problems: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch):
    """Calibrates ``problems`` with the fake server."""
    monkeypatch.setenv("LIMITE_TEST_KEY", SECRET)

    def call(out: Path, *more: object):
        return gen(
            "calibrate", problems, "--endpoint", server.url, "--model-name", "m",
            "--key-env", "LIMITE_TEST_KEY", "--samples", 2, "-o", out, *more,
        )  # fmt: skip

    return call


def test_a_run_is_measured_and_the_same_bytes_come_again(
    gen: Callable, run: Path, problems: Path, tmp_path: Path
) -> None:
    outs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    common = ("calibrate", problems, "--model", run, "--samples", 3, "--max-tokens", 5, "-o")
    assert gen(*common, outs[0]).code == 0
    assert gen(*common, outs[1]).code == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    measured = files.read_problems(outs[0])
    before = files.read_problems(problems)
    for one, other in zip(measured, before, strict=True):
        assert one.id == other.id
        assert one.difficulty["samples"] == 3
        assert one.difficulty["level"] == other.difficulty["level"]
        assert one.difficulty["policy"].startswith("letters/sft@1:")
        assert {**one.source} == {**other.source}
    again = gen(*common, outs[0])
    assert again.code == 0
    assert "12 problems, 3 samples each" in again.out


def test_the_verifier_of_the_run_judges(
    gen: Callable, run: Path, problems: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.jsonl"
    gen("calibrate", problems, "--model", run, "--samples", 1, "--max-tokens", 2, "-o", out)
    request = json.loads(Path(f"{out}.manifest.json").read_text())["request"]
    assert request["verifier"] == "Exact(marker='#')"
    assert request["instruction"] == ""


def test_an_interrupted_measurement_goes_on_to_the_same_bytes(
    gen: Callable,
    run: Path,
    problems: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_policy.LocalPolicy, "at_once", 4)
    common = ("calibrate", problems, "--model", run, "--samples", 2, "--max-tokens", 5, "-o")
    whole, parted = tmp_path / "whole.jsonl", tmp_path / "parted.jsonl"
    gen(*common, whole)
    answer, calls = local_policy.LocalPolicy.answer, []

    def stopped(self, chunk, samples):
        calls.append(len(chunk))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return answer(self, chunk, samples)

    with monkeypatch.context() as patch:
        patch.setattr(local_policy.LocalPolicy, "answer", stopped)
        ended = gen(*common, parted)
    assert ended.code == 130
    assert "stopped after 4 problems" in ended.err
    assert calls == [2, 2, 2]
    assert gen(*common[:-3], "--max-tokens", 6, "-o", parted).code == 2  # another request
    assert gen(*common, parted).code == 0
    assert parted.read_bytes() == whole.read_bytes()


def test_what_does_not_fit_the_model_is_told(gen: Callable, run: Path, tmp_path: Path) -> None:
    place, out = tmp_path / "p.jsonl", tmp_path / "out.jsonl"
    record = {"problem": "1+1=?" * 40, "answer": {"type": "integer", "value": "2"}}
    write_jsonl(place, [record])
    ended = gen("calibrate", place, "--model", run, "--samples", 2, "-o", out)
    assert ended.code == 1
    assert "1 problems were not answered" in ended.err
    (line,) = read_jsonl(Path(f"{out}.refused.jsonl"))
    ((reason, count),) = line["failures"].items()
    assert "leave no room in a context of 64" in reason
    assert count == 2
    assert "pass_rate" not in next(files.iterate(out)).difficulty


def test_an_endpoint_is_measured_whatever_it_does(
    ask: Callable, server: ChatServer, problems: Path, tmp_path: Path
) -> None:
    golds = {each.problem: each.answer.value for each in files.iterate(problems)}
    server.answers = lambda text: f"So it is \\boxed{{{golds[text.partition(chr(10))[0]]}}}."
    server.planned = [
        told(429, {"Retry-After": "0"}),
        told(500),
        (200, {}, b"{not json"),
        (200, {}, b'{"choices": []}'),
        (200, {}, b'{"choices": [{"message": {"content": null}}]}'),
        ("cut", {}, b""),
    ]
    out = tmp_path / "out.jsonl"
    ended = ask(out)
    assert ended.code == 0, ended.err
    measured = files.read_problems(out)
    assert [each.difficulty["pass_rate"] for each in measured] == [1.0] * 12
    assert {each.difficulty["policy"] for each in measured} == {f"m at {server.host}"}
    assert {body["model"] for body in server.bodies} == {"m"}
    assert len({body["seed"] for body in server.bodies}) == 24
    assert all("\\boxed" in body["messages"][0]["content"] for body in server.bodies)
    assert server.keys == {f"Bearer {SECRET}"}
    for path in tmp_path.iterdir():
        assert SECRET not in path.read_text()
    assert SECRET not in ended.out + ended.err


def test_replies_that_came_are_not_asked_for_again(
    ask: Callable, server: ChatServer, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    ask(out)
    first, asked = out.read_bytes(), len(server.bodies)
    assert asked == 24
    assert ask(out, "--force").code == 0
    assert len(server.bodies) == asked
    assert out.read_bytes() == first


def test_a_wrong_key_ends_it_at_once_and_nothing_is_said_of_the_key(
    ask: Callable, server: ChatServer, tmp_path: Path
) -> None:
    server.always = told(401)
    ended = ask(tmp_path / "out.jsonl", "--concurrency", 1)
    assert ended.code == 1
    assert f"{server.host} refuses every request: status 401" in ended.err
    assert len(server.bodies) == 1
    assert SECRET not in ended.err


def test_what_an_endpoint_does_not_answer_is_told(
    ask: Callable, server: ChatServer, tmp_path: Path
) -> None:
    server.planned = [told(400)] * 3
    out = tmp_path / "out.jsonl"
    ended = ask(out, "--concurrency", 1)
    assert ended.code == 1
    assert "1 problems were not answered" in ended.err
    rows = list(read_jsonl(Path(f"{out}.refused.jsonl")))
    assert [row["failures"] for row in rows] == [{"status 400": 2}, {"status 400": 1}]
    assert ask(out, "--force").code == 0
    assert all(each.difficulty["samples"] == 2 for each in files.iterate(out))


def test_many_failures_in_a_row_end_it(ask: Callable, server: ChatServer, tmp_path: Path) -> None:
    server.always = told(400)
    ended = ask(tmp_path / "out.jsonl", "--concurrency", 1)
    assert ended.code == 1
    assert "20 requests in a row failed, the last by status 400" in ended.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "say who answers"),
        (("--model", ".", "--endpoint", "http://h/v1"), "say who answers"),
        (("--endpoint", "http://h/v1"), "--model-name: an endpoint is asked"),
        (("--endpoint", "ftp://h", "--model-name", "m"), "expected an address"),
        (("--endpoint", "http://me:pw@h/v1", "--model-name", "m"), "without a name or a key"),
        (("--endpoint", "http://h:x/v1", "--model-name", "m"), "expected an address"),
        (
            ("--endpoint", "http://h", "--model-name", "m", "--key-env", "NO_SUCH_KEY"),
            "the environment has no NO_SUCH_KEY",
        ),
        (("--endpoint", "http://h", "--model-name", "m", "--stage", "rl"), "has no stages"),
        (("--model", "nowhere"), "no such run and no such directory"),
        (("--model", "x", "--key-env", "K"), "belongs to --endpoint"),
        (("--model", "x", "--temperature", 0), "they would all be the same one"),
    ],
)
def test_a_mistake_is_told(
    gen: Callable, problems: Path, tmp_path: Path, arguments: tuple, reason: str
) -> None:
    ended = gen("calibrate", problems, "-o", tmp_path / "out.jsonl", *arguments)
    assert ended.code == 2
    assert reason in ended.err
    assert "me:pw" not in ended.err


def test_rates_show_intervals_over_problems(problems: Path) -> None:
    rates = Rates(samples=4)
    for place, problem in enumerate(files.iterate(problems)):
        rates.add(attrs.evolve(problem, difficulty={"level": 10, "pass_rate": place % 2}))
    assert rates.never == rates.always == 6
    assert "50.0% solved [25.4, 74.6]" in rates.text
    assert rates.tables()["FAMILY"] == [("sum-chain", "12", "0.500", "0.254-0.746")]
    assert list(rates.plain()["levels"]) == ["10"]


def test_mistakes_name_their_option(gen: Callable, problems: Path, tmp_path: Path) -> None:
    out = ("-o", tmp_path / "a.jsonl")
    nowhere = gen("calibrate", problems, "--model", "runs/nope", *out)
    assert "--model: runs/nope: no such run and no such directory" in nowhere.err
    server = ("--endpoint", "http://localhost:9", "--model-name", "m")
    for command in (
        ("calibrate", problems, *server, *out),
        ("check", problems),
        ("grade", problems, "--responses", problems),
    ):
        ended = gen(*command, "--verifier", "exakt")
        assert ended.code == 2
        assert "--verifier: unknown verifier 'exakt'; did you mean 'exact'?" in ended.err
