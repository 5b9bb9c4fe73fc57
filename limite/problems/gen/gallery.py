"""``limite-gen gallery``: a page of problems, three of every family, area by area."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from limite.core.discover import load_registry
from limite.core.jsonl import storage_error
from limite.core.types import Problem
from limite.problems.files import WORDS
from limite.problems.gen.families import (
    LOOKS,
    families_in,
    family,
    names_by_area,
    samples,
    words_in,
)
from limite.problems.gen.list import dial
from limite.problems.gen.say import new_file, report
from limite.problems.procedural.areas import AREAS

NAME = "gallery.md"
DEGREES = ("Easy", "Middling", "Hard")
HEAD = """\
# A gallery of problems

Three problems of every family, with a worked solution: at the easy end of its dial, in the middle
and at the hard end. `limite-gen gallery --to docs/gallery.md --force` writes this page;
`limite-gen show FAMILY` shows one family, with its settings.
"""
_MATHEMATICS = re.compile(r"(?<!\\)\$([^$]+)\$")


@click.command()
@click.option(
    "--to", "place", metavar="FILE|DIR", type=click.Path(path_type=Path), required=True,
    help="The page, or a folder for gallery.md.",
)  # fmt: skip
@click.option("--area", metavar="A[,B]", help="These areas alone.")
@click.option("--force", is_flag=True, help="Replace a page that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gallery(place: Path, area: str | None, force: bool, as_json: bool) -> None:
    """Write a page of problems in Markdown: of every family an easy, a middling and a hard one.

    The same families give the same page.
    """
    if place.is_dir():
        place = place / NAME
    new_file(place, force=force, problems=False)
    if area is not None:
        families_in(words_in(area, "an area"))
    text = page(None if area is None else set(words_in(area, "an area")))
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise storage_error(error, place) from error
    report(as_json, place, {"families": text.count("\n### ")})


def page(only: set[str] | None = None) -> str:
    """The whole page, or that of some areas."""
    areas = names_by_area()
    ordered = [*(area for area in AREAS if area in areas), *sorted(set(areas) - set(AREAS))]
    chosen = [area for area in ordered if only is None or area in only]
    count = sum(len(areas[area]) for area in chosen)
    parts = [HEAD, f"{count} families in {len(chosen)} areas:\n"]
    parts.append("".join(f"- [{_title(area)}](#{area}): {len(areas[area])}\n" for area in chosen))
    for area in chosen:
        parts.append(f"## {_title(area)}\n")
        for name in sorted(areas[area]):
            parts.extend(_family(name))
    return "\n".join(parts)


def _title(area: str) -> str:
    return area.replace("-", " ").capitalize()


def _family(name: str) -> Iterator[str]:
    entry = load_registry().get("generator", name)
    component = family(name)
    yield f"### {name}\n"
    turns = ", ".join(
        f"{quantity.replace('_', ' ')} {low:g} to {high:g}"
        for quantity, (low, high) in dial(entry.load(), component).items()
    )
    yield f"{entry.summary} Dial: {turns or 'none'}.\n"
    problems = samples(name, component, 1)
    for degree, _, problem in zip(DEGREES, LOOKS, problems, strict=True):
        yield f"**{degree}.** {shown(problem.problem)}\n"
        yield "\n".join(f"> {line}".rstrip() for line in _solution(problem)) + "\n"


def _solution(problem: Problem) -> list[str]:
    """The lines of the solution in words, else of the longest one, and the answer."""
    solutions, answer = problem.solutions, problem.answer
    text = solutions.get(WORDS) or max(solutions.values(), key=len, default="")
    stated = f"Answer, of type `{answer.type}`: `{answer.value}`"
    return [*shown(text).splitlines(), "", stated] if text else [stated]


def shown(text: str) -> str:
    """A text as a page shows it: mathematics stays as it is written, whatever Markdown means."""
    if not _MATHEMATICS.search(text):
        return f"`{text}`" if re.search(r"[*_<=]", text) else text
    return _MATHEMATICS.sub(lambda match: f"$`{match[1].strip()}`$", text)
