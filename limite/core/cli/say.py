"""How a run speaks: lines while it goes on, a table at its end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.cli.check import show_plan
from limite.core.cli.table import show_table

if TYPE_CHECKING:
    from limite.core.recipe.cost import Plan
    from limite.core.recipe.engine import RunResult


@attrs.frozen(kw_only=True)
class Say:
    """Prints lines, or nothing at all when ``quiet``."""

    quiet: bool = False

    @property
    def live(self) -> bool:
        """Whether somebody watches a terminal."""
        return not self.quiet and sys.stdout.isatty()

    def line(self, text: str) -> None:
        if not self.quiet:
            # Not click.echo: lines must pass through a progress bar that is being shown.
            print(text, flush=True)

    def plan(self, recipe: str, plan: Plan) -> None:
        """What the run is going to do."""
        if not self.quiet:
            show_plan(recipe, plan.plain())
            self.line("")

    def result(self, result: RunResult) -> None:
        """The stages, held-out accuracy with its interval, and where everything is."""
        self.line("")
        if not self.quiet:
            head, *rows = stage_rows(result)
            show_table(head, rows)
        for text in claims(result):
            self.line(text)
        self.line(f"run     {result.path}")
        self.line(f"report  {result.report}")


def stage_rows(result: RunResult) -> list[tuple[str, ...]]:
    """One row a stage, the headings first."""
    rows: list[tuple[str, ...]] = [("STAGE", "TYPE", "STEPS", "TOKENS", "TIME", "HEALTH")]
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
    """What the evaluations say, each with its interval, and once what the intervals cover."""
    lines = [""] if result.results else []
    scope = ""
    for name, found in result.results.items():
        lines.append(f"{name}: held-out accuracy {found['text']}")
        against = found.get("against")
        if against:
            lines.append(f"{name} against {against['stage']}: {against['text']}")
            scope = str(against.get("scope", ""))
    if scope:
        # One training run says nothing of how runs differ.
        lines.append(f"(single run; each interval {scope})")
    return [*lines, ""]
