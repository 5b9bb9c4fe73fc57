"""The page of problems is what the families give: write it again when one of them changes."""

from __future__ import annotations

import re
from pathlib import Path

from limite.problems.gen.gallery import page

PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"
AGAIN = "limite-gen gallery --to docs/gallery.md --force"


def sections(text: str) -> dict[str, str]:
    """The part of each family, and what stands before all of them under no name."""
    parts = re.split(r"^### (.+)\n", text, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_shows_what_the_families_give() -> None:
    committed, now = sections(PAGE.read_text(encoding="utf-8")), sections(page())
    changed = [name for name in now if committed.get(name) != now[name]]
    assert (changed, sorted(set(committed) - set(now))) == ([], []), AGAIN
    assert AGAIN in committed[""]
