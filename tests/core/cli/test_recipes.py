"""``limite recipes``: what is listed, and copies that never overwrite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limite.core.cli.recipes import summary
from limite.core.recipe import shipped as module


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with four recipes, and an empty working directory."""
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "quickstart.py").write_text('"""Teaches a model.\n\nAt length.\n"""\n')
    (folder / "violetto_tiny.py").write_text('"""A ladder of stages."""\n')
    (folder / "smoke.py").write_text("")
    (folder / "smoke.toml").write_text("# Sixty seconds\n# of work. And more.\nseed = 1\n")
    (folder / "_shared.py").write_text('"""No recipe."""\n')
    (folder / "notes.md").write_text("# No recipe\n")
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(module, "folder", lambda: folder)
    return folder


def test_the_list(limite: Any, shipped: Path) -> None:
    assert limite("recipes").out.splitlines() == [
        "NAME           FILE              WHAT IT IS",
        "quickstart     quickstart.py     Teaches a model.",
        "smoke.py       smoke.py",
        "smoke.toml     smoke.toml        Sixty seconds of work.",
        "violetto-tiny  violetto_tiny.py  A ladder of stages.",
    ]
    assert json.loads(limite("recipes", "--json").out)[0] == {
        "name": "quickstart",
        "file": "quickstart.py",
        "summary": "Teaches a model.",
    }


@pytest.mark.parametrize("name", ["violetto-tiny", "violetto_tiny", "violetto_tiny.py"])
def test_a_copy_is_the_same_file(limite: Any, shipped: Path, name: str) -> None:
    ended = limite("recipes", "copy", name)
    assert (ended.code, ended.out) == (
        0,
        "wrote violetto_tiny.py; next: limite check violetto_tiny.py\n",
    )
    assert Path("violetto_tiny.py").read_bytes() == (shipped / "violetto_tiny.py").read_bytes()


def test_a_copy_to_a_name_or_a_folder(limite: Any, shipped: Path) -> None:
    assert limite("recipes", "copy", "quickstart", "my.py").code == 0
    assert limite("recipes", "copy", "smoke.toml", ".").code == 0
    assert sorted(path.name for path in Path().iterdir()) == ["my.py", "smoke.toml"]


def test_a_copy_never_overwrites(limite: Any, shipped: Path) -> None:
    Path("quickstart.py").write_text("mine")
    ended = limite("recipes", "copy", "quickstart")
    assert ended.code == 2
    assert "quickstart.py exists and is not overwritten" in ended.err
    assert Path("quickstart.py").read_text() == "mine"


def test_copies_that_cannot_be(limite: Any, shipped: Path) -> None:
    ended = limite("recipes", "copy", "quikstart")
    assert (ended.code, "did you mean 'quickstart'?" in ended.err) == (2, True)
    ended = limite("recipes", "copy", "quickstart", "my.toml")
    assert (ended.code, "is a .py recipe" in ended.err) == (2, True)
    ended = limite("recipes", "copy", "quickstart", "no/such/folder.py")
    assert (ended.code, "no/such/folder.py: No such file" in ended.err) == (2, True)
    assert not list(Path().iterdir())


def test_the_shipped_recipes_are_found_and_summed_up() -> None:
    assert module.folder().name == "recipes"
    for name, path in module.shipped():
        assert summary(path), f"{name} does not begin with a line that says what it is"
        assert module.find(name) == path


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_shipped_recipe_that_was_not_copied_yet(limite: Any, shipped: Path, command: str) -> None:
    for word in ("quickstart", "quickstart.py"):
        ended = limite(command, word)
        assert ended.code == 2
        assert f"{word}: no such file; limite ships one of that name: " in ended.err
        assert ended.err.endswith("limite recipes copy quickstart\n")
    assert limite(command, "nosuch").err.endswith("nosuch: no such file\n")
