"""The pages say what is so: commands, options, kinds, signatures and files that exist."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

import limite
from limite.core.cli.main import COMMANDS
from limite.core.hookspecs import Registrar
from limite.core.kinds import KINDS
from limite.evaluate.shipped import shipped
from limite.plugins.conformance import objective_laws
from limite.plugins.objectives.grpo import GRPO
from limite.problems.gen.main import COMMANDS as PROBLEMS
from tests.docs.blocks import blocks, statements

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "examples").glob("*/*.md")]
)
PROGRAMS = (["limite"], ["limite-gen"])
PLUGINS = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")


def commands(text: str) -> list[list[str]]:
    """Each call of limite in a page, in code blocks and within lines, as words."""
    found = re.findall(r"`(limite(?:-gen)? [^`]+)`", text)
    for block in blocks(text, "sh"):
        for statement in statements(block):
            found += [part.strip() for part in statement.split("&&")]
    return [words for call in found if (words := shlex.split(call, comments=True))[:1] in PROGRAMS]


def test_the_readme_begins_with_the_two_commands() -> None:
    first = blocks((ROOT / "README.md").read_text(encoding="utf-8"), "sh")[0]
    assert first.splitlines() == [
        "pip install torch==2.13.0 -e . && limite run recipes/quickstart.py",
        "pip install torch==2.13.0 -e '.[dev]' && pytest",
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    for words in commands(page.read_text(encoding="utf-8")):
        name = words[1]
        if name.startswith("-"):
            continue
        table = COMMANDS if words[0] == "limite" else PROBLEMS
        module, _, attribute = table[name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if isinstance(command, click.Group) and len(words) > 2:
            command = command.get_command(click.Context(command), words[2])
            assert command is not None, words
        known = {option for parameter in command.params for option in parameter.opts}
        for word in words[2:]:
            if word.startswith("--"):
                assert word.partition("=")[0] in known | {"--help", "--debug"}, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (page.parent / target).exists(), target
    for path in re.findall(r"`((?:limite|recipes|examples|tests|docs)/[\w/.-]+)`", text):
        benchmark = path.removeprefix("limite/") in shipped()  # as a suite calls it
        assert benchmark or (ROOT / path).exists(), path
    for words in commands(text):
        for word in words:
            if word.startswith(("recipes/", "examples/")):
                assert (ROOT / word).exists(), word


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_page_on_problems_tells_of_every_command_and_option(name: str) -> None:
    page = (ROOT / "docs" / "limite-gen.md").read_text(encoding="utf-8")
    assert f"limite-gen {name}" in page
    module, _, attribute = PROBLEMS[name][0].partition(":")
    for parameter in getattr(importlib.import_module(module), attribute).params:
        for option in parameter.opts:
            assert not option.startswith("--") or option == "--debug" or option in page, option


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_documented_with_its_signature(kind: str) -> None:
    members = []
    for name, function in vars(KINDS[kind]).items():
        if inspect.isfunction(function) and (name == "__call__" or not name.startswith("_")):
            signature = inspect.signature(function)
            without_self = list(signature.parameters.values())[1:]
            text = f"{name}{signature.replace(parameters=without_self)}".replace("'", "")
            members.append(f"`{text}`".replace("|", r"\|"))
    names = ", ".join(list(inspect.signature(getattr(Registrar, kind)).parameters)[1:])
    assert f"| {kind} | `registry.{kind}({names})` | {', '.join(members)} |" in PLUGINS


def test_the_guide_tells_of_every_law_of_objectives_and_no_other() -> None:
    table = PLUGINS[PLUGINS.index("## Laws") : PLUGINS.index("## Golden numbers")]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(objective_laws(GRPO()))


def test_the_guide_documents_no_kind_that_is_not_there() -> None:
    assert re.findall(r"^\| (\w+) \| `registry\.", PLUGINS, re.MULTILINE) == list(KINDS)


def test_the_guide_shows_the_example_as_it_is() -> None:
    example = ROOT / "examples" / "limite-softclip"
    shown = blocks(PLUGINS, "python")
    module = (example / "limite_softclip.py").read_text(encoding="utf-8")
    assert module in shown
    assert len(module.splitlines()) <= 25
    assert (example / "test_softclip.py").read_text(encoding="utf-8") in shown
    project = tomllib.loads((example / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (table,) = blocks(PLUGINS, "toml")
    assert tomllib.loads(table)["project"]["entry-points"] == project["entry-points"]


def test_names_the_guide_takes_from_limite_are_there() -> None:
    for block in blocks(PLUGINS, "python"):
        for names in re.findall(r"^from limite import (.+)$", block, re.MULTILINE):
            for name in names.split(", "):
                assert hasattr(limite, name)


def test_the_changelog_has_an_unreleased_part() -> None:
    assert "\n## Unreleased\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_index_has_one_line_for_each_page() -> None:
    docs = ROOT / "docs"
    listed = re.findall(
        r"^\| \[(.+?)\]\((.+?)\) \| ", (docs / "README.md").read_text("utf-8"), re.M
    )
    assert all(name == target for name, target in listed)
    pages = {str(page.relative_to(docs)) for page in docs.glob("**/*.md")}
    apart = {f"objectives/{page.name}" for page in (docs / "objectives").glob("*.md")}
    assert sorted(name for name, _ in listed) == sorted(pages - apart - {"README.md"})


def test_the_tutorial_shows_the_example_as_it_is() -> None:
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    module = ROOT / "examples" / "limite-softclip" / "limite_softclip.py"
    (shown,) = blocks(tutorial, "python")
    assert module.read_text(encoding="utf-8").endswith(shown)
