"""RL stages whose responses come from a server: trained through it, killed, resumed, refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from limite.core.endpoint.client import Patience
from limite.core.errors import LimiteError, RunFailed
from limite.core.jsonl import read_jsonl
from limite.core.recipe.context import RunStopped
from limite.core.recipe.engine import RunResult, go_on, start
from limite.core.recipe.verify.run import verify_run
from limite.core.rollout.stop import StopRequest
from limite.core.tokenizer import CharacterTokenizer
from limite.plugins.conformance.model_server import ModelServer
from limite.plugins.engines import openai_server

REMOTE = Path(__file__).parent / "remote.toml"
BATCH = 6  # responses
PATH = "/generate"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(openai_server, "Patience", partial(Patience, first_wait_s=0.01))
    with ModelServer(CharacterTokenizer()) as found:
        monkeypatch.setenv("LIMITE_TEST_ENGINE", found.url)
        yield found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, digest: Any) -> Mapping[str, str]:
    """What an undisturbed run leaves."""
    with pytest.MonkeyPatch.context() as patch, ModelServer(CharacterTokenizer()) as server:
        patch.setenv("LIMITE_TEST_ENGINE", server.url)
        out = tmp_path_factory.mktemp("whole")
        found = digest(start(REMOTE, out=out, name="whole", echo=lambda _line: None).path)
        assert len(sampled(server)) == 3 * BATCH
        return cast(Mapping[str, str], found)


@pytest.fixture
def run(server: ModelServer, tmp_path: Path) -> Callable[..., RunResult]:
    def call(*overrides: str, name: str = "remote", echo: Any = lambda _line: None) -> RunResult:
        return start(REMOTE, out=tmp_path, name=name, overrides=overrides, echo=echo)

    return call


def lines(run: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "stages/01-rl" / name).read_text().splitlines()]


def responses(run: Path) -> list[dict[str, Any]]:
    places = sorted((run / "stages/01-rl/rollouts").iterdir())
    return [line for place in places for line in read_jsonl(place)]


def sampled(server: ModelServer) -> list[tuple[Any, ...]]:
    """What was asked of the server, without its probes: those of one token, and the first."""
    asked = [body for path, body in server.asked if path == PATH]
    return [
        (*body["input_ids"], body["sampling_params"]["sampling_seed"])
        for body in asked[1:]
        if body["sampling_params"]["max_new_tokens"] > 1
    ]


def test_a_stage_is_trained_through_a_server(server: ModelServer, run: Any) -> None:
    result = run()
    metrics = lines(result.path, "metrics.jsonl")
    assert [line["optim/updates"] for line in metrics] == [1, 2, 3]
    for line in metrics:
        assert line["ratio/clipped_token_fraction"] == 0.0
        assert line["ratio/mean_weight"] == pytest.approx(1.0, abs=1e-4)
    assert all(line["passed"] for line in lines(result.path, "health.jsonl"))
    versions = [line["policy_version"] for line in responses(result.path)]
    assert versions == [version for version in range(3) for _ in range(BATCH)]
    pushed = [body for path, body in server.asked if path == "/update_weights_from_disk"]
    assert [body["weight_version"] for body in pushed] == ["0", "1", "2"]
    assert len(sampled(server)) == 3 * BATCH
    assert not (result.path / "stages/01-rl/engine").exists()
    assert not verify_run(result.path).violations


@pytest.mark.nightly
def test_a_killed_run_asks_for_nothing_twice(
    server: ModelServer, whole: Mapping[str, str], tmp_path: Path, digest: Any
) -> None:
    killed: list[int] = []

    def spoil(path: str, reply: Any) -> Any:
        if path == PATH and len(sampled(server)) == BATCH + 4 and not killed:
            killed.append(process.pid)
            os.kill(process.pid, signal.SIGKILL)
        return reply

    server.spoil = spoil
    process = subprocess.Popen(
        [sys.executable, "-m", "limite", "run", REMOTE, "--out", tmp_path, "--name", "killed"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL, said.decode()
    before = Counter(sampled(server))
    server.asked.clear()
    resumed = go_on(tmp_path / "killed", echo=lambda _line: None)
    assert digest(resumed.path) == whole
    twice = before & Counter(sampled(server))
    # Those that the server answered as the process died never arrived: there were two at most.
    assert sum(twice.values()) <= 2
    assert sum((before | Counter(sampled(server))).values()) == 3 * BATCH
    assert BATCH < sum(before.values()) < 2 * BATCH


@pytest.mark.parametrize("turns", ["after-update", "before-update"])
def test_a_stop_waits_for_no_batch_and_asks_for_nothing_twice(
    server: ModelServer,
    run: Any,
    whole: Mapping[str, str],
    tmp_path: Path,
    digest: Any,
    turns: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C among the responses of the second batch, and before the first one has come."""
    ahead = turns == "before-update"
    sets = [f"stages.rl.rollout_prefetch_schedule={turns}", "stages.rl.max_policy_lag=2"]
    sets += ["stages.rl.overlap_actor_learner=true"] * ahead
    undisturbed = digest(run(*sets, name="undisturbed").path) if ahead else whole
    server.asked.clear()
    at = [BATCH + 4]
    heard = threading.Event()
    hear = StopRequest._handle

    def handle(*arguments: Any) -> None:
        hear(*arguments)
        heard.set()

    monkeypatch.setattr(StopRequest, "_handle", handle)

    def spoil(path: str, reply: Any) -> Any:
        if path == PATH and at and len(sampled(server)) == at[0]:
            at.pop()
            heard.clear()
            os.kill(os.getpid(), signal.SIGINT)
            # The main thread, which hears signals, may be in the middle of a long operation.
            assert heard.wait(60)
        return reply

    server.spoil = spoil
    one_by_one = "stages.rl.engine.concurrency=1"
    with pytest.raises(RunStopped, match="nothing is lost") as stopped:
        run(*(sets if ahead else ()), one_by_one, name="stopped")
    if not ahead:
        assert "after step 1 of 3, while the next batch was sampled" in str(stopped.value)
    before = Counter(sampled(server))
    assert sum(before.values()) == BATCH + 4
    server.asked.clear()
    # A stop before anything of a batch has come asks for nothing at all.
    at.append(1)
    with pytest.raises(RunStopped, match="after step 1 of 3"):
        go_on(tmp_path / "stopped", echo=lambda _line: None)
    before += Counter(sampled(server))
    server.asked.clear()
    resumed = go_on(tmp_path / "stopped", echo=lambda _line: None)
    assert digest(resumed.path) == undisturbed
    asked = Counter(sampled(server))
    assert sum((before + asked).values()) == 3 * BATCH + sum((before & asked).values())
    assert sum((before & asked).values()) <= 2, "asked for twice"


