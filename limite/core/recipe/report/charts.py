"""The kinds of chart a report holds, each drawn on axes with a palette."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.recipe.report import words
from limite.core.recipe.report.canvas import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 240
DASHES: dict[str, str] = {"solid": "", "dashed": "6 3", "dotted": "1.5 2.5", "dashdot": "7 3 1.5 3"}


@attrs.frozen(kw_only=True)
class Line:
    """A named series: one value a step, ``nan`` where there is none."""

    name: str
    values: Sequence[float]
    color: str = "one"
    dash: str = "solid"
    broken: Sequence[float] = ()  # steps whose value was written, but is not finite


@attrs.frozen(kw_only=True)
class Thin:
    """A series cut to what a chart can show: means of equal stretches, and their extremes."""

    x: list[float]
    mean: list[float]
    low: list[float]
    high: list[float]
    stretch: int


def thin(steps: Sequence[float], values: Sequence[float], most: int = MOST_POINTS) -> Thin:
    """At most ``most`` points; what is not finite is left out of each stretch."""
    stretch = max(1, math.ceil(len(steps) / most))
    x, mean, low, high = [], [], [], []
    for start in range(0, len(steps), stretch):
        part = [v for v in values[start : start + stretch] if math.isfinite(v)]
        x.append(sum(steps[start : start + stretch]) / len(steps[start : start + stretch]))
        mean.append(math.fsum(v / len(part) for v in part) if part else math.nan)
        low.append(min(part, default=math.nan))
        high.append(max(part, default=math.nan))
    return Thin(x=x, mean=mean, low=low, high=high, stretch=stretch)


def dress(axes: Axes, palette: Palette, *, grid: str = "y") -> None:
    """Thin rules, no box, muted numbers."""
    axes.set_facecolor("none")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(palette["rule"])
    axes.grid(axis=grid, color=palette["rule"], linewidth=0.8)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.tick_params(
        colors=palette["rule"], labelcolor=palette["muted"], length=3, width=0.8, pad=4
    )
    axes.tick_params(axis="y", length=0)


def label_steps(axes: Axes, palette: Palette, steps: Sequence[float]) -> None:
    """The horizontal axis of a curve; its last number says that they are steps."""
    low, high = (min(steps), max(steps)) if steps else (0.0, 1.0)
    pad = 0.02 * (high - low) or 0.5
    axes.set_xlim(low - pad, high + pad)
    places = ticks(low, high, 4, whole=True)
    labels = [words.number(place) for place in places]
    labels[-1] = f"step {labels[-1]}"
    axes.set_xticks(places, labels)


def scale_y(axes: Axes, *, shares: bool, bounds: tuple[float | None, float | None]) -> None:
    """The vertical axis: percentages for shares, short numbers otherwise."""
    axes.set_ylim(*bounds)
    low, high = axes.get_ylim()
    places = ticks(low, high, 4)
    axes.set_yticks(places, tick_labels(places, shares=shares))
    axes.set_ylim(low, high)


def ticks(low: float, high: float, most: int, *, whole: bool = False) -> list[float]:
    """Round numbers between two bounds, at least one."""
    from matplotlib.ticker import MaxNLocator

    places = MaxNLocator(most, integer=whole, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    inside = [float(place) for place in places if low - 1e-12 <= place <= high + 1e-12]
    return inside or [low]


def tick_labels(places: Sequence[float], *, shares: bool = False) -> list[str]:
    """As many decimals as tell neighbours apart, the same for all."""
    scale = 100 if shares else 1
    values = [scale * place for place in places]
    gap = min((abs(b - a) for a, b in itertools.pairwise(values)), default=abs(values[0]) or 1.0)
    largest = max(map(abs, values))
    unit = "%" if shares else ""
    if largest and (largest < 2e-3 or largest >= 1e6):
        rounded = [0.0 if abs(value) < gap / 1e6 else value for value in values]
        return [f"{words.number(value)}{unit}" for value in rounded]
    decimals = next((d for d in range(9) if abs(round(gap, d) - gap) < 1e-3 * gap), 9)
    return [f"{value + 0.0:,.{decimals}f}{unit}".replace("-", "−") for value in values]


def curves(
    axes: Axes,
    palette: Palette,
    steps: Sequence[float],
    lines: Sequence[Line],
    *,
    shares: bool = False,
    bounds: tuple[float | None, float | None] = (None, None),
    limits: Sequence[float] = (),
) -> None:
    """Lines over steps. Long series show means with a band from lowest to highest."""
    dress(axes, palette)
    for limit in limits:
        axes.axhline(limit, color=palette["bad"], linewidth=1, linestyle=(0, (2, 2)))
    for line in lines:
        cut = thin(steps, line.values)
        color = palette[line.color]
        if cut.stretch > 1:
            axes.fill_between(cut.x, cut.low, cut.high, color=color, alpha=0.16, linewidth=0)
        # Nothing measured at a step is bridged; a number that was not finite leaves a gap.
        shown = [
            (x, y)
            for x, y in zip(cut.x, cut.mean, strict=True)
            if not math.isnan(y) or x in line.broken
        ]
        alone = [
            place
            for place, (_, y) in enumerate(shown)
            if math.isfinite(y)
            and not any(math.isfinite(near) for _, near in _neighbours(shown, place))
        ]
        axes.plot(
            [x for x, _ in shown],
            [y for _, y in shown],
            color=color,
            linewidth=1.7,
            linestyle=_pattern(line.dash),
            marker="o",
            markersize=4,
            markevery=alone,
            solid_joinstyle="round",
        )
    label_steps(axes, palette, steps)
    scale_y(axes, shares=shares, bounds=bounds)
    broken = sorted({step for line in lines for step in line.broken})[:MOST_POINTS]
    if broken:
        axes.plot(
            broken,
            [0.03] * len(broken),
            linestyle="none",
            marker="x",
            markersize=5,
            color=palette["bad"],
            transform=axes.get_xaxis_transform(),
        )


def _neighbours(shown: Sequence[tuple[float, float]], place: int) -> Sequence[tuple[float, float]]:
    return [*shown[max(place - 1, 0) : place], *shown[place + 1 : place + 2]]


def stacked(
    axes: Axes,
    palette: Palette,
    steps: Sequence[float],
    lines: Sequence[Line],
    *,
    shares: bool,
) -> None:
    """Parts of a whole, the first at the bottom, each with its name where it is widest."""
    dress(axes, palette)
    floor: list[float] = []
    columns = [line.values for line in lines]
    there = [not all(map(math.isnan, row)) for row in zip(*columns, strict=True)]
    measured = list(itertools.compress(steps, there))
    if not measured:
        label_steps(axes, palette, steps)
        scale_y(axes, shares=shares, bounds=(0, 1))
        return
    for line in lines:
        cut = thin(measured, list(itertools.compress(line.values, there)))
        layer = [0.0 if math.isnan(v) else v for v in cut.mean]
        floor = floor or [0.0] * len(layer)
        top = [a + b for a, b in zip(floor, layer, strict=True)]
        x = cut.x if len(cut.x) > 1 else [cut.x[0] - 0.5, cut.x[0] + 0.5]
        low, high = (floor, top) if len(cut.x) > 1 else (floor * 2, top * 2)
        axes.fill_between(x, low, high, color=palette[line.color], alpha=0.3, linewidth=0)
        axes.plot(x, high, color=palette[line.color], linewidth=1.4, linestyle=_pattern(line.dash))
        floor = top
    label_steps(axes, palette, steps)
    scale_y(axes, shares=shares, bounds=(0, 1 if shares else None))


def _pattern(dash: str) -> Any:
    if dash == "solid":
        return "solid"
    return (0, tuple(float(part) / 1.4 for part in DASHES[dash].split()))


def span(ends: Sequence[float]) -> tuple[float, float]:
    """Where an axis with room for all of ``ends`` begins and stops."""
    low, high = min(ends), max(ends)
    pad = 0.12 * (high - low) or 0.05
    return low - pad, high + pad


def intervals(
    axes: Axes,
    palette: Palette,
    rows: Sequence[tuple[str, float, tuple[float, float] | None, str]],
    *,
    zero: bool,
    text: Callable[[float], str],
) -> None:
    """One row each: name, estimate, interval, colour. ``zero`` draws the line of no change."""
    dress(axes, palette, grid="x")
    if zero:
        axes.axvline(0, color=palette["ink"], linewidth=1)
    for place, (_, value, bounds, color) in enumerate(rows):
        if bounds is not None:
            axes.plot(
                bounds,
                [place, place],
                color=palette[color],
                linewidth=2.2,
                marker="|",
                markersize=11,
                markeredgewidth=2.2,
            )
        axes.plot([value], [place], marker="o", markersize=7, color=palette[color])
        axes.annotate(
            text(value),
            (value, place),
            (0, 9),
            textcoords="offset points",
            ha="center",
            va="bottom",
            color=palette["ink"],
            bbox={"facecolor": palette["paper"], "edgecolor": "none", "pad": 0.6},
        )
    ends = [end for _, value, bounds, _ in rows for end in (value, *(bounds or ()))]
    low, high = span([*ends, 0.0] if zero else ends)
    places = ticks(low if zero else max(low, 0.0), high if zero else min(high, 1.0), 4)
    labels = tick_labels(places, shares=True)
    axes.set_xticks(places, [label.rstrip("%") for label in labels] if zero else labels)
    axes.set_xlim(low, high)
    axes.set_ylim(len(rows) - 0.5, -0.75)
    axes.set_yticks(range(len(rows)), [_clip(row[0]) for row in rows])
    axes.tick_params(axis="y", labelcolor=palette["ink"])


MARKERS = ("o", "s", "^", "D")


def dumbbells(
    axes: Axes,
    palette: Palette,
    rows: Sequence[tuple[str, Sequence[float | None] | None]],
    left: float,
) -> None:
    """A row per level under the name of its family: where each evaluation stood, with a bar.

    The row of a family's name has no values; it starts ``left`` pixels before the axes.
    """
    dress(axes, palette, grid="x")
    for place, (name, values) in enumerate(rows):
        if values is None:
            axes.annotate(
                _clip(name, 40),
                (0, place),
                (8 - left, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                color=palette["ink"],
                fontweight="bold",
            )
            continue
        there = [value for value in values if value is not None]
        if len(there) > 1:
            axes.plot([min(there), max(there)], [place, place], color=palette["rule"], linewidth=4)
        colors = series_colors(len(values))
        for index, value in enumerate(values):
            if value is not None:
                axes.plot(
                    [value],
                    [place],
                    marker=MARKERS[index % len(MARKERS)],
                    markersize=6,
                    color=palette[colors[index]],
                    markerfacecolor=palette[colors[index]] if index else palette["paper"],
                    markeredgewidth=1.6,
                )
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    levels = [(place, name) for place, (name, values) in enumerate(rows) if values is not None]
    axes.set_yticks([place for place, _ in levels], [_clip(name) for _, name in levels])
    axes.tick_params(axis="y", labelcolor=palette["muted"])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])


def series_colors(series: int) -> list[str]:
    """A colour for each of several evaluations, the last one always the strongest."""
    cycle = ["two", "three", "four"]
    return [cycle[index % 3] for index in range(series - 1)] + ["one"]


def _clip(name: str, most: int = 22) -> str:
    name = words.visible(name).replace("\n", " ")
    return name if len(name) <= most else name[: most - 1] + "…"
