"""Reinforcement at several seeds, drawn as one: the mean of each batch and a band around it.

Stages that begin with the same weights and differ in nothing but their seed are one line. Lines
that differ in how they learn (objective, advantage, critic) and in nothing else stand side by side,
under what they share.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from limite.core.recipe.report import canvas, charts, parts, words
from limite.core.recipe.report.curves import Panel
from limite.core.recipe.report.read import Run, StageRun
from limite.core.recipe.report.summary import Evaluation
from limite.core.recipe.report.words import escape
from limite.core.recipe.stages import STAGE_KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from limite.core.recipe.report.canvas import Palette

ACCURACY = "accuracy/sampled"
MOST_ALONE = 12
"""Of stages that are drawn together: how many at most get curves of their own as well."""
RULE = ("objective", "advantage", "critic")
"""The settings that say how a stage learns; all others are the terms it learns under."""


@attrs.frozen(kw_only=True)
class Band:
    """Stages that differ in their seed alone: what each batch came to, over the seeds."""

    name: str
    stages: Sequence[StageRun]
    steps: Sequence[float]  # those that every seed has reached
    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    changes: Sequence[float]  # of held-out accuracy, one for each seed that was measured
    wordings: Sequence[str]


@attrs.frozen(kw_only=True)
class Corner:
    """Bands under the same terms. ``title`` is what tells these terms from those of others."""

    title: str
    bands: Sequence[Band]


def together(run: Run) -> set[str]:
    """The names of all stages that are drawn with those of other seeds."""
    return {stage.name for stages in _alike(run) for stage in stages}


def uncrowded(run: Run) -> Run:
    """The run, less stages that are drawn together where they are too many to be read one by one.

    What measured them is left out as well.
    """
    names = together(run)
    if len(names) <= MOST_ALONE:
        return run
    starts = _starts(run)
    return attrs.evolve(
        run,
        stages=[
            stage
            for stage in run.stages
            if stage.name not in names
            and not (stage.kind == "eval" and starts[stage.name] in names)
        ],
    )


def corners(run: Run, found: Sequence[Evaluation]) -> list[Corner]:
    """Every set of terms under which some stage has run at several seeds, in order."""
    by_terms: dict[str, list[list[StageRun]]] = {}
    starts = _starts(run)
    for stages in _alike(run):
        terms = _key(stages[0], starts, (*RULE, "seed"))
        by_terms.setdefault(terms, []).append(stages)
    titles = _titles([groups[0][0] for groups in by_terms.values()])
    measured = _measured(run, found)
    result = []
    for title, groups in zip(titles, by_terms.values(), strict=True):
        names = _names(groups)
        bands = [_band(name, stages, measured) for name, stages in zip(names, groups, strict=True)]
        result.append(Corner(title=title, bands=bands))
    return result


def section(run: Run, found: Sequence[Evaluation]) -> str:
    """The whole section; empty where no stage has run at several seeds."""
    every = corners(run, found)
    if not every:
        return ""
    top = max(value for corner in every for band in corner.bands for value in band.high)
    several = any(len(corner.bands) > 1 for corner in every)
    note = (
        "Stages with one start that differ in their seed alone, as one: the line is the mean over "
        "seeds of the accuracy sampled in each batch, on training problems, and the band reaches "
        "from the "
        "lowest seed to the highest, as far as all seeds have come. "
        + ("Dashed: the mean of all that stand beside each other. " if several else "")
        + "The band tells of what came after the start."
    )
    if len(together(run)) > MOST_ALONE:
        note += (
            " Curves, families and samples of each alone are left out; the files of each stage "
            "have them."
        )
    text = f'<h2>Seeds together</h2><p class="note">{escape(note)}</p>{_table(every)}'
    for place, corner in enumerate(every):
        if corner.title:
            text += f"<h3>{escape(corner.title)}</h3>"
        text += parts.grid(
            [
                _panel(corner, band, f"seeds{place}b{number}", top)
                for number, band in enumerate(corner.bands)
            ]
        )
    return text


def _alike(run: Run) -> list[list[StageRun]]:
    groups: dict[str, list[StageRun]] = {}
    starts = _starts(run)
    for stage in run.stages:
        if stage.kind == "rl" and stage.has(ACCURACY):
            groups.setdefault(_key(stage, starts, ("seed",)), []).append(stage)
    return [stages for stages in groups.values() if len(stages) > 1 and _reached(stages)]


def _starts(run: Run) -> dict[str, str]:
    """The stage with whose weights each begins: where none is named, the last one that trains."""
    starts: dict[str, str] = {}
    last = ""
    for stage in run.stages:
        starts[stage.name] = str(stage.settings.get("start") or last)
        kind = STAGE_KINDS.get(stage.kind)
        if kind is not None and kind.trains:
            last = stage.name
    return starts


def _key(stage: StageRun, starts: Mapping[str, str], without: Sequence[str]) -> str:
    kept = {name: value for name, value in stage.settings.items() if name not in without}
    kept["start"] = starts[stage.name]
    return json.dumps(kept, sort_keys=True, default=str)


def _reached(stages: Sequence[StageRun]) -> dict[float, list[float]]:
    """By step, what each stage came to; the steps that all have a figure of, in order."""
    values: dict[float, list[float]] = {}
    for stage in stages:
        for step, value in zip(stage.step_axis(), stage.column(ACCURACY), strict=True):
            if math.isfinite(value):
                values.setdefault(step, []).append(value)
    return {step: values[step] for step in sorted(values) if len(values[step]) == len(stages)}


def _titles(firsts: Sequence[StageRun]) -> list[str]:
    """What differs between sets of terms, by the names of settings."""
    flat = [
        dict(_flat({k: v for k, v in stage.settings.items() if k not in (*RULE, "seed")}))
        for stage in firsts
    ]
    names = dict.fromkeys(name for settings in flat for name in settings)
    differ = [name for name in names if len({str(each.get(name)) for each in flat}) > 1]
    last = [name.rpartition(".")[2] for name in differ]
    short = [name if last.count(end) > 1 else end for name, end in zip(differ, last, strict=True)]
    return [
        ", ".join(
            f"{as_called} {each.get(name, '–')}"
            for name, as_called in zip(differ, short, strict=True)
        )
        for each in flat
    ]


def _flat(value: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, item in value.items():
        if isinstance(item, Mapping):
            found += _flat(item, f"{prefix}{name}.")
        else:
            found.append((f"{prefix}{name}", item))
    return found


def _names(groups: Sequence[Sequence[StageRun]]) -> list[str]:
    """What the seeds of each have in common in their names, less what all groups end alike in."""
    names = [
        _shared([stage.name.split("-") for stage in stages]) or stages[0].name.split("-")
        for stages in groups
    ]
    ending = len(_shared([name[::-1] for name in names])) if len(names) > 1 else 0
    least = min(len(name) for name in names)
    return ["-".join(name[: len(name) - min(ending, least - 1)]) for name in names]


def _shared(words_of: Sequence[Sequence[str]]) -> list[str]:
    """The words with which all begin."""
    alike = itertools.takewhile(lambda place: len(set(place)) == 1, zip(*words_of, strict=False))
    return [place[0] for place in alike]


def _measured(run: Run, found: Sequence[Evaluation]) -> dict[str, Evaluation]:
    """By the stage whose weights it measured: the first evaluation that compares."""
    starts = _starts(run)
    measured: dict[str, Evaluation] = {}
    for evaluation in found:
        if evaluation.comparison is not None:
            measured.setdefault(starts.get(evaluation.stage, ""), evaluation)
    return measured


def _band(name: str, stages: Sequence[StageRun], measured: Mapping[str, Evaluation]) -> Band:
    values = _reached(stages)
    steps = list(values)
    pairs = [
        evaluation.comparison
        for stage in stages
        if (evaluation := measured.get(stage.name)) is not None
        and evaluation.comparison is not None
    ]
    return Band(
        name=name,
        stages=stages,
        steps=steps,
        mean=[math.fsum(values[step]) / len(values[step]) for step in steps],
        low=[min(values[step]) for step in steps],
        high=[max(values[step]) for step in steps],
        changes=[pair.difference for pair in pairs],
        wordings=[pair.wording for pair in pairs],
    )


def _panel(corner: Corner, band: Band, slug: str, top: float) -> Panel:
    all_of_them = _mean_of(corner.bands) if len(corner.bands) > 1 else {}

    def draw(axes: Axes, palette: Palette) -> None:
        charts.dress(axes, palette)
        if all_of_them:
            axes.plot(
                list(all_of_them),
                list(all_of_them.values()),
                color=palette["muted"],
                linewidth=1.2,
                linestyle=(0, (4, 3)),
            )
        color = palette["one"]
        axes.fill_between(band.steps, band.low, band.high, color=color, alpha=0.2, linewidth=0)
        axes.plot(band.steps, band.mean, color=color, linewidth=1.7, solid_joinstyle="round")
        charts.label_steps(axes, palette, band.steps)
        charts.scale_y(axes, shares=True, bounds=(-0.02, min(1.02, 1.06 * top + 0.02)))

    return Panel(
        title=band.name,
        note=_change(band),
        svg=canvas.svg(
            draw,
            slug=slug,
            title=f"{band.name}: sampled accuracy over {len(band.stages)} seeds",
            description=f"{words.percent(band.mean[0])} in the first batch, "
            f"{words.percent(band.mean[-1])} in the last, from "
            f"{words.percent(band.low[-1])} to {words.percent(band.high[-1])} by seed.",
            height=150,
        ),
    )


def _mean_of(bands: Sequence[Band]) -> dict[float, float]:
    values: dict[float, list[float]] = {}
    for band in bands:
        for step, value in zip(band.steps, band.mean, strict=True):
            values.setdefault(step, []).append(value)
    return {step: math.fsum(values[step]) / len(values[step]) for step in sorted(values)}


def _change(band: Band) -> str:
    if not band.changes:
        return ""
    return f"Held out {_mean(band)} points, by seed {_range(band)}."


def _mean(band: Band) -> str:
    return words.points(math.fsum(band.changes) / len(band.changes)) if band.changes else "–"


def _range(band: Band) -> str:
    if not band.changes:
        return "–"
    return f"{words.points(min(band.changes))} to {words.points(max(band.changes))}"


def _count(band: Band, wording: str) -> int | str:
    return band.wordings.count(wording) if band.changes else "–"


def _table(every: Sequence[Corner]) -> str:
    titled = any(corner.title for corner in every)
    rows = [
        [
            *([parts.cell(corner.title)] if titled else []),
            parts.cell(band.name, "", head=True),
            parts.cell(len(band.stages), "n"),
            parts.cell(words.percent(band.mean[0]), "n"),
            parts.cell(words.percent(band.mean[-1]), "n"),
            parts.cell(_mean(band), "n"),
            parts.cell(_range(band), "n"),
            parts.cell(_count(band, "improved"), "n"),
            parts.cell(_count(band, "regressed"), "n"),
        ]
        for corner in every
        for band in corner.bands
    ]
    columns = (
        *(["Terms"] if titled else []),
        "Stages",
        "Seeds:n",
        "First batch:n",
        "Last batch:n",
        "Held out, points:n",
        "By seed:n",
        "Better:n",
        "Worse:n",
    )
    caption = (
        "Sampled accuracy, and what changed on held-out problems, over seeds. "
        "Better and worse: how many seeds, by a paired interval of their own that leaves out 0."
    )
    return parts.table(caption, columns, rows, tall=len(rows) > 24)
