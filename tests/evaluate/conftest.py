"""``limite eval``, called in this process as a shell would call it, and a run to measure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from limite.core.cli.main import main
from limite.core.recipe.engine import start
from tests.evaluate.asked import RUN, problem


@attrs.frozen
class Ended:
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of two stages and a file of problems."""
    folder = tmp_path_factory.mktemp("eval")
    (folder / "letters.toml").write_text(RUN)
    start(folder / "letters.toml", out=folder / "runs", name="letters", echo=lambda _line: None)
    (folder / "p.jsonl").write_text(
        "".join(f"{json.dumps(problem(each))}\n" for each in range(5)), encoding="utf-8"
    )
    return folder


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["eval", *map(str, arguments)])
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, printed.out, printed.err)

    return call
