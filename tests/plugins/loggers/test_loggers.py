from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.kinds import LoggerContext
from limite.plugins.conformance.logger import logger_laws
from limite.plugins.loggers.console import Console
from limite.plugins.loggers.jsonl import JSONL

LAWS = {
    f"{type(component).__name__}-{name}": law
    for component in (Console(), Console(lines=1), JSONL())
    for name, law in logger_laws(component).items()
}


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_built_in_loggers_keep_the_laws(law: Callable[[], None]) -> None:
    law()


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"close": lambda self: self.closed.append(1) or 1 / (len(self.closed) - 2)}),
        pytest.param({"log": lambda self, step, metrics: float(metrics["loss"])}),
        pytest.param({"log": lambda self, step, metrics: metrics.pop("time_s", None)}),
        pytest.param({"log": lambda self, step, metrics: (self.stage / "../x").write_text("")}),
    ],
)
def test_the_laws_catch_loggers_that_break_them(broken: dict[str, Callable[..., object]]) -> None:
    class Bad:
        def build(self, context: LoggerContext) -> object:
            methods = {"log": lambda self, step, metrics: None, "close": lambda self: None}
            run = type("Run", (), methods | broken)()
            run.closed, run.stage = [], context.directory
            return run

    failed = []
    for name, law in logger_laws(Bad()).items():
        try:
            law()
        except (AssertionError, ArithmeticError, KeyError, TypeError, ValueError):
            failed.append(name)
    assert failed


def run_lines(component: Console, steps: int, total: int, **metrics: float) -> list[str]:
    lines: list[str] = []
    context = LoggerContext(
        stage="sft", directory=Path("unused"), total_steps=total, echo=lines.append
    )
    running = component.build(context)
    for step in range(1, steps + 1):
        running.log(step, {"loss": 1.5, "time_s": float(step), **metrics})
    running.close()
    return lines


def test_a_long_stage_prints_few_plain_lines_with_its_first_and_last_step() -> None:
    lines = run_lines(Console(), 1000, 1000)
    assert len(lines) == 21
    assert lines[0] == "sft     1/1000  loss 1.500  1.0 s"
    assert lines[-1] == "sft  1000/1000  loss 1.500  1000.0 s"


@given(total=st.integers(1, 3000), lines=st.integers(1, 40))
def test_no_stage_prints_more_plain_lines_than_asked_and_its_first(total: int, lines: int) -> None:
    printed = run_lines(Console(lines=lines), total, total)
    assert min(total, lines) / 2 <= len(printed) <= min(total, lines + 1)
    assert f"{total}/{total}" in printed[-1]


def test_a_short_stage_prints_every_step() -> None:
    assert len(run_lines(Console(), 12, 12)) == 12


def test_the_first_match_of_each_pattern_is_shown_in_the_order_of_the_patterns() -> None:
    metrics = {"b/y": 2, "b/x": 1, "a/z": 3.0e-9, "c/q": None, "c/r": "text"}
    lines: list[str] = []
    context = LoggerContext(stage="rl", directory=Path("unused"), total_steps=1, echo=lines.append)
    Console(metrics=("b/*", "c/*", "a/*", "b/y")).build(context).log(1, metrics)
    assert lines == ["rl  1/1  b/x 1  a/z 3.00e-09  b/y 2"]


def test_a_stage_that_is_silenced_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    context = LoggerContext(
        stage="rl", directory=Path("unused"), total_steps=3, echo=lambda line: None
    )
    running = Console().build(context)
    for step in (1, 2, 3):
        running.log(step, {"loss": 1.0})
    running.close()
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_one_line_moves_and_other_text_stands_above_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    context = LoggerContext(
        stage="sft [x]", directory=Path("unused"), total_steps=40, echo=print, live=True
    )
    running = Console().build(context)
    running.log(1, {"loss": 2.0})
    print("a warning")
    running.log(40, {"loss": 0.25})
    running.close()
    running.close()
    out = terminal.getvalue()
    assert sys.stdout is terminal
    assert "sft [x]" in out
    assert "a warning\n" in out
    assert "40/40" in out.splitlines()[-1] + out.splitlines()[-2]
    assert "loss 0.250" in out


def test_metrics_are_one_object_a_step_with_the_clocks_first(tmp_path: Path) -> None:
    context = LoggerContext(stage="rl", directory=tmp_path, total_steps=2, echo=lambda line: None)
    running = JSONL().build(context)
    running.log(1, {"ratio/mean": float("nan"), "tokens": 7, "a/b": None, "time_s": 0.5, "step": 9})
    # Before anything is closed the line can be read.
    text = (tmp_path / "metrics.jsonl").read_text()
    assert text == '{"step":1,"time_s":0.5,"tokens":7,"a/b":null,"ratio/mean":"NaN"}\n'
    running.log(2, {"tokens": 8})
    running.close()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == {"step": 2, "tokens": 8}


def test_a_metric_that_is_no_number_is_refused_by_name(tmp_path: Path) -> None:
    context = LoggerContext(stage="rl", directory=tmp_path, total_steps=2, echo=lambda line: None)
    with pytest.raises(LimiteError, match=r"loss: .*object is not JSON"):
        JSONL().build(context).log(1, {"loss": object()})  # type: ignore[dict-item]
    assert not (tmp_path / "metrics.jsonl").exists()
