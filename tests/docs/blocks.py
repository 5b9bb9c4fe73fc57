"""Fenced blocks of the pages, and the statements of a shell block."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


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
        if held.strip():
            yield held.strip()
        held = ""
    assert not held, f"a quote is never closed: {held}"
