"""From a drawing to bytes: inline SVG for the page, PNG for the picture.

A chart is drawn with stand-in colours which become CSS variables in the SVG, so one drawing serves
a light and a dark page; the picture puts real colours in the same places. Text stays text. The
same data give the same bytes: no dates, no random ids.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from limite.core.recipe.report import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 360, 196  # CSS pixels: three abreast on a desk, one on a phone
Palette = dict[str, str]

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


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Settings under which every chart is drawn, put back afterwards."""
    from matplotlib import rc_context, rcdefaults, rcParams

    quiet = logging.getLogger("matplotlib.font_manager")  # tells of building its cache
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        with rc_context():
            rcdefaults()  # whatever style a person has set for their own charts
            rcParams.update(
                {
                    "svg.fonttype": "none",
                    "svg.hashsalt": "limite",
                    "font.size": 11.5,
                    "font.family": "DejaVu Sans",
                    "text.parse_math": False,
                    "axes.unicode_minus": True,
                    "path.simplify": False,
                }
            )
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
    left: float = 48,
    right: float = 12,
    bottom: float = 26,
) -> str:
    """One chart as inline SVG with a title and a description for who cannot see it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH / 72, height / 72), facecolor="none")
    axes = figure.add_axes(
        (left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (bottom + 8) / height)
    )
    draw(axes, STAND_INS)
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return _inline(out.getvalue().decode("utf-8"), slug, title, description, height)


def save_png(figure: Figure, width: int) -> bytes:
    """A figure as PNG, without the date and version that would change its bytes."""
    out = io.BytesIO()
    dpi = width / figure.get_figwidth()
    figure.savefig(out, format="png", dpi=dpi, metadata={"Software": None})
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
