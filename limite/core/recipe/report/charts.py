"""Charts: matplotlib draws them, the page's own style colours them.

A chart is drawn with stand-in colours which become CSS variables in the SVG, so one drawing serves
a light and a dark page; ``report.png`` puts real colours in the same places. Text stays text.
The same data give the same bytes: no dates, no random ids.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.recipe.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 360, 204  # CSS pixels: three abreast on a desk, one on a phone
MOST_POINTS = 240
DASHES: dict[str, str] = {"solid": "", "dashed": "6 3", "dotted": "1.5 2.5", "dashdot": "7 3 1.5 3"}

# Each stand-in colour and the CSS variable it turns into.
STAND_INS: dict[str, str] = {
    "one": "#010101",
    "two": "#020202",
    "three": "#030303",
    "four": "#040404",
    "ink": "#050505",
    "muted": "#060606",
    "rule": "#070707",
    "bad": "#080808",
    "paper": "#090909",
}
# The light values of the same variables, for the picture. After Okabe and Ito.
LIGHT: dict[str, str] = {
    "one": "#0b66b0",
    "two": "#c2500a",
    "three": "#007a5e",
    "four": "#9a4692",
    "ink": "#1b1d21",
    "muted": "#5d636d",
    "rule": "#dfe2e7",
    "bad": "#b3261e",
    "paper": "#ffffff",
}
Palette = dict[str, str]


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
        mean.append(math.fsum(part) / len(part) if part else math.nan)
        low.append(min(part, default=math.nan))
        high.append(max(part, default=math.nan))
    return Thin(x=x, mean=mean, low=low, high=high, stretch=stretch)


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Settings under which every chart is drawn, put back afterwards."""
    from matplotlib import rc_context

    quiet = logging.getLogger("matplotlib.font_manager")  # tells of building its cache
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        with rc_context(
            {
                "svg.fonttype": "none",
                "svg.hashsalt": "limite",
                "font.size": 10,
                "font.family": "DejaVu Sans",
                "text.parse_math": False,
                "axes.unicode_minus": True,
                "path.simplify": False,
            }
        ):
            yield
    finally:
        quiet.setLevel(level)


def svg(
    draw: Callable[[Axes, Palette], None],
    *,
    slug: str,
    title: str,
    description: str,
    height: float = HEIGHT,
    left: float = 44,
    right: float = 12,
    bottom: float = 38,
) -> str:
    """One chart as inline SVG with a title and a description for who cannot see it."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 72, height / 72), facecolor="none")
    canvas = FigureCanvasSVG(figure)
    axes = figure.add_axes(
        (left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (bottom + 8) / height)
    )
    draw(axes, STAND_INS)
    out = io.BytesIO()
    canvas.print_svg(out, metadata={"Date": None})
    return _inline(out.getvalue().decode("utf-8"), slug, title, description, height)


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


def label_steps(axes: Axes, palette: Palette, steps: Sequence[float], unit: str) -> None:
    """The horizontal axis of a curve."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    low, high = (min(steps), max(steps)) if steps else (0.0, 1.0)
    pad = 0.02 * (high - low) or 0.5
    axes.set_xlim(low - pad, high + pad)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: words.number(round(x))))
    axes.annotate(
        unit,
        (1, 0),
        (0, -34),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="baseline",
        color=palette["muted"],
        fontsize=9.5,
    )


