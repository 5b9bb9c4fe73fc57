"""Fenced blocks of the pages, and the commands of a shell block."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
LANGUAGES = {"sh", "python", "toml", "json", "text"}


@attrs.frozen
class Block:
    """What stands between two fences."""

    line: int  # of the page, that the fence stands in
    language: str
    text: str
    name: str  # the language and a count, as in "python 2": which of its kind on the page


def pages() -> list[Path]:
    """Every page for users and contributors."""
    folders = [ROOT.glob("*.md"), (ROOT / "docs").glob("**/*.md"), ROOT.glob("examples/*/*.md")]
    return sorted(page for folder in folders for page in folder)


def blocks_of(text: str) -> list[Block]:
    found: list[Block] = []
    for match in re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", text, re.MULTILINE):
        language = match[1].strip()
        number = 1 + sum(block.language == language for block in found)
        line = 1 + text[: match.start()].count("\n")
        found.append(Block(line, language, match[2], f"{language} {number}"))
    return found


def blocks(text: str, language: str) -> list[str]:
    return [block.text for block in blocks_of(text) if block.language == language]


def statements(block: str) -> Iterator[str]:
    """Lines of shell, one at a time; quotes and a last backslash hold several together."""
    held = ""
    for line in block.splitlines():
        held += line
        try:
            shlex.split(held, comments=True)
        except ValueError:  # a quote is open, or a backslash stands at the end
            held = held.removesuffix("\\") + ("" if held.endswith("\\") else "\n")
            continue
        if shlex.split(held, comments=True):
            yield held.strip()
        held = ""
    assert not held, f"a quote is never closed: {held}"


def commands(block: Block) -> Iterator[str]:
    """Single commands, without remarks: of a shell block, or behind the $ of a text."""
    lines: Iterator[str] = iter(())
    if block.language == "sh":
        lines = statements(block.text)
    elif block.language == "text":
        lines = (line[2:] for line in block.text.splitlines() if line.startswith("$ "))
    for statement in lines:
        yield from re.sub(r"\s+#\s.*$", "", statement).split(" && ")


def words_of(command: str) -> tuple[dict[str, str], list[str]]:
    """Variables that a command begins with, and its words."""
    words, variables = shlex.split(command), {}
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        name, _, variables[name] = words.pop(0).partition("=")
    return variables, words
