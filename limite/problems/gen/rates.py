"""Pass rates of many problems, counted together: in all, by family, by difficulty."""

from __future__ import annotations

from typing import Any

import attrs

from limite.core.health.wilson import wilson
from limite.core.types import Problem

HIGHEST = 10
Sums = dict[str, tuple[int, float]]  # problems, and the sum of their pass rates


@attrs.define(kw_only=True)
class Rates:
    """What is known of the problems of a file that were measured.

    Intervals are over problems, each counted with its own pass rate: responses to one problem are
    no independent trials.
    """

    samples: int
    problems: int = 0
    unanswered: int = 0
    never: int = 0
    always: int = 0
    total: float = 0.0
    families: Sums = attrs.field(factory=dict)
    levels: Sums = attrs.field(factory=dict)

    def add(self, problem: Problem) -> None:
        """Counts a problem of the file."""
        rate = problem.difficulty.get("pass_rate")
        if rate is None:
            self.unanswered += 1
            return
        self.problems += 1
        self.total += rate
        self.never += rate == 0
        self.always += rate == 1
        source = problem.source
        _add(self.families, str(source.get("generator") or source.get("kind") or "unknown"), rate)
        level = problem.difficulty.get("level")
        tenth = f"{level // HIGHEST * HIGHEST:3d}" if isinstance(level, int) else "unknown"
        _add(self.levels, tenth, rate)

    @property
    def text(self) -> str:
        """One line: how many problems, and how often they were solved."""
        if not self.problems:
            return f"none of {self.unanswered:,} problems was answered"
        low, high = wilson(self.total, self.problems)
        return (
            f"{self.problems:,} problems, {self.samples:,} samples each: "
            f"{100 * self.total / self.problems:.1f}% solved [{100 * low:.1f}, {100 * high:.1f}]; "
            f"{self.never:,} never, {self.always:,} every time"
        )

    def tables(self) -> dict[str, list[tuple[str, str, str, str]]]:
        """Rows of name, problems, pass rate and interval, by title."""
        return {
            "FAMILY": [_row(name, *sums) for name, sums in sorted(self.families.items())],
            "LEVEL FROM": [_row(name, *sums) for name, sums in sorted(self.levels.items())],
        }

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return {
            "problems": self.problems,
            "unanswered": self.unanswered,
            "never_solved": self.never,
            "always_solved": self.always,
            **(_plain(self.problems, self.total) if self.problems else {}),
            "families": {name: _plain(*sums) for name, sums in sorted(self.families.items())},
            "levels": {name.strip(): _plain(*sums) for name, sums in sorted(self.levels.items())},
        }


def _add(sums: Sums, name: str, rate: float) -> None:
    count, total = sums.get(name, (0, 0.0))
    sums[name] = count + 1, total + rate


def _plain(count: int, total: float) -> dict[str, Any]:
    return {"count": count, "pass_rate": total / count, "interval": list(wilson(total, count))}


def _row(name: str, count: int, total: float) -> tuple[str, str, str, str]:
    low, high = wilson(total, count)
    return name, f"{count:,}", f"{total / count:.3f}", f"{low:.3f}-{high:.3f}"