def test_what_passes_does_not_stop_a_stage(
    server: ModelServer, run: Any, whole: Mapping[str, str], digest: Any
) -> None:
    count = 0

    def spoil(path: str, reply: Any) -> Any:
        nonlocal count
        count += path == PATH
        if path == PATH and count == 6:
            server.planned.append((429, {"Retry-After": "0"}, b"{}"))
        return {5: b'{"meta_info": ', 8: b"<html>busy</html>", 11: b"{}"}.get(count, reply)

    server.spoil = spoil
    # One at a time: side by side, both tries of one response could be among those that fail.
    run_path = run("stages.rl.engine.concurrency=1", name="disturbed").path
    assert digest(run_path) == whole
    assert count > 3 * BATCH


def test_a_server_that_goes_away_is_named_and_the_run_goes_on(
    server: ModelServer, run: Any, whole: Mapping[str, str], tmp_path: Path, digest: Any
) -> None:
    server.spoil = lambda path, reply: _broken(server) if len(sampled(server)) > 8 else reply
    with pytest.raises(RunFailed, match=rf"{server.host} did not answer: status 500, 2 times"):
        run("stages.rl.engine.concurrency=1", name="gone")
    came = Counter(sampled(server)[:8])
    server.spoil = lambda _path, reply: reply
    server.planned.clear()
    server.asked.clear()
    resumed = go_on(tmp_path / "gone", echo=lambda _line: None)
    assert digest(resumed.path) == whole
    asked = Counter(sampled(server))
    assert not came & asked, "asked for twice"
    assert sum((came + asked).values()) == 3 * BATCH


def _broken(server: ModelServer) -> bytes:
    server.planned += [(500, {}, b"{}")] * 50
    return b"["


def _deeper(change: Callable[[dict[str, Any]], object]) -> Callable[[str, Any], Any]:
    def spoil(path: str, reply: Any) -> Any:
        if path == PATH:
            change(reply)
        return reply

    return spoil


def _pairs(reply: dict[str, Any]) -> list[list[Any]]:
    found: list[list[Any]] = reply["meta_info"]["output_token_logprobs"]
    return found


def _another_id(reply: dict[str, Any]) -> None:
    _pairs(reply)[0][1] = 700
    reply["output_ids"][0] = 700


def _neighbours(reply: dict[str, Any]) -> None:
    """Ids of the vocabulary, and not those that were drawn."""
    for pair in _pairs(reply):
        pair[1] = pair[1] if pair[1] == 2 else 3 + (pair[1] + 20) % 40
    reply["output_ids"] = [pair[1] for pair in _pairs(reply)]


def _sharper(reply: dict[str, Any]) -> None:
    for pair in _pairs(reply):
        pair[0] /= 2