def scale_y(axes: Axes, *, shares: bool, bounds: tuple[float | None, float | None]) -> None:
    """The vertical axis: whole percentages for shares, short numbers otherwise."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_ylim(*bounds)
    low, high = axes.get_ylim()
    if low == high or not all(map(math.isfinite, (low, high))):
        axes.set_ylim(0, 1)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    if shares:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _short_percent(y)))
    else:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: words.number(y)))


def _short_percent(share: float) -> str:
    text = f"{100 * share:.3f}".rstrip("0").rstrip(".")
    return f"{text}%".replace("-", "−")


def curves(
    axes: Axes,
    palette: Palette,
    steps: Sequence[float],
    lines: Sequence[Line],
    *,
    shares: bool = False,
    bounds: tuple[float | None, float | None] = (None, None),
    limits: Sequence[float] = (),
    unit: str = "step",
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
        alone = len(cut.x) == 1
        axes.plot(
            cut.x,
            cut.mean,
            color=color,
            linewidth=1.7,
            linestyle=_pattern(line.dash),
            marker="o" if alone else None,
            markersize=4,
            solid_joinstyle="round",
        )
    label_steps(axes, palette, steps, unit)
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


def stacked(
    axes: Axes,
    palette: Palette,
    steps: Sequence[float],
    lines: Sequence[Line],
    *,
    shares: bool,
    unit: str = "step",
) -> None:
    """Parts of a whole, the first at the bottom, each with its name where it is widest."""
    dress(axes, palette)
    floor: list[float] = []
    for line in lines:
        cut = thin(steps, line.values)
        layer = [0.0 if math.isnan(v) else v for v in cut.mean]
        floor = floor or [0.0] * len(layer)
        top = [a + b for a, b in zip(floor, layer, strict=True)]
        x = cut.x if len(cut.x) > 1 else [cut.x[0] - 0.5, cut.x[0] + 0.5]
        low, high = (floor, top) if len(cut.x) > 1 else (floor * 2, top * 2)
        axes.fill_between(x, low, high, color=palette[line.color], alpha=0.3, linewidth=0)
        axes.plot(x, high, color=palette[line.color], linewidth=1.4, linestyle=_pattern(line.dash))
        floor = top
    label_steps(axes, palette, steps, unit)
    scale_y(axes, shares=shares, bounds=(0, 1 if shares else None))


def _pattern(dash: str) -> Any:
    if dash == "solid":
        return "solid"
    return (0, tuple(float(part) / 1.4 for part in DASHES[dash].split()))


def intervals(
    axes: Axes,
    palette: Palette,
    rows: Sequence[tuple[str, float, tuple[float, float] | None, str]],
    *,
    zero: bool,
    text: Callable[[float], str],
) -> None:
    """One row each: name, estimate, interval, colour. ``zero`` draws the line of no change."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    dress(axes, palette, grid="x")
    if zero:
        axes.axvline(0, color=palette["ink"], linewidth=1)
    for place, (_, value, bounds, color) in enumerate(rows):
        if bounds is not None:
            axes.plot(bounds, [place, place], color=palette[color], linewidth=2.2)
            for end in bounds:
                axes.plot([end, end], [place - 0.14, place + 0.14], color=palette[color], lw=2.2)
        axes.plot([value], [place], marker="o", markersize=7, color=palette[color])
        axes.text(
            value, place - 0.24, text(value), ha="center", va="bottom", color=palette["ink"]
        )
    ends = [end for _, value, bounds, _ in rows for end in (value, *(bounds or ()))]
    low, high = min(ends), max(ends)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    pad = 0.14 * (high - low) or 0.05
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(len(rows) - 0.5, -0.7)
    axes.set_yticks(range(len(rows)), [_clip(row[0]) for row in rows])
    axes.tick_params(axis="y", labelcolor=palette["ink"])
    axes.xaxis.set_major_locator(MaxNLocator(5))
    if zero:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: words.number(round(100 * x, 6))))
    else:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _short_percent(x)))


MARKERS = ("o", "s", "^", "D")


def dumbbells(
    axes: Axes,
    palette: Palette,
    rows: Sequence[tuple[str, Sequence[float | None]]],
    series: int,
) -> None:
    """One row per arm: where each evaluation stood, joined by a thin bar."""
    from matplotlib.ticker import FuncFormatter

    dress(axes, palette, grid="x")
    colors = series_colors(series)
    for place, (_, values) in enumerate(rows):
        there = [value for value in values if value is not None]
        if len(there) > 1:
            axes.plot([min(there), max(there)], [place, place], color=palette["rule"], linewidth=4)
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
    axes.set_yticks(range(len(rows)), [_clip(name) for name, _ in rows])
    axes.tick_params(axis="y", labelcolor=palette["ink"])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _short_percent(x)))


def series_colors(series: int) -> list[str]:
    """A colour for each of several evaluations, the last one always the strongest."""
    cycle = ["two", "three", "four"]
    return [cycle[index % 3] for index in range(series - 1)] + ["one"]


def _clip(name: str, most: int = 22) -> str:
    name = words.visible(name).replace("\n", " ")
    return name if len(name) <= most else name[: most - 1] + "…"


def save_png(figure: Figure, width: int) -> bytes:
    """A figure as PNG, without the date and version that would change its bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    out = io.BytesIO()
    dpi = width / figure.get_figwidth()
    figure.set_dpi(dpi)
    FigureCanvasAgg(figure).print_png(out, metadata={"Software": None})
    return out.getvalue()


_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_VARIABLES = {value: f"var(--{name})" for name, value in STAND_INS.items()}


def _inline(text: str, slug: str, title: str, description: str, height: float) -> str:
    """matplotlib's file as a fragment of a page: smaller, unique ids, coloured by variables."""
    body = text[text.index("<svg") :]
    body = body[body.index(">") + 1 : body.rindex("</svg>")]
    for tag in ("metadata", "style"):
        body = re.sub(rf"<{tag}[^>]*>.*?</{tag}>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->|<defs>\s*</defs>|<g/>", "", body, flags=re.DOTALL)
    kept = set(re.findall(r"url\(#([^)]+)\)", body)) | set(re.findall(r'href="#([^"]+)"', body))
    body = re.sub(r"<[^>]*>", lambda tag: _clean(tag[0], slug, kept), body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    label = f"{slug}-title {slug}-text"
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="{label}">'
        f'<title id="{slug}-title">{words.escape(title)}</title>'
        f'<desc id="{slug}-text">{words.escape(description)}</desc>{body}</svg>'
    )


def _clean(tag: str, slug: str, kept: set[str]) -> str:
    """One tag: its number of decimals, its ids, its colours, its font."""

    def rename(match: re.Match[str]) -> str:
        return f' id="{slug}-{match[1]}"' if match[1] in kept else ""

    tag = re.sub(r' id="([^"]*)"', rename, tag)
    tag = tag.replace("url(#", f"url(#{slug}-")
    tag = re.sub(r'(?:xlink:)?href="#', f'href="#{slug}-', tag)
    tag = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag)
    tag = re.sub(r" font-family: [^;\"]*;", "", tag)
    tag = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), tag)
    for value, variable in _VARIABLES.items():
        tag = tag.replace(value, variable)
    return tag
