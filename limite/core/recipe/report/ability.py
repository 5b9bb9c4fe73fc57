"""What the page says of ability: held-out accuracy, its paired differences, and by family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from limite.core.health.holm import holm
from limite.core.recipe.report import canvas, charts, curves, parts, summary, words
from limite.core.recipe.report.read import Run
from limite.core.recipe.report.summary import Evaluation
from limite.core.recipe.report.words import escape

MOST_ARMS = 60


def accuracy(run: Run, found: Sequence[Evaluation]) -> str:
    if not found:
        return ""
    compared = [e for e in found if e.comparison is not None]
    level = f"{100 * found[-1].confidence:g}%"
    p_values = {
        e.stage: e.comparison.p_value
        for e in compared
        if e.comparison is not None
        and e.comparison.p_value is not None
        and 0 <= e.comparison.p_value <= 1
    }
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    several = len(adjusted) > 1
    rows = []
    for evaluation in found:
        pair = evaluation.comparison
        total = (
            f"{words.count(evaluation.correct)} / {words.count(evaluation.total)}"
            if evaluation.correct is not None and evaluation.total is not None
            else "–"
        )
        plain, holmed = (words.p_value(each.get(evaluation.stage)) for each in (p_values, adjusted))
        tone = {"improved": "good", "regressed": "bad"}.get(pair.wording if pair else "", "")
        rows.append(
            [
                parts.cell(evaluation.stage, "", head=True),
                parts.cell(total, "n"),
                parts.cell(words.percent(evaluation.score), "n"),
                parts.cell(words.percent_interval(evaluation.interval), "n"),
                parts.cell(pair.against if pair else "–"),
                parts.cell(words.points(pair.difference) if pair else "–", "n"),
                parts.cell(words.points_interval(pair.interval) if pair else "–", "n"),
                parts.cell(pair.wording if pair else "–", tone),
                *([parts.cell(plain, "n")] if p_values else []),
                *([parts.cell(holmed, "n")] if several else []),
            ]
        )
    columns = (
        "Evaluation",
        "Right:n",
        "Accuracy:n",
        f"{level} interval:n",
        "Against",
        "Points:n",
        f"{level} paired interval:n",
        "Verdict",
        *(["p:n"] if p_values else []),
        *(["p, Holm:n"] if several else []),
    )
    figures = [
        parts.figure(
            curves.Panel(
                title="Accuracy",
                note=f"Share right on held-out problems, with {level} intervals."
                + cut_axis([(e.score, e.interval) for e in found]),
                svg=interval_chart(
                    "accuracy-chart",
                    "Held-out accuracy",
                    [(e.stage, e.score, e.interval, "one") for e in found],
                    zero=False,
                ),
            )
        )
    ]
    if compared:
        pairs = [(e.stage, e.comparison) for e in compared if e.comparison is not None]
        figures.append(
            parts.figure(
                curves.Panel(
                    title="Paired differences",
                    note=f"Percentage points on the same problems, with {level} intervals. "
                    "Only one that leaves out 0 is a difference.",
                    svg=interval_chart(
                        "difference-chart",
                        "Paired differences in points",
                        [
                            (f"{stage} − {pair.against}", pair.difference, pair.interval, "two")
                            for stage, pair in pairs
                        ],
                        zero=True,
                    ),
                )
            )
        )
    note = f"{_protocol(found[-1])}. {_separation(run)}{_scope(run)}Single run."
    if any(stage.results and stage.results.get("unreliable") is True for stage in run.stages):
        note += " The grader failed or was late on over 1% of responses: a score is unreliable."
    if any("no spread" in str(table.get("method", "")) for table in _measured(run)):
        note += (
            " Where all problems agree, resampling them shows no spread: the interval is then "
            "Wilson's, over problems."
        )
    if any("too few" in str(table.get("method", "")) for table in _measured(run)):
        note += (
            " Where problems are too few for resampling, the interval of an accuracy is Wilson's, "
            "at the number of questions that the score is worth."
        )
    if len(compared) > 1:
        note += f" {len(compared)} comparisons; the intervals are not adjusted for their number"
        note += ", the p-values after Holm are." if several else "."
    seen = [_table(_table(s.results, "against"), "power") for s in run.stages if s.results]
    powers = [text for table in seen if isinstance(text := table.get("text"), str)]
    if powers:
        note += f" {detectable(powers[-1])}"
    return (
        f'<h2>Held-out accuracy</h2><p class="note">{escape(note)}</p>'
        + parts.table("Held-out accuracy of each evaluation", columns, rows)
        + f'<div class="pair">{"".join(figures)}</div>'
        + _audit(run)
    )


def detectable(power: str) -> str:
    """What differences could have been seen, from what the comparison has recorded of it."""
    return (
        f"{power[:1].upper()}{power[1:]}: four of five such measurements would find a true "
        "difference of that size, where problems vary as they do here."
    )


def _audit(run: Run) -> str:
    """How the held-out responses ended, and what the grader could not read."""
    measured = [(s.name, s.results) for s in run.stages if s.results and "endings" in s.results]
    if not measured:
        return ""
    ks = sorted({k for _, results in measured for k in _table(results, "pass_at_k") if k != "1"})
    voted = any("majority" in results for _, results in measured)
    rows = []
    for name, results in measured:
        total = words.finite(results.get("total")) or math.nan
        grader = _table(results, "grader")
        passes = [words.finite(_table(results, "pass_at_k").get(k)) for k in ks]
        if voted:
            passes.append(words.finite(_table(results, "majority").get("score")))
        lengths = _table(_table(results, "tokens"), "all")
        shares = [
            words.finite(_table(results, "endings").get("eos")),
            words.finite(results.get("correct_but_truncated")),
            words.finite(grader.get("no_answer")),
            words.finite(grader.get("timeout")),
        ]
        rows.append(
            [
                parts.cell(name, "", head=True),
                *(parts.cell(words.percent(value), "n") for value in passes),
                *(
                    parts.cell("–" if value is None else words.percent(value / total), "n")
                    for value in shares
                ),
                parts.cell(words.number(words.finite(lengths.get("mean"))), "n"),
            ]
        )
    columns = (
        "Evaluation",
        *(f"pass@{k}:n" for k in ks),
        *(["Majority:n"] if voted else []),
        "Ended:n",
        "Right but cut:n",
        "Unreadable:n",
        "Timed out:n",
        "Mean tokens:n",
    )
    return parts.table("How the held-out responses ended", columns, rows)


def _measured(run: Run) -> list[Mapping[str, Any]]:
    """Whatever names a method: each result and the comparison in it."""
    results = [stage.results for stage in run.stages if stage.results]
    return [*results, *(_table(each, "against") for each in results)]


def _table(results: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = results.get(name)
    return value if isinstance(value, Mapping) else {}


def _protocol(evaluation: Evaluation) -> str:
    if evaluation.problems is None:
        return "Problems the run never trained on"
    text = f"{words.plural(evaluation.problems, 'problem')} the run never trained on"
    if evaluation.samples is not None:
        text += f", {words.plural(evaluation.samples, 'sample')} each"
    return text


def _separation(run: Run) -> str:
    """What the check of held-out against training problems found, as the evaluation says it."""
    said = [_table(s.results, "separation").get("text") for s in run.stages if s.results]
    last = next((text for text in reversed(said) if isinstance(text, str) and text), None)
    return "" if last is None else f"{last[:1].upper()}{last[1:].rstrip('.')}. "


def _scope(run: Run) -> str:
    covered = summary.scope_of(run)
    return f"Every interval {covered}. " if covered else ""


def cut_axis(shares: Sequence[tuple[float, tuple[float, float] | None]]) -> str:
    """Says so where the axis of a chart of shares does not begin at 0; empty where it does."""
    low, _ = charts.span([end for value, bounds in shares for end in (value, *(bounds or ()))])
    return f" The axis begins at {words.percent(low)}, not at 0." if low > 0 else ""


def interval_chart(
    slug: str,
    title: str,
    rows: Sequence[tuple[str, float, tuple[float, float] | None, str]],
    *,
    zero: bool,
) -> str:
    """Estimates with their intervals, a row each; ``zero`` draws the line of no change."""
    form = words.points if zero else words.percent
    both = words.points_interval if zero else words.percent_interval
    longest = max(len(row[0]) for row in rows)
    return canvas.svg(
        lambda axes, palette: charts.intervals(axes, palette, rows, zero=zero, text=form),
        slug=slug,
        title=title,
        description=" ".join(f"{n}: {form(v)}, interval {both(i)}." for n, v, i, _ in rows),
        height=40 + 46 * len(rows),
        left=min(170, 16 + 7 * longest),
        right=22,
    )


def families(run: Run, found: Sequence[Evaluation]) -> str:
    text = ""
    with_arms = [evaluation for evaluation in found if evaluation.by_arm]
    if with_arms:
        text += _held_out_families(with_arms)
    for stage in run.stages:
        panels = curves.arm_curves(stage)
        if panels:
            text += (
                f"<h3>{escape(stage.name)}: sampled accuracy while training</h3>"
                '<p class="note">Training problems, as the curriculum chose them, by difficulty.'
                f"</p>{parts.grid(panels)}"
            )
    return f"<h2>Accuracy by family</h2>{text}" if text else ""


def _held_out_families(found: Sequence[Evaluation]) -> str:
    arms = sorted({arm for e in found for arm in e.by_arm}, key=curves.natural)[:MOST_ARMS]
    rows: list[tuple[str, Sequence[float | None] | None]] = []
    cells = []
    previous = None
    for arm in arms:
        family, _, level = arm.partition("@")
        values = [evaluation.by_arm.get(arm) for evaluation in found]
        if family != previous:
            rows.append((family, None))
        level = curves.level_name(level) or "all"
        rows.append((level, values))
        tone = "soft" if family == previous else ""
        previous = family
        cells.append(
            [
                parts.cell(family, tone, head=True),
                parts.cell(level, "n"),
                *(parts.cell(words.percent(value), "n") for value in values),
            ]
        )
    left = 104
    svg = canvas.svg(
        lambda axes, palette: charts.dumbbells(axes, palette, rows, left),
        slug="arms-chart",
        title="Held-out accuracy by family and difficulty",
        description=" ".join(
            f"{arm}: {', '.join(words.percent(e.by_arm.get(arm)) for e in found)}." for arm in arms
        ),
        height=40 + 22 * len(rows),
        left=left,
        right=20,
    )
    colors = charts.series_colors(len(found))
    panel = curves.Panel(
        title="Held-out accuracy by family and difficulty",
        note="Few problems stand behind each row, so no interval and no claim is given here.",
        svg=svg,
        legend=[(e.stage, colors[i], f"marker{i % 4}") for i, e in enumerate(found)],
    )
    columns = ("Family", "Difficulty:n", *(f"{e.stage}:n" for e in found))
    numbers = parts.table("Held-out accuracy by family and difficulty", columns, cells)
    return f'<div class="pair">{parts.figure(panel)}<div>{numbers}</div></div>'
