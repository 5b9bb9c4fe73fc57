"""Amounts of bytes as people write and read them."""

from __future__ import annotations

import re
from decimal import Decimal

from limite.core.errors import LimiteError

UNITS = {
    "": 1,
    "B": 1,
    **{f"{letter}B": 1000 ** (power + 1) for power, letter in enumerate("KMGT")},
    **{f"{letter}iB": 1024 ** (power + 1) for power, letter in enumerate("KMGT")},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) *([A-Za-z]*)")


def parse_bytes(text: str, option: str) -> int:
    """``4GB`` (4 billion), ``500MB``, ``4GiB`` (4 times 2**30) or plain bytes, at least 1."""
    match = _SIZE.fullmatch(text.strip())
    known = {unit.lower(): size for unit, size in UNITS.items()}
    if match is None or match[2].lower() not in known:
        raise LimiteError(f"{option}: expected a size like 4GB, 500MB or 4GiB, got {text!r}")
    size = int(Decimal(match[1]) * known[match[2].lower()])
    if size < 1:
        raise LimiteError(f"{option}: expected at least 1 byte, got {text!r}")
    return size


def shown_bytes(size: float) -> str:
    """``271 MiB``: three digits, and the unit they are of."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.3g} TiB" if size < 999.5 else f"{size:,.0f} TiB"
