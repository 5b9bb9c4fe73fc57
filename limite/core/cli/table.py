"""Tables and values as text: aligned plain columns, cut to the screen only on a terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any

import click


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, cut: bool = True) -> None:
    """Print rows under their column names. Without a terminal nothing is styled or cut."""
    terminal = sys.stdout.isatty()
    screen = shutil.get_terminal_size().columns if terminal and cut else None
    widths = [max(len(cell) for cell in column) for column in zip(columns, *rows, strict=True)]
    for number, row in enumerate([columns, *rows]):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = "  ".join(cells).rstrip()
        if screen is not None and len(line) > screen:
            line = line[: screen - 1] + "…"
        click.echo(click.style(line, bold=True) if number == 0 and terminal else line)


def show_json(value: Any) -> None:
    """Print a value as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))
