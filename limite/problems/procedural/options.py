"""Lettered options of a question: written in its text, and read from it."""

from __future__ import annotations

import re
from collections.abc import Sequence

LETTERS = "ABCDEFGH"
_OPTION = re.compile(r"\(([A-H])\) (.+?)(?=, \([A-H]\) |$)")


def options_text(options: Sequence[str]) -> str:
    """``(A) four, (B) five``: the options in a row."""
    return ", ".join(
        f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False)
    )


def read_options(text: str) -> dict[str, str]:
    """Letter to option, of what :func:`options_text` wrote."""
    return dict(_OPTION.findall(text))
