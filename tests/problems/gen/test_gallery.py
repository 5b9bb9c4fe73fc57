"""``limite-gen gallery``: three problems of every family, the same page every time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from limite.problems.gen.families import names_by_area
from limite.problems.gen.gallery import page, shown


def test_a_page_has_three_problems_of_every_family(gen: Callable, tmp_path: Path) -> None:
    ended = gen("gallery", "--to", tmp_path)
    assert ended.code == 0
    text = (tmp_path / "gallery.md").read_text()
    names = [name for area in names_by_area().values() for name in area]
    assert all(text.count(f"\n### {name}\n") == 1 for name in names)
    for degree in ("Easy", "Middling", "Hard"):
        assert text.count(f"\n**{degree}.** ") == len(names)
    assert text.count("\n> Answer, of type `") == 3 * len(names)
    assert text == page()
    assert gen("gallery", "--to", tmp_path).code == 2
    assert gen("gallery", "--to", tmp_path, "--force").code == 0


def test_a_page_of_one_area_holds_no_other(gen: Callable, tmp_path: Path) -> None:
    place = tmp_path / "page.md"
    assert gen("gallery", "--to", place, "--area", "number-theory").code == 0
    assert [line for line in place.read_text().splitlines() if line.startswith("## ")] == [
        "## Number theory"
    ]
    assert "no area 'x'" in gen("gallery", "--to", tmp_path, "--area", "x").err


def test_mathematics_is_kept_from_markdown() -> None:
    assert shown("3*4-2*5=?") == "`3*4-2*5=?`"
    assert shown("Is $a_1$ in $\\{1, 2\\}$?") == "Is $`a_1`$ in $`\\{1, 2\\}`$?"
    assert shown("A price of \\$5.") == "A price of \\$5."
