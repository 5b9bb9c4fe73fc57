"""Which curves a stage's page shows, and what a reader should look for in each."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.core.recipe.report import canvas, charts, words
from limite.core.recipe.report.charts import Line
from limite.core.recipe.report.plans import PLANS, SUPERVISED, Plan
from limite.core.recipe.report.read import UPDATES, StageRun
from limite.core.recipe.report.words import finite

MOST_OTHERS = 24
HUES = ("one", "two", "three", "four")
STYLES = ("solid", "dashed", "dotted", "dashdot")


@attrs.frozen(kw_only=True)
class Panel:
    """A finished chart with its words. ``legend`` is name, colour, dash; empty for one line."""

    title: str
    note: str
    svg: str
    legend: Sequence[tuple[str, str, str]] = ()


def stage_panels(stage: StageRun) -> tuple[list[Panel], list[Panel]]:
    """The curves every reader wants, and the rest: what a plugin measured, for instance."""
    plans = PLANS.get(stage.kind, SUPERVISED)
    shown = {"step", "time_s", "tokens", UPDATES}
    panels = []
    for index, plan in enumerate(plans):
        there = {column: name for column, name in plan.columns.items() if stage.has(column)}
        shown.update(plan.columns)
        if there:
            plan = attrs.evolve(plan, columns=there)
            panels.append(_panel(stage, plan, f"s{stage.number}c{index}"))
    rest = sorted(
        {
            name
            for line in stage.metrics
            for name in line
            if name not in shown and not name.startswith("arm/")
        }
    )
    others = [
        _panel(stage, Plan(title=name, note="", columns={name: name}), f"s{stage.number}o{index}")
        for index, name in enumerate(filter(stage.has, rest))
        if index < MOST_OTHERS
    ]
    return panels, others


def _panel(stage: StageRun, plan: Plan, slug: str) -> Panel:
    steps = stage.step_axis()
    lines = _lines(stage, plan)
    limits = _limits(stage, plan.limits)
    if plan.shares is None:
        values = [value for line in lines for value in line.values if math.isfinite(value)]
        plan = attrs.evolve(plan, shares=all(0 <= value <= 1 for value in values))
    shares = bool(plan.shares)
    svg = canvas.svg(
        lambda axes, palette: (
            charts.stacked(axes, palette, steps, lines, shares=shares)
            if plan.stack
            else charts.curves(
                axes,
                palette,
                steps,
                lines,
                shares=shares,
                bounds=_bounds(plan, lines, limits),
                limits=limits,
            )
        ),
        slug=slug,
        title=f"{stage.name}: {plan.title}",
        description=" ".join(_told(line, steps, shares=shares) for line in lines),
    )
    named = len(plan.columns) > 1 or bool(limits)
    legend = [(line.name, line.color, line.dash) for line in lines] if named else []
    if limits:
        legend.append(("limit of its gate", "bad", "limit"))
    return Panel(title=plan.title, note=_note(plan, steps, lines, stage), svg=svg, legend=legend)


def _lines(stage: StageRun, plan: Plan) -> list[Line]:
    """The plan's columns; two that say the same are one line with both names."""
    by_values: dict[tuple[float, ...], list[str]] = {}
    for column in plan.columns:
        key = tuple(math.inf if math.isnan(value) else value for value in stage.column(column))
        by_values.setdefault(key, []).append(column)
    groups = [[c] for c in plan.columns] if plan.stack else list(by_values.values())
    return [
        Line(
            name=" = ".join(plan.columns[column] for column in group),
            values=stage.column(group[0]),
            color=HUES[index % 4],
            dash=STYLES[index % 4],
            broken=stage.not_finite(group[0]),
        )
        for index, group in enumerate(groups)
    ]


