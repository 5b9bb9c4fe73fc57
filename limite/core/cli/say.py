"""How a run speaks: lines while it goes on, a table at its end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs
import click

if TYPE_CHECKING:
    from limite.core.recipe.engine import RunResult


@attrs.frozen(kw_only=True)
class Say:
    """Prints lines, or nothing at all when ``quiet``."""

    quiet: bool = False

    def line(self, text: str) -> None:
        if not self.quiet:
            click.echo(text)

    def result(self, result: RunResult) -> None:
        """The stages, held-out accuracy with its interval, and where everything is."""
        self.line("")
        if sys.stdout.isatty():
            from rich.console import Console
            from rich.table import Table

            table = Table(box=None, pad_edge=False, header_style="bold")
            head, *rows = stage_rows(result)
            for column, name in enumerate(head):
                table.add_column(name, justify="left" if column in (0, 1, 5) else "right")
            for row in rows:
                table.add_row(*row)
            Console().print(table)
        else:
            for row in stage_rows(result):
                cells = zip(row, WIDTHS, strict=True)
                self.line("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
        for text in claims(result):
            self.line(text)
        self.line(f"run     {result.path}")
        self.line(f"report  {result.report}")


WIDTHS = (14, 6, 8, 10, 9, 0)


def stage_rows(result: RunResult) -> list[tuple[str, ...]]:
    """One row a stage, the headings first."""
    rows: list[tuple[str, ...]] = [("stage", "kind", "steps", "tokens", "time", "health")]
    for name, receipt in result.stages.items():
        rows.append(
            (
                name,
                str(receipt.get("type", "")),
                count(receipt.get("steps")),
                count(receipt.get("tokens")),
                f"{receipt['time_s']:.1f} s" if "time_s" in receipt else "",
                str(receipt.get("health", "")),
            )
        )
    return rows


def count(value: Any) -> str:
    return "" if value is None else f"{value:,}"


def claims(result: RunResult) -> list[str]:
    """What the evaluations say, each with its interval."""
    lines = []
    for name, found in result.results.items():
        lines += ["", f"{name}: held-out accuracy {found['text']}"]
        against = found.get("against")
        if against:
            lines.append(f"{name} against {against['stage']}: {against['text']}")
    return [*lines, ""] if lines else []
