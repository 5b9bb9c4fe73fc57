from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from limite.core.recipe import engine
from limite.core.recipe.engine import RunResult, start
from limite.core.recipe.report import write_report

TINY = Path(__file__).parent / "tiny.toml"


def digest_of(run: Path) -> dict[str, str]:
    """Weights, samples and results by hash, logs without their clocks."""
    found = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.suffix == ".safetensors" or path.name == "results.json" or ".zst" in path.name:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        elif path.name in ("metrics.jsonl", "health.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            found[name] = json.dumps(
                [
                    {key: value for key, value in line.items() if not key.startswith("time")}
                    for line in lines
                ]
            )
    return found


@pytest.fixture(scope="session")
def digest() -> Callable[[Path], dict[str, str]]:
    return digest_of


@pytest.fixture(scope="session")
def tiny() -> Path:
    """A recipe of four stages that runs in seconds."""
    return TINY


def quiet(_line: str) -> None:
    """An echo that says nothing."""


@contextmanager
def pages() -> Iterator[None]:
    """Runs within it write their page, as everybody's do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "write_report", write_report)
        yield


@pytest.fixture(scope="module", autouse=True)
def without_pages() -> Iterator[None]:
    """Other runs write none: drawing one takes longer than most of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "write_report", lambda run: run / "report.html")
        yield


@pytest.fixture(scope="session")
def run_tiny() -> Callable[..., RunResult]:
    def run(out: Path, **options: Any) -> RunResult:
        return start(TINY, out=out, echo=options.pop("echo", quiet), **options)

    return run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, run_tiny: Any) -> RunResult:
    """One finished run, shared by tests that only read it."""
    with pages():
        result: RunResult = run_tiny(tmp_path_factory.mktemp("finished"))
    return result
