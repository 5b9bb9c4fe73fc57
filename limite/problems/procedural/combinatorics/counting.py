"""What families of counting share: sums with signs, and lists in words."""

from __future__ import annotations

from collections.abc import Sequence


def alternating(terms: Sequence[int]) -> str:
    """``24 - 12 + 4``: the terms with their signs, zeros left out."""
    text = ""
    for term in terms:
        if text:
            text += f" {'-' if term < 0 else '+'} {abs(term)}" if term else ""
        elif term:
            text = str(term)
    return text or "0"


def listed(items: Sequence[str]) -> str:
    """``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
