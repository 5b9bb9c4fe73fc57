"""A command of a page: run in a folder as a shell would run it, or only looked at."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import attrs
import click
import pytest

from limite.core.cli.main import cli, main
from limite.problems.gen.main import cli as problems
from limite.problems.gen.main import main as main_of_problems
from tests.docs.blocks import ROOT, words_of

PROGRAMS = {"limite": (cli, main), "limite-gen": (problems, main_of_problems)}
PLAIN = {"cp", "grep", "head", "ls", "tail", "touch"}
"""Programs that every machine has."""
FOREIGN = {"vllm", "python -m sglang.launch_server", "llama-server"}
"""Programs of others, which nothing here can look at."""


@attrs.frozen
class Ended:
    code: int
    said: str


def run(command: str, folder: Path) -> Ended:
    """Run it to its end: limite in this process, which has imported torch, others beside it."""
    variables, words = words_of(command)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in variables.items():
            patch.setenv(name, value)
        if words[0] in PROGRAMS:
            return _called(words)
        if words[0] == "torchrun":
            words[:1] = ["python", "-m", "torch.distributed.run"]
        if words[0] == "python":
            words[0] = sys.executable
        else:
            assert words[0] in PLAIN, f"nothing is known of {words[0]!r}: {command}"
        return _ended(words)


def run_lent(command: str, folder: Path, package: Path) -> Ended:
    """Run limite in a process that finds ``package`` as if it were installed."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = package / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir(exist_ok=True)
    said = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(said, encoding="utf-8")
    points = project["entry-points"]["limite"].items()
    (about / "entry_points.txt").write_text(
        "[limite]\n" + "".join(f"{name} = {module}\n" for name, module in points), encoding="utf-8"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("LIMITE_PLUGINS")
        paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        return _ended([sys.executable, "-m", *words_of(command)[1]])


def _ended(words: list[str]) -> Ended:
    ended = subprocess.run(words, capture_output=True, text=True, env=os.environ, check=False)
    return Ended(ended.returncode, ended.stdout + ended.stderr)


def _called(words: list[str]) -> Ended:
    said = io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as ended,
    ):
        PROGRAMS[words[0]][1](words[1:])
    code = ended.value.code
    return Ended(code if isinstance(code, int) else 0, said.getvalue())


def look_at(command: str) -> None:
    """Fail where a program, an option, an extra, a marker or a target is not there."""
    _, words = words_of(command)
    if words[0] in PROGRAMS:
        _parsed(PROGRAMS[words[0]][0], words)
    elif words[:3] == ["python", "-m", "pytest"] or words[0] == "pytest":
        _tests(words)
    elif words[0] == "pip":
        _installed(words)
    elif words[0] == "torchrun":
        _launched(words)
    elif words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        assert set(words[1:]) <= set(targets), words
    elif words[:2] == ["python", "-m"] and words[2].partition(".")[0] in (
        "benchmarks",
        "limite",
        "venv",
    ):
        assert importlib.util.find_spec(words[2]), words
    elif words[0] in PLAIN:
        assert shutil.which(words[0]), words
    elif words[:2] == ["python", "-c"]:
        compile(words[2], "page", "exec")
    elif not (FOREIGN & {words[0], " ".join(words[:3])}):
        assert (ROOT / words[0]).exists(), f"nothing is known of {words[0]!r}: {command}"


def _parsed(program: click.Command, words: list[str]) -> None:
    """Options and arguments of a command, as click reads them; files need not be there."""
    context = click.Context(program)
    rest = words[1:]
    while isinstance(program, click.Group) and rest and not rest[0].startswith("-"):
        found = program.get_command(context, rest[0])
        assert found is not None, f"there is no command {rest[0]!r}: {words}"
        program, context, rest = found, click.Context(found), rest[1:]
    values, left, _ = program.make_parser(context).parse_args(list(rest))
    assert not left, words
    for parameter in program.params:
        value = values.get(str(parameter.name))
        given = isinstance(value, (str, list, tuple))  # and no mark of what was not named
        if given and not isinstance(parameter.type, (click.Path, click.File)):
            parameter.type_cast_value(context, value)
        assert given or not parameter.required, f"{parameter.name} is missing: {words}"


def _installed(words: list[str]) -> None:
    assert words[1] == "install", words
    for word in words[2:]:
        place, _, extras = word.rstrip("]").partition("[")
        if place in (".", "limite"):
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
            known = project["project"]["optional-dependencies"]
            assert set(filter(None, extras.split(","))) <= set(known), word
        elif "/" in place:
            assert (ROOT / place / "pyproject.toml").exists(), word
        else:
            assert place in ("-e", "--no-deps") or re.fullmatch(r"[a-z][\w-]*(==[\d.]+)?", place), (
                word
            )


def _tests(words: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    markers = {
        marker.partition(":")[0] for marker in project["tool"]["pytest"]["ini_options"]["markers"]
    }
    for before, word in itertools.pairwise(words):
        assert before != "-m" or word in markers | {"pytest"}, word
        assert not word.startswith("tests/") or (ROOT / word).exists(), word


def _launched(words: list[str]) -> None:
    from torch.distributed.run import get_args_parser

    known = get_args_parser().parse_args(words[1:])
    assert (known.module, known.training_script) == (True, "limite"), words
    look_at(" ".join(["limite", *known.training_script_args]))
