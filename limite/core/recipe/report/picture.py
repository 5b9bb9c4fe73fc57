"""``report.png``: the run at a glance, for a chat message or a README."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

from limite.core.recipe.report import canvas, charts, summary, words
from limite.core.recipe.report.canvas import LIGHT, Palette
from limite.core.recipe.report.charts import Line
from limite.core.recipe.report.read import Run, StageRun
from limite.core.recipe.report.summary import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 1200
Draw = Callable[["Axes", Palette], None]


def render(run: Run) -> bytes:
    """The picture as PNG."""
    from matplotlib.figure import Figure

    found = summary.evaluations(run)
    panels = _panels(run, found)[:3]
    sentence, _ = summary.headline(run, found)
    state, scope = summary.state_of(run), summary.scope_of(run)
    whole = re.sub(r"\[[^\]]*\]|\([^)]*\)", lambda part: part[0].replace(" ", "\u00a0"), sentence)
    lines = textwrap.wrap(words.visible(whole), 88, break_on_hyphens=False)
    small = textwrap.wrap(
        (f"{state} " if state else "")
        + "Single run."
        + (f" Any interval {scope}." if scope else ""),
        150,
    )
    head = 62 + 25 * len(lines) + 17 * len(small)
    total = head + (282 if panels else 20)
    with canvas.drawing():
        figure = Figure(figsize=(900 / 72, total / 72), facecolor=LIGHT["paper"])

        def write(text: str, top: float, **style: object) -> None:
            figure.text(28 / 900, 1 - top / total, text, va="top", **style)  # type: ignore[arg-type]

        write(f"limite · {words.visible(run.name)}", 22, color=LIGHT["muted"], fontsize=11)
        for index, line in enumerate(lines):
            write(line, 44 + 25 * index, color=LIGHT["ink"], fontsize=16.5, fontweight="bold")
        for index, line in enumerate(small):
            top = 54 + 25 * len(lines) + 17 * index
            write(line, top, color=LIGHT["muted"], fontsize=10)
        width = 900 / max(len(panels), 1)
        for index, (title, draw, left) in enumerate(panels):
            x = (index * width + left) / 900
            axes = figure.add_axes((x, 44 / total, (width - left - 26) / 900, 196 / total))
            draw(axes, LIGHT)
            figure.text(
                (index * width + 28) / 900,
                (44 + 196 + 14) / total,
                title,
                color=LIGHT["ink"],
                fontsize=11,
                fontweight="bold",
            )
        return canvas.save_png(figure, WIDTH)


def _panels(run: Run, found: list[Evaluation]) -> list[tuple[str, Draw, float]]:
    panels: list[tuple[str, Draw, float]] = []
    if found:
        rows = [(e.stage, e.score, e.interval, "one") for e in found]
        left = min(150, 40 + 6.4 * max(len(row[0]) for row in rows))
        level = f"{100 * found[-1].confidence:g}% intervals"
        panels.append(
            (
                f"Held-out accuracy, {level}",
                lambda axes, palette: charts.intervals(
                    axes, palette, rows, zero=False, text=words.percent
                ),
                left,
            )
        )
    trained = [stage for stage in run.stages if stage.metrics]
    for stage in reversed([stage for stage in trained if stage.kind == "rl"][-1:]):
        panels.extend(
            panel
            for panel in (
                _curve(stage, "accuracy/sampled", "sampled accuracy (training)", shares=True),
                _curve(stage, "contrast/share", "reward contrast", shares=True),
            )
            if panel is not None
        )
    for stage in [
        stage for stage in trained if stage.has("loss") and stage.kind not in ("rl", "fit-critic")
    ][-1:]:
        panel = _curve(stage, "loss", "loss, nats per token", shares=False)
        if panel is not None:
            panels.insert(1 if found else 0, panel)
    return panels if len(panels) <= 3 else [*panels[:3]]


def _curve(
    stage: StageRun, column: str, name: str, *, shares: bool
) -> tuple[str, Draw, float] | None:
    values = stage.column(column)
    there = [value for value in values if math.isfinite(value)]
    if not there:
        return None
    steps = stage.step_axis()
    room = 0.08 * (max(there) - min(there)) or 0.05
    bounds = (min(there) - room, max(there) + room)
    if shares:
        bounds = (0.0, min(1.0, 1.25 * max(there)) or 1.0)
    line = Line(name=name, values=values, broken=stage.not_finite(column))

    def draw(axes: Axes, palette: Palette) -> None:
        charts.curves(axes, palette, steps, [line], shares=shares, bounds=bounds)

    return f"{stage.name}: {name}", draw, 66
