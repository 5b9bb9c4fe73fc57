"""The command itself: help, typos, exit codes, and which errors show a traceback."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from limite import __version__
from limite.core.cli import main as module
from limite.core.errors import LimiteError, Mistake, RunFailed, SettingsError


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``failing(error)`` makes ``limite fail`` a command that raises it."""

    def make(error: BaseException) -> None:
        @click.command()
        def fail() -> None:
            raise error

        monkeypatch.setattr(module, "_a_command_that_fails", fail, raising=False)
        table = {"fail": ("limite.core.cli.main:_a_command_that_fails", "Fails.")}
        monkeypatch.setattr(module.cli, "table", table)

    return make


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_every_command_with_its_line(limite: Any, flag: str) -> None:
    ended = limite(flag)
    assert ended.code == 0
    for name, (_, line) in module.COMMANDS.items():
        assert name in ended.out
        assert line in ended.out


@pytest.mark.parametrize("name", module.COMMANDS)
def test_every_command_is_there_and_has_help(limite: Any, name: str) -> None:
    address = module.COMMANDS[name][0]
    command = getattr(importlib.import_module(address.partition(":")[0]), address.split(":")[1])
    assert isinstance(command, click.Command)
    ended = limite(name, "--help")
    assert ended.code == 0
    assert "--debug" in ended.out


def test_version(limite: Any) -> None:
    assert limite("--version").out == f"limite {__version__}\n"


def test_no_command_shows_the_help(limite: Any) -> None:
    ended = limite()
    assert ended.code == 2
    assert "Commands:" in ended.err


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["plugin"], "no command 'plugin'; did you mean 'plugins'?"),
        (["repotr"], "no command 'repotr'; did you mean 'report'?"),
        (["xyzzy"], "no command 'xyzzy'; there are run, check, resume"),
        (["plugins", "--jsn"], "--json"),
        (["--verson"], "--version"),
        (["recipes", "cpy"], "no command 'cpy'; did you mean 'copy'?"),
    ],
)
def test_typos_get_a_suggestion(limite: Any, arguments: list[str], suggestion: str) -> None:
    ended = limite(*arguments)
    assert ended.code == 2
    assert suggestion in ended.err


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (LimiteError("heads must divide width"), 2, "error: heads must divide width\n"),
        (RunFailed("the gate failed"), 1, "error: the gate failed\n"),
        (
            SettingsError(
                [
                    Mistake("expected int, got float 7.5", path="seed", file="bad.toml", line=2),
                    Mistake("unknown key", path="sed", file="bad.toml", line=3),
                ]
            ),
            2,
            "bad.toml:2: seed: expected int, got float 7.5\nbad.toml:3: sed: unknown key\n",
        ),
        (KeyboardInterrupt(), 130, ""),
        (KeyboardInterrupt("go on with: limite resume runs/x"), 130, "limite resume runs/x\n"),
    ],
)
def test_errors_of_the_user_end_without_a_traceback(
    limite: Any, failing: Any, error: BaseException, code: int, shown: str
) -> None:
    failing(error)
    ended = limite("fail")
    assert ended.code == code
    assert ended.out == ""
    assert ended.err.endswith(shown)
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("arguments", [["--debug", "fail"], ["fail", "--debug"]])
def test_debug_shows_the_traceback(limite: Any, failing: Any, arguments: list[str]) -> None:
    failing(LimiteError("heads must divide width"))
    ended = limite(*arguments)
    assert ended.code == 2
    assert "Traceback" in ended.err
    assert ended.err.endswith("heads must divide width\n")


def test_a_bug_keeps_its_traceback(failing: Any) -> None:
    failing(ZeroDivisionError("ours"))
    with pytest.raises(ZeroDivisionError, match="ours"):
        module.main(["fail"])


def test_as_a_module_and_into_a_pipe_that_closes() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "limite", "--help"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    os.close(writing)
    assert ended.stderr == ""
    assert ended.returncode == 1


@pytest.mark.parametrize(
    ("redirection", "sentence"),
    [
        ("> /dev/full", "error: cannot write to standard output: No space left on device\n"),
        (">&-", "error: standard output is closed; send it to /dev/null to do without\n"),
    ],
)
@pytest.mark.parametrize("arguments", ["--help", "plugins", "recipes --json"])
def test_output_that_cannot_be_written_is_one_sentence(
    arguments: str, redirection: str, sentence: str
) -> None:
    ended = subprocess.run(
        ["sh", "-c", f'exec "$0" -m limite {arguments} {redirection}', sys.executable],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert ended.stderr == sentence
    assert ended.returncode == 1


def test_another_error_of_the_system_keeps_its_traceback(failing: Any) -> None:
    failing(PermissionError("ours"))
    with pytest.raises(PermissionError, match="ours"):
        module.main(["fail"])
