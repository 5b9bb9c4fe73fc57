"""Ctrl-C while a command starts ends it with one sentence, whatever is being imported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from limite.core.cli.importing import importing
from limite.core.cli.main import main

SAID = "stopped before anything began"
INTERRUPTS = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('went on')\n"


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """What a shell runs in the background begins with Ctrl-C ignored, and so do its programs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("command", ["run", "eval", "export"])
def test_an_interrupt_inside_of_torch_raises_nothing(command: str, tmp_path: Path) -> None:
    # What stands for torch here interrupts itself; the real one would abort in C++.
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(INTERRUPTS, encoding="utf-8")
    more = {"run": [], "eval": ["--benchmark", "limite-sums"], "export": ["--to", "model"]}
    environment = {**os.environ}
    environment["PYTHONPATH"] = f"{tmp_path}:{environment.get('PYTHONPATH', '')}"
    (tmp_path / "run.toml").touch()
    ended = subprocess.run(
        [sys.executable, "-m", "limite", command, str(tmp_path / "run.toml"), *more[command]],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", SAID + "\n")


def test_an_interrupt_while_a_command_is_looked_up_says_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_module: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("limite.core.cli.groups.importlib.import_module", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as ended:
        main(["check", "my.toml"])
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == SAID
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_among_imports_is_still_one() -> None:
    with pytest.raises(KeyboardInterrupt, match=SAID), importing():
        os.kill(os.getpid(), signal.SIGINT)
