"""The example plugin as its user meets it: installed with pip beside limite, listed, trained with.

The environment is new; torch and the other dependencies are lent to it by this one through a path
file, so that nothing is fetched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = ("limite", "recipes", "examples", "pyproject.toml", "README.md", "LICENSE")

# Teaches the remainders of small expressions badly, so that some responses to a problem are right
# and some wrong: only then does an objective have something to do.
RECIPE = """\
name = "tiny"
loggers = ["jsonl"]

[model]
width = 32
layers = 2
heads = 2
kv_heads = 1
head_width = 16
mlp_width = 64
context = 64

[stages.sft]
type = "sft"
problems = { sources = { modular-expression = 1 }, difficulty = [0.0, 0.0] }
documents = 200
steps = 40
batch = 32

[stages.rl]
type = "rl"
problems = { sources = { modular-expression = 1 }, difficulty = [0.0, 0.0] }
steps = 2
groups = 8
rollouts = 8
max_tokens = 8
objective = "softclip"
"""

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """``command("limite", ...)`` runs a program of an environment with limite and the example."""
    folder = tmp_path_factory.mktemp("example")
    venv.create(folder / "venv", with_pip=True)
    binaries = folder / "venv" / "bin"
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "lent.pth").write_text("\n".join(sorted(lent)))
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONPATH" and not name.startswith("LIMITE_")
    }

    def run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        ended = subprocess.run(
            [binaries / program, *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            check=False,
        )
        assert ended.returncode == 0, f"{program} {arguments}:\n{ended.stdout}\n{ended.stderr}"
        return ended

    for project in (source, source / "examples" / "limite-softclip"):
        # --ignore-installed: pip sees the lent limite, which is not this environment's own.
        run(
            "python",
            *("-m", "pip", "install", "--disable-pip-version-check", "--no-index"),
            *("--no-deps", "--no-build-isolation", "--ignore-installed", project),
        )
    where = run("python", "-c", "import limite, limite_softclip; print(limite.__file__)").stdout
    assert Path(where.strip()).is_relative_to(folder / "venv")
    return run


def test_it_is_listed_with_its_distribution(command: Command) -> None:
    listed = json.loads(command("limite", "plugins", "objective", "--json").stdout)
    assert not listed["broken"]
    (row,) = (row for row in listed["components"] if row["name"] == "softclip")
    assert (row["distribution"], row["version"]) == ("limite-softclip", "0.1.0")
    assert row["status"] == "ok"
    assert row["summary"].startswith("Sigmoid-gated importance ratio")
    page = command("limite", "plugins", "objective/limite-softclip/softclip").stdout
    assert "needs: advantage, behavior_logp" in page


def test_it_keeps_the_laws(command: Command) -> None:
    results = json.loads(command("limite", "plugins", "--laws", "limite-softclip", "--json").stdout)
    assert len(results) > 3
    assert all(result["ok"] for result in results)


def test_its_test_file_is_the_laws(command: Command) -> None:
    folder = ROOT / "examples" / "limite-softclip"
    # All of the laws have run above; one is enough to see that the file works.
    options = ("-c", folder / "pyproject.toml", "-p", "no:cacheprovider", "-k", "reads_what_it")
    ended = command("python", "-m", "pytest", *options, folder / "test_softclip.py")
    assert "1 passed" in ended.stdout


def test_it_trains_by_name(command: Command, tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(RECIPE)
    command("limite", "run", recipe, "--out", tmp_path / "runs")
    (run,) = (tmp_path / "runs").iterdir()
    assert 'type = "softclip"' in (run / "recipe.toml").read_text()
    (metrics,) = run.glob("stages/*-rl/metrics.jsonl")
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert len(rows) == 2
    assert rows[-1]["optim/updates"] > 0
    assert all(isinstance(row["loss"], float) for row in rows)


def test_the_wheel_brings_the_recipes(command: Command) -> None:
    listed = json.loads(command("limite", "recipes", "--json").stdout)
    shipped = {path.name for path in (ROOT / "recipes").glob("[a-z]*.*") if path.is_file()}
    assert {row["file"] for row in listed} == shipped
