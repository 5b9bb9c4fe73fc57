"""How a run speaks: lines while it goes on, a table at its end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.cli.check import show_plan
from limite.core.cli.report import TOLD, show_comparison
from limite.core.cli.table import show_table
from limite.core.recipe.report.read import read_run
from limite.core.recipe.report.remarks import first_remarks

if TYPE_CHECKING:
    from limite.core.recipe.cost import Plan
    from limite.core.recipe.engine import RunResult
    from limite.core.recipe.matched.run import MatchedResult


@attrs.frozen(kw_only=True)
class Say:
    """Prints lines, or nothing at all when ``quiet``."""

    quiet: bool = False

    @property
    def live(self) -> bool:
        """Whether somebody watches a terminal."""
        return not self.quiet and sys.stdout.isatty()

    def line(self, text: str) -> None:
        # Not click.echo: lines must pass through a progress bar that is being shown.
        self._speak(lambda: print(text, flush=True))

    def plan(self, recipe: str, plan: Plan) -> None:
        """What the run is going to do."""
        self._speak(lambda: show_plan(recipe, plan.plain()))
        self.line("")

    def any_result(self, result: RunResult | MatchedResult) -> None:
        """What came of a run, or of a comparison of several."""
        from limite.core.recipe.matched.run import MatchedResult  # with torch, loaded by now

        if isinstance(result, MatchedResult):
            self.comparison(result)
        else:
            self.result(result)

    def comparison(self, result: MatchedResult) -> None:
        """Every variant at every evaluation, the paired difference, and what was not matched."""
        self.line("")
        self._speak(lambda: show_comparison(result.comparison))
        for text in (*import_module(TOLD).lines(result.comparison), ""):
            self.line(text)
        self.line(f"runs    {result.path}")
        self.line(f"report  {result.report}")

    def result(self, result: RunResult) -> None:
        """The stages, held-out accuracy with its interval, and where everything is."""
        self.line("")
        head, *rows = stage_rows(result)
        self._speak(lambda: show_table(head, rows))
        if result.results:
            self.line("")
            names, *found = claim_rows(result)
            self._speak(lambda: show_table(names, found, cut=False))
            self.line(scope_of(result))
        told = first_remarks(read_run(result.path))
        for text in ["", *told] if told else ():
            self.line(text)
        self.line("")
        self.line(f"run     {result.path}")
        self.line(f"report  {result.report}")

    def _speak(self, speak: Callable[[], None]) -> None:
        if self.quiet:
            return
        try:
            speak()
        except BrokenPipeError:
            # Whoever read along has left (`| head`); that is no reason to end hours of training.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
            print("nobody reads on; the run goes on, and log.txt has its lines", file=sys.stderr)


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
    """A number with its thousands set apart; nothing for None."""
    return "" if value is None else f"{value:,}"


def claim_rows(result: RunResult) -> list[tuple[str, ...]]:
    """One row an evaluation, the headings first; shares in per cent, differences in points."""
    rows: list[tuple[str, ...]] = [
        ("HELD OUT", "RIGHT", "ACCURACY", "INTERVAL", "AGAINST", "POINTS", "PAIRED INTERVAL", "")
    ]
    for name, found in result.results.items():
        row = (
            name,
            f"{found['correct']:,}/{found['total']:,}",
            f"{100 * found['score']:.1f}%",
            span(found["interval"]),
        )
        against = found.get("against")
        if against is None:
            rows.append((*row, "", "", "", ""))
            continue
        change = (
            against["stage"],
            f"{100 * against['difference']:+.1f}",
            span(against["interval"], signed=True),
            against["wording"],
        )
        rows.append((*row, *change))
    return rows


def span(interval: Sequence[float], *, signed: bool = False) -> str:
    """An interval in per cent."""
    low, high = (100 * end for end in interval)
    return f"[{low:+.1f}, {high:+.1f}]" if signed else f"[{low:.1f}, {high:.1f}]"


def scope_of(result: RunResult) -> str:
    """What the intervals cover and what they do not."""
    scopes = [found["scope"] for found in result.results.values()]
    confidences = sorted({f"{100 * found['confidence']:g}%" for found in result.results.values()})
    return f"({' and '.join(confidences)} intervals; single run; each {scopes[0]})"
