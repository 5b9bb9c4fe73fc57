"""The frame of a page: one file that asks for nothing from elsewhere.

No script, no font, no image: a content policy in its head forbids them, whatever text a problem or
a response may hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from limite.core.recipe.report.words import escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
Section = tuple[str, str, str]
"""The name of its place on the page, its title in the list of sections, its HTML."""


def document(title: str, header: str, sections: Sequence[Section], footer: str) -> str:
    """The whole page as text; sections without content are left out."""
    shown = [section for section in sections if section[2]]
    links = "".join(f'<li><a href="#{slug}">{escape(name)}</a></li>' for slug, name, _ in shown)
    body = "".join(f'<section id="{slug}">{text}</section>' for slug, _, text in shown)
    style = (resources.files("limite.core.recipe.report") / "page.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header><div class="wrap">{header}'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></div></header>\n'
        f'<main class="wrap">{body}</main>\n'
        f'<footer class="wrap">{escape(footer)} '
        "Nothing on this page is loaded from elsewhere.</footer>\n</body>\n</html>\n"
    )
