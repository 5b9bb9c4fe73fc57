from __future__ import annotations

import os
import platform
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import limite
from limite.core.jsonl import dumps
from limite.core.receipts import differences, git_state, make_receipt, recipe_hash

RECIPE = {"name": "small", "seed": 3, "stages": {"rl": {"lr": 1e-3, "mix": {"b": 1, "a": 2}}}}


def git(folder: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *settings, "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "recipe.py").write_text("one")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def receipt(**changes: Any) -> dict[str, Any]:
    arguments = {"recipe": RECIPE, "seeds": {"recipe": 3}, "plugins": {"limite-softclip": "0.1"}}
    return make_receipt(**arguments | changes)


def test_a_receipt_says_what_ran() -> None:
    made = receipt(source_text="recipe = ...", threads=2)
    assert made["limite"] == limite.__version__
    assert made["python"] == platform.python_version()
    assert made["packages"]["torch"] == sys.modules["importlib.metadata"].version("torch")
    assert made["plugins"] == {"limite-softclip": "0.1"}
    assert made["recipe_sha256"] == recipe_hash(RECIPE)
    assert re.fullmatch(r"[0-9a-f]{64}", made["source_sha256"])
    assert made["git"] is None
    assert made["hardware"]["cores"] == os.cpu_count()
    assert made["hardware"]["cpu"]
    assert (made["dtype"], made["threads"], made["seeds"]) == ("float32", 2, {"recipe": 3})


def test_a_receipt_is_the_same_each_time() -> None:
    assert dumps(receipt()) == dumps(receipt())
    assert differences(receipt(), receipt(), ignore=()) == []


def test_the_hash_of_a_recipe_knows_its_content_alone() -> None:
    again = {"stages": {"rl": {"mix": {"a": 2, "b": 1}, "lr": 0.001}}, "seed": 3, "name": "small"}
    assert recipe_hash(again) == recipe_hash(RECIPE)
    assert recipe_hash(RECIPE | {"seed": 4}) != recipe_hash(RECIPE)
    assert recipe_hash(RECIPE | {"seed": 3.0}) != recipe_hash(RECIPE)


def test_a_receipt_names_no_host_no_user_and_no_absolute_path(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "node", lambda: "secret-host")
    monkeypatch.setattr(socket, "gethostname", lambda: "secret-host")
    for name in ("USER", "LOGNAME", "HOME"):
        monkeypatch.setenv(name, "secret-user")
    text = dumps(receipt(source_text="x", source_path=repository / "recipe.py"))
    assert "secret" not in text
    assert str(repository) not in text
    assert not re.search(r'"/|[^a-z]/(home|root|tmp|usr|Users)/', text)


def test_a_receipt_is_made_without_torch() -> None:
    code = (
        "import sys; from limite.core.receipts import make_receipt\n"
        "made = make_receipt(recipe={'name': 'x'})\n"
        "assert made['packages']['torch'], made\n"
        "assert not {'torch', 'numpy'} & sys.modules.keys()"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_the_commit_and_what_was_changed_since(repository: Path) -> None:
    clean = git_state(repository / "recipe.py")
    assert clean == {
        "commit": git(repository, "rev-parse", "HEAD"),
        "tree": git(repository, "rev-parse", "HEAD^{tree}"),
        "changes_sha256": None,
    }
    (repository / "recipe.py").write_text("two")
    changed = git_state(repository / "recipe.py")
    assert changed is not None
    assert (changed["commit"], changed["tree"]) == (clean["commit"], clean["tree"])
    assert re.fullmatch(r"[0-9a-f]{64}", str(changed["changes_sha256"]))
    assert git_state(repository) == changed
    (repository / "recipe.py").write_text("three")
    assert git_state(repository) not in (changed, clean, None)
    # What the repository would like to run is not run.
    git(repository, "config", "diff.external", f"touch {repository / 'ran'}; false")
    git(repository, "config", "core.fsmonitor", f"touch {repository / 'ran'}; false")
    assert git_state(repository) is not None
    assert not (repository / "ran").exists()


def test_outside_of_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert git_state(tmp_path / "recipe.py") is None
    git(tmp_path, "init", "-q")
    assert git_state(tmp_path / "recipe.py") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path / "recipe.py") is None


def test_differences_are_told_one_a_line() -> None:
    old = receipt()
    new = receipt(
        recipe=RECIPE | {"seed": 4}, plugins={"limite-other": "2"}, seeds={"recipe": 4}, threads=2
    )
    new["packages"] = new["packages"] | {"torch": "9.9"}
    torch = old["packages"]["torch"]
    assert differences(old, new) == [
        f'packages.torch: "{torch}" -> "9.9"',
        'plugins.limite-other: (absent) -> "2"',
        'plugins.limite-softclip: "0.1" -> (absent)',
        f'recipe_sha256: "{recipe_hash(RECIPE)[:56]}... -> "{new["recipe_sha256"][:56]}...',
        "seeds.recipe: 3 -> 4",
        "threads: 1 -> 2",
    ]


def test_circumstances_are_no_difference_unless_asked_for() -> None:
    old, new = receipt(source_text="a"), receipt(source_text="b")
    new["hardware"] = new["hardware"] | {"cores": 99}
    assert differences(old, new) == []
    cores = f"hardware.cores: {os.cpu_count()} -> 99"
    assert cores in differences(old, new, ignore=("git",))


def test_differences_of_any_plain_data_name_the_place() -> None:
    old = {"stages": {"rl": {"mix": [1, {"a": 2.0}], "levels": (1, 2)}}, "x": 1}
    new = {"stages": {"rl": {"mix": [1, {"a": 2}], "levels": [1, 2]}}, "x": [1]}
    assert differences(old, new) == ["stages.rl.mix[1].a: 2.0 -> 2", "x: 1 -> [1]"]
