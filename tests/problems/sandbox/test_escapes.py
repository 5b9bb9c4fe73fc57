"""No attempt gets out of a sandbox, and without one nearly all would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from limite.problems.gen.main import cli
from limite.problems.sandbox.escapes.trial import ATTEMPTS
from limite.problems.sandbox.pool import Pool

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

SEEN_WITHOUT_A_ROOT = "see a file's size"
"""Landlock keeps contents, not names and sizes; where root starts it, an empty root does."""

HELD_BY_THE_WATCHER = {
    "use a descriptor that was left open",
    "read the caller's environment",
    "read its own first environment",
    "walk up to who started it",
    "leave a daemon behind",
}
"""What needs no layer: the program's process has none of this, and is not the last to end."""

UP_TO_THE_KERNEL = {
    "load a module into the kernel",
    "call the kernel as an x32 program",
    "call the kernel as a 32-bit program",
    "load a program into the kernel",
    "watch the processor's counters",
    "use the network through io_uring",
    "handle page faults",
    "keep a key in the kernel",
    "open a file by its handle",
    "read the kernel's log",
    "listen to all packets",
    "make a device",
    "read another's limits",
    "raise its own limits",
    "restart the machine, with a wrong word",
}
"""What some kernels and some containers refuse to everybody."""


def in_private(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python file run in private namespaces; told where they cannot be had."""
    ended = subprocess.run(
        [sys.executable, str(HERE / "private.py"), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    if "PermissionError" in ended.stderr and "unshare" in ended.stderr:
        pytest.xfail("private namespaces are refused, so that nothing is run unconfined")
    return ended


def told(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output)
    return found


def test_there_are_attempts_of_every_kind() -> None:
    names = [each.name for each in ATTEMPTS]
    assert len(set(names)) == len(names) >= 120
    kinds = {"files", "secrets", "tricks", "processes", "network", "system", "resources", "results"}
    counts = Counter(each.group for each in ATTEMPTS)
    assert set(counts) == kinds
    assert min(counts.values()) >= 6
    assert {SEEN_WITHOUT_A_ROOT} | HELD_BY_THE_WATCHER | UP_TO_THE_KERNEL <= set(names)


def test_nothing_gets_out(pool: Pool, backend: str) -> None:
    ended = CliRunner().invoke(cli, ["doctor", "--json", "--backend", backend])
    report = told(ended.stdout)
    assert report["backend"] == backend
    assert report["tried"] == len(ATTEMPTS)
    escaped = [each["name"] for each in report["attempts"] if each["escaped"]]
    expected = [SEEN_WITHOUT_A_ROOT] if backend == "landlock" and os.geteuid() != 0 else []
    assert escaped == expected
    assert ended.exit_code == bool(expected)
    how = {each["name"]: each["how"] for each in report["attempts"]}
    # A program that is broken reaches nothing either.
    broken = ("NameError", "SyntaxError", "AttributeError", "TypeError", "IndentationError")
    assert [name for name in how if how[name].startswith(broken)] == []


def test_without_layers_nearly_everything_gets_out() -> None:
    every = ("rlimits", "uid-drop", "no-capabilities", "no-new-privileges")
    ended = in_private(str(HERE / "reach.py"), *every)
    assert ended.returncode == 0, ended.stderr
    reached = set(json.loads(ended.stdout.splitlines()[-1]))
    tried = {
        each.name
        for each in ATTEMPTS
        if each.group != "results" and each.judge.__name__ in ("_memory", "reached", "_printed")
    }
    assert tried - reached - HELD_BY_THE_WATCHER - UP_TO_THE_KERNEL == set()
    assert reached & HELD_BY_THE_WATCHER == set()


def test_the_doctor_finds_resource_limits_alone_wanting() -> None:
    asked = ["doctor", "--json", "--backend", "rlimits", "--allow-weak-sandbox", "--on", "secrets"]
    ended = in_private("-m", "limite", "gen", *asked)
    report = told(ended.stdout)
    assert ended.returncode == 1
    assert {each["group"] for each in report["attempts"]} == {"secrets"}
    assert report["escaped"] == 5
    assert "attempts got out of the sandbox 'rlimits'" in ended.stderr
    assert "warning: this program runs with resource limits alone" in ended.stderr


def test_who_is_not_root_is_held_too() -> None:
    if os.geteuid() != 0:
        pytest.xfail("this is not root already, and every other test tells of it")
    kinds = [f"--on={each}" for each in ("files", "secrets", "processes", "network", "system")]
    ended = in_private("nobody", "-m", "limite", "gen", "doctor", "--json", *kinds)
    report = told(ended.stdout)
    assert report["escaped"] == 0, ended.stderr
    found = {each["backend"]: each for each in report["backends"]}
    if report["backend"] == "namespaces":
        assert "user-namespace" in found["namespaces"]["layers"]
    assert "not started by root" in found[report["backend"]]["missing"]["uid-drop"]


def test_where_there_is_no_sandbox_the_doctor_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    ended = CliRunner().invoke(cli, ["doctor", "--backend", "bwrap"])
    assert ended.exit_code == 1
    assert "bwrap: not to be had: bwrap is not installed" in ended.output


def test_each_layer_holds_something_by_itself() -> None:
    ended = in_private(str(HERE / "layers.py"))
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == {
        "rlimits": {},
        "uid-drop": {},
        "no-capabilities": {},
        "empty-root": {},
        "landlock": {},
        "seccomp": {},
        "namespaces": {},
    }
