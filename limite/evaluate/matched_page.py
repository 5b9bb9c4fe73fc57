"""The page of a matched comparison: one file that opens offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limite.core.jsonl import write_atomic
from limite.core.recipe.matched.folder import PAGE
from limite.core.recipe.report import ability, canvas, parts
from limite.core.recipe.report.curves import Panel
from limite.core.recipe.report.shell import document
from limite.core.recipe.report.words import escape
from limite.evaluate import matched_told as told


def write_page(folder: Path, found: Mapping[str, Any], out: Path | None = None) -> Path:
    """Writes the page of a comparison, or to ``out``; the same comparison gives the same bytes."""
    place = folder / PAGE if out is None else out
    write_atomic(place, render(found).encode("utf-8"))
    return place


def render(found: Mapping[str, Any]) -> str:
    """The whole page as text."""
    with canvas.drawing():
        sections = [
            ("difference", "Difference", _differences(found)),
            ("accuracy", "Accuracy", _scores(found)),
            ("cost", "What each took", _costs(found)),
            ("matched", "Matched and not", _facts(found)),
            ("runs", "Runs", _runs(found)),
        ]
    return document(
        f"{found['name']} · matched comparison",
        _header(found),
        sections,
        "Written by limite from the files of the runs.",
    )


def _header(found: Mapping[str, Any]) -> str:
    last = found["measured"][found["stage"]]
    sentences = list(told.claim(found))
    first = last["comparisons"][0]
    claim = first["wording"] if first["wording"] in ("improved", "regressed") else ""
    more = "".join(f'<p class="scope">{escape(each)}.</p>' for each in sentences[1:])
    facts = [
        ("Variants", ", ".join(found["variants"])),
        ("Compared", ", ".join(found["varies"])),
        ("Training seeds", ", ".join(map(str, found["seeds"]))),
        ("Problems", f"{last['problems']:,}"),
        ("Responses to each", f"{last['samples']:,}"),
    ]
    rows = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts)
    scope = (
        "One training seed: how far training runs differ is not known."
        if len(found["seeds"]) == 1
        else "Covers resampling of problems and of training seeds; not graders or prompts."
    )
    return (
        f'<p class="over">matched comparison</p><h1>{escape(found["name"])}</h1>'
        f'<p class="headline {claim}">{escape(sentences[0])}</p>{more}'
        f'<p class="scope">{escape(scope)}</p><dl class="facts-row">{rows}</dl>'
    )


def _differences(found: Mapping[str, Any]) -> str:
    rows = [
        (
            f"{pair['after']}, {stage}" if len(found["measured"]) > 1 else pair["after"],
            pair["estimate"],
            _ends(pair),
            "two",
        )
        for stage in found["stages"]
        for pair in found["measured"][stage]["comparisons"]
    ]
    level = f"{100 * found['measured'][found['stage']]['confidence']:g}%"
    chart = _chart(
        "Paired differences",
        "difference-chart",
        f"Percentage points on the same problems, with {level} intervals. "
        "Only one that leaves out 0 is a difference.",
        rows,
        zero=True,
    )
    return f"<h2>Difference</h2>{_table('Paired differences', told.pair_rows(found))}{chart}"


def _scores(found: Mapping[str, Any]) -> str:
    rows = [
        (f"{each['name']}, {stage}", each["estimate"], _ends(each), "one")
        for stage in found["stages"]
        for each in found["measured"][stage]["recipes"]
    ]
    note = "Share of held-out responses that are right."
    note += ability.cut_axis([(value, bounds) for _, value, bounds, _ in rows])
    chart = _chart("Accuracy", "accuracy-chart", note, rows, zero=False)
    return f"<h2>Accuracy</h2>{_table('Accuracy', told.score_rows(found))}{chart}"


def _costs(found: Mapping[str, Any]) -> str:
    note = (
        "Operations are what is planned with responses at full length. Tokens learned from, tokens "
        "of reinforcement with their prompts, and seconds are per run."
    )
    table = _table("What each variant took", told.cost_rows(found))
    return f'<h2>What each took</h2><p class="note">{escape(note)}</p>{table}'


def _facts(found: Mapping[str, Any]) -> str:
    lists = ""
    sides = (("The same for all", found["matched"]), ("Not matched", told.not_matched(found)))
    for title, sentences in sides:
        items = "".join(f"<li>{escape(each)}</li>" for each in sentences)
        lists += f"<h3>{title}</h3><ul>{items}</ul>"
    return f"<h2>Matched and not</h2>{lists}"


def _runs(found: Mapping[str, Any]) -> str:
    names = [
        name for each in found["measured"][found["stage"]]["recipes"] for name in each["run_names"]
    ]
    items = "".join(
        f'<li><a href="{escape(name)}/report.html">{escape(name)}</a></li>' for name in names
    )
    return f"<h2>Runs</h2><ul>{items}</ul>"


def _ends(found: Mapping[str, Any]) -> tuple[float, float]:
    low, high = found["over_both"] or found["over_problems"]
    return low, high


def _table(caption: str, rows: Sequence[told.Row]) -> str:
    head, *body = rows
    columns = tuple(name.capitalize() for name in head)
    cells = [
        [parts.cell(value, "", head=number == 0) for number, value in enumerate(row)]
        for row in body
    ]
    return parts.table(caption, columns, cells)


def _chart(
    title: str,
    slug: str,
    note: str,
    rows: Sequence[tuple[str, float, tuple[float, float], str]],
    *,
    zero: bool,
) -> str:
    svg = ability.interval_chart(slug, title, list(rows), zero=zero)
    return f'<div class="pair">{parts.figure(Panel(title=title, note=note, svg=svg))}</div>'