REFUSALS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no log-probabilities": (
        lambda reply: reply["meta_info"].pop("output_token_logprobs"),
        "it gives no log-probabilities (meta_info.output_token_logprobs)",
    ),
    "one lacking": (
        lambda reply: _pairs(reply)[0].__setitem__(0, None),
        "token 0 of its response has no log-probability",
    ),
    "wrong ids": (_another_id, "it gives token id 700, which the tokenizer of"),
    "ids of other tokens": (_neighbours, "its log-probabilities are not those of the policy"),
    "another distribution": (_sharper, "its log-probabilities are not those of the policy"),
    "other lengths": (
        lambda reply: reply["output_ids"].append(5),
        "its output_ids are other tokens than its meta_info.output_token_logprobs",
    ),
    "another ending": (
        lambda reply: reply["meta_info"]["finish_reason"].update(type="abort"),
        "its response ended by 'abort'",
    ),
    "another version": (
        lambda reply: reply["meta_info"].update(weight_version="default"),
        "it says that it sampled with weights 'default', where version '0' was pushed",
    ),
    "above 0": (
        lambda reply: _pairs(reply)[0].__setitem__(0, 0.5),
        "token 0 of its response has log-probability 0.5, which is above 0",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_learned_from_is_refused_before_the_first_batch(
    server: ModelServer, run: Any, name: str
) -> None:
    change, reason = REFUSALS[name]
    server.spoil = _deeper(change)
    with pytest.raises(LimiteError, match="the server cannot sample for this stage") as refused:
        run(name=f"refused-{name.replace(' ', '-')}")
    assert reason in str(refused.value)
    assert str(refused.value).startswith(server.host)
    assert not sampled(server)


def test_all_refusals_are_told_at_once(server: ModelServer, run: Any) -> None:
    def change(reply: dict[str, Any]) -> None:
        _another_id(reply)
        _pairs(reply)[0][0] = None
        reply["meta_info"]["weight_version"] = "7"

    server.spoil = _deeper(change)
    with pytest.raises(LimiteError) as refused:
        run()
    assert len(str(refused.value).splitlines()) == 4


def test_probabilities_of_another_temperature_are_refused(
    server: ModelServer, run: Any, tmp_path: Path
) -> None:
    server.directory, server.raw = tmp_path / "policy", True
    overrides = (
        "stages.rl.temperature=0.5",
        "stages.rl.engine.server=vllm",
        f"stages.rl.engine.directory={server.directory}",
    )
    with pytest.raises(LimiteError, match=r"are of temperature 1, and it samples at 0\.5"):
        run(*overrides)


def test_a_server_that_keeps_old_weights_is_found_out(server: ModelServer, run: Any) -> None:
    load = server._load
    server._load = lambda directory: load(directory) if server.decoder is None else None  # type: ignore[method-assign]
    with pytest.raises(RunFailed, match="does not have the weights of version 1"):
        run("stages.rl.optimizer.lr=0.3")


def test_a_server_that_will_not_take_weights_is_quoted(server: ModelServer, run: Any) -> None:
    server.spoil = lambda path, reply: (
        {"success": False, "message": "no memory"} if path != PATH else reply
    )
    wanted = r"did not take up the weights of version 0: /update.*: the server says 'no memory'"
    with pytest.raises(LimiteError, match=wanted):
        run()


def test_what_else_is_wrong_is_told_with_it(server: ModelServer, run: Any) -> None:
    refusal = {"success": False, "message": "no"}
    empty = {"text": "", "meta_info": {}}
    server.spoil = lambda path, _reply: empty if path == PATH else refusal
    with pytest.raises(LimiteError) as refused:
        run()
    first, pushed, lacking = str(refused.value).splitlines()
    assert "the server cannot sample for this stage" in first
    assert "did not take up the weights" in pushed
    assert "it gives no log-probabilities" in lacking


def test_a_drift_between_server_and_learner_is_measured(server: ModelServer, run: Any) -> None:
    def spoil(path: str, reply: Any) -> Any:
        if path == PATH and len(sampled(server)) > 0:
            _sharper(reply)
        return reply

    server.spoil = spoil
    with pytest.raises(RunFailed, match="ratio/clipped_token_fraction is"):
        run("stages.rl.health.action=stop")


def test_a_directory_of_someone_else_is_not_replaced(
    server: ModelServer, run: Any, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    with pytest.raises(LimiteError, match=r"holds no file 'limite-engine\.json'"):
        run(f"stages.rl.engine.directory={tmp_path / 'mine'}")
    assert (tmp_path / "mine" / "notes").read_text() == "mine"


def test_a_command_is_run_after_every_push(server: ModelServer, run: Any, tmp_path: Path) -> None:
    script = tmp_path / "tell.py"
    script.write_text("import sys; print(*sys.argv[1:]); sys.exit(int(sys.argv[2]) == 1)")
    command = [sys.executable, str(script), "{directory}/config.json", "{version}"]
    with pytest.raises(
        RunFailed, match=r"ended with 1, so that .*; it said: .*/engine/weights/config\.json 1"
    ):
        run(f"stages.rl.engine.command={json.dumps(command)}")
