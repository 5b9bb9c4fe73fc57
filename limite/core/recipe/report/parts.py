"""Pieces the page is made of: tables that scroll in their own box, charts with their words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from limite.core.recipe.report import charts
from limite.core.recipe.report.curves import Panel
from limite.core.recipe.report.words import escape, shorten

MOST_ROWS = 48  # of a table that stands on the page at its full height
MOST_CHARACTERS = 90  # of a name or a verdict in a table


def grid(panels: Sequence[Panel]) -> str:
    """Charts beside each other, their drawings level where their legends allow it."""
    keyed = " keyed" if any(panel.legend for panel in panels) else ""
    return f'<div class="charts{keyed}">{"".join(figure(panel) for panel in panels)}</div>'


def figure(panel: Panel) -> str:
    """A chart with its title and legend above and its note below."""
    legend = "".join(
        f"<li>{_swatch(color, dash)}{escape(name)}</li>" for name, color, dash in panel.legend
    )
    keys = f'<ul class="legend">{legend}</ul>' if legend else ""
    note = f'<p class="note">{escape(panel.note)}</p>' if panel.note else ""
    return (
        f"<figure><figcaption><h4>{escape(brief(panel.title))}</h4>{keys}</figcaption>"
        f"{panel.svg}{note}</figure>"
    )


_MARKS = (
    '<circle cx="11" cy="5" r="3.4" style="stroke:var(--{0});stroke-width:1.6;fill:var(--paper)"/>',
    '<rect x="7.5" y="1.5" width="7" height="7" style="fill:var(--{0})"/>',
    '<path d="M7 8.5h8L11 1z" style="fill:var(--{0})"/>',
    '<path d="M11 0.5l4.5 4.5-4.5 4.5-4.5-4.5z" style="fill:var(--{0})"/>',
)


def _swatch(color: str, dash: str) -> str:
    if dash.startswith("marker"):
        inside = _MARKS[int(dash[-1])].format(color)
    else:
        pattern = charts.DASHES.get(dash, "2 2")
        inside = (
            f'<path d="M0 5h22" style="stroke:var(--{color});stroke-width:2.2;'
            f'stroke-dasharray:{pattern or "none"}"/>'
        )
    return f'<svg viewBox="0 0 22 10" aria-hidden="true">{inside}</svg>'


def brief(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text as one line, cut where it is longer than a row has room for."""
    start, left_out = shorten(" ".join(text.split()) if "\n" in text else text, most)
    return f"{start}…" if left_out else start


def cell(value: Any, classes: str = "", *, head: bool = False) -> str:
    tag, scope = ("th", ' scope="row"') if head else ("td", "")
    wear = f' class="{escape(classes.strip())}"' if classes.strip() else ""
    return f"<{tag}{scope}{wear}>{escape(brief(str(value)))}</{tag}>"


def table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, tall: bool = False
) -> str:
    """A table in a box of its own, so that a narrow screen scrolls it and not the page.

    One that may be ``tall`` is scrolled that way too, as is any with more than ``MOST_ROWS``.
    """
    heads = ""
    for column in columns:
        wear = ' class="n"' if column.endswith(":n") else ""
        heads += f'<th scope="col"{wear}>{escape(column.removesuffix(":n"))}</th>'
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    wear = "box scroll tall" if tall or len(rows) > MOST_ROWS else "box scroll"
    return (
        f'<div class="{wear}" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table><caption>{escape(caption)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