def _limits(stage: StageRun, names: Sequence[str]) -> list[float]:
    """The limits the stage's gates used, or else those its settings name."""
    settings = stage.settings.get("health")
    found = []
    for name in names:
        used: Any = next(
            (
                line.get("limit")
                for line in stage.health
                if str(line.get("gate", "")).rsplit("/", 1)[-1] == name
            ),
            settings.get(name) if isinstance(settings, Mapping) else None,
        )
        limit = finite(used)
        if limit is None and isinstance(used, str):  # written in words: "<= 0.05"
            figures = re.findall(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", used)
            limit = float(figures[0]) if len(figures) == 1 else None
        if limit is not None and math.isfinite(limit):
            found.append(limit)
    return found


def _bounds(
    plan: Plan, lines: Sequence[Line], limits: Sequence[float]
) -> tuple[float | None, float | None]:
    """The plan's bounds, widened so that no line hugs the frame or hides a limit."""
    low, high = plan.bounds
    values = [v for line in lines for v in line.values if math.isfinite(v)]
    values += [*limits, *plan.around]
    if not values:
        return 0, 1
    least, most = min(values), max(values)
    room = 0.08 * (most - least) or 0.05 * (abs(most) or 1)
    if low is None:
        low = least - room
    if high is None:
        high = most + room
    return low, high


def _note(plan: Plan, steps: Sequence[float], lines: Sequence[Line], stage: StageRun) -> str:
    note = plan.note
    if "contrast/share" in plan.columns:
        group = finite(stage.settings.get("rollouts"))
        if group is not None:
            note = note.removesuffix(".") + f", groups of {group:.0f}."
    stretch = charts.thin(steps, lines[0].values).stretch
    if stretch > 1:
        band = "" if plan.stack else ", the band their range"
        note += f" The line is the mean of {stretch:,} steps{band}."
    broken = sorted({step for line in lines for step in line.broken})
    if broken:
        first = words.number(broken[0])
        note += f" Not finite at {words.plural(len(broken), 'step')}, first at step {first} (×)."
    return note.strip()


def _told(line: Line, steps: Sequence[float], *, shares: bool) -> str:
    """A line in words, for who cannot see it."""
    there = [(s, v) for s, v in zip(steps, line.values, strict=True) if math.isfinite(v)]
    if not there:
        return f"{line.name}: no finite values."
    form = words.percent if shares else words.number
    values = [v for _, v in there]
    return (
        f"{line.name}: {form(values[0])} at step {words.number(there[0][0])}, "
        f"{form(values[-1])} at step {words.number(there[-1][0])}, "
        f"lowest {form(min(values))}, highest {form(max(values))}."
    )


def arm_curves(stage: StageRun) -> list[Panel]:
    """Sampled accuracy by family, one line a level, from the ``arm/family@level`` columns."""
    families: dict[str, list[tuple[str, str]]] = {}
    for column in sorted({n for line in stage.metrics for n in line if n.startswith("arm/")}):
        family, _, level = column.removeprefix("arm/").partition("@")
        if stage.has(column):
            families.setdefault(family, []).append((level, column))
    panels = []
    steps = stage.step_axis()
    for index, (family, levels) in enumerate(sorted(families.items())):
        chosen = sorted(levels, key=lambda pair: natural(pair[0]))
        if len(chosen) > len(HUES):  # more would be a tangle: an even choice of levels
            chosen = [chosen[round(i * (len(chosen) - 1) / 3)] for i in range(4)]
        lines = [
            Line(
                name=level_name(level) if level else family,
                values=stage.column(column),
                color=HUES[place],
                dash=STYLES[place],
            )
            for place, (level, column) in enumerate(chosen)
        ]
        svg = canvas.svg(
            lambda axes, palette, lines=lines: charts.curves(  # type: ignore[misc]
                axes, palette, steps, lines, shares=True, bounds=(-0.02, 1.02)
            ),
            slug=f"s{stage.number}a{index}",
            title=f"{stage.name}: sampled accuracy on {family}",
            description=" ".join(_told(line, steps, shares=True) for line in lines),
        )
        panels.append(
            Panel(
                title=family,
                note=_note(Plan(title="", note="", columns={}), steps, lines, stage),
                svg=svg,
                legend=[(line.name, line.color, line.dash) for line in lines],
            )
        )
    return panels


def level_name(level: str) -> str:
    """``0–0.33`` for the stretch of difficulty ``0-0.3333``, anything else as it is."""
    ends = [_decimal(end) for end in level.split("-")]
    if len(ends) == 2 and all(end is not None for end in ends):
        return "–".join(f"{end:.2g}" for end in ends)
    return level


def _decimal(text: str) -> float | None:
    """A plain decimal number, or None."""
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else None


def natural(text: str) -> list[tuple[int, float, str]]:
    """A key that sorts ``2`` before ``10``."""
    parts = re.findall(r"\d+(?:\.\d+)?|[^\d]+", text)
    return [(0, float(p), "") if p[0].isdigit() else (1, 0.0, p) for p in parts]
