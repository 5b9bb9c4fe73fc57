"""``limite-gen inspect``: what a file holds, counted, and some of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from limite.core.cli.table import show_json, show_table
from limite.core.errors import LimiteError
from limite.core.separation import text_hash
from limite.problems import files
from limite.problems.gen.families import area_of
from limite.problems.gen.say import cut, new_file

if TYPE_CHECKING:
    from limite.core.types import Problem

BINS = 10
COMMON = 5
BAR = 40
DRAWN = 20


SHOWN = 5_000
"""The most characters of a question, or of an answer, that a sample shows."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--samples", metavar="N", type=click.IntRange(0, 1000), default=3, show_default=True,
    help="Problems to show, evenly spread over the file.",
)  # fmt: skip
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="A picture: .svg, .png or .pdf."
)
@click.option("--force", is_flag=True, help="Replace a picture that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(file: Path, samples: int, plot: Path | None, force: bool, as_json: bool) -> None:
    """Count what a file holds, and show some of it.

    Difficulty and the length of answers are shown as histograms. A repetition has the question
    and the answer of an earlier line; look-alikes differ in case, spacing or punctuation.
    """
    if plot is not None:
        if plot.suffix not in (".svg", ".png", ".pdf"):
            raise LimiteError(f"--plot {plot}: expected a name that ends in .svg, .png or .pdf")
        new_file(plot, force=force, problems=False)
    page = look(file, samples)
    if plot is not None:
        draw(page, plot)
    if as_json:
        show_json(page)
        return
    click.echo(
        f"{file}: {page['problems']:,} problems, {page['repeated']:,} repeated, "
        f"{page['look_alikes']:,} more with a look-alike"
    )
    for name in ("families", "tags", "answer_types", "common_answers"):
        show_table((name.replace("_", " ").upper(), "PROBLEMS"), _rows(page[name]), cut=False)
        click.echo("")
    for name in ("difficulty", "answer_characters"):
        show_table((name.replace("_", " ").upper(), "PROBLEMS", ""), _bars(page[name]), cut=False)
        click.echo("")
    bins = list(page["difficulty"])
    show_table(
        ("DIFFICULTY BY AREA", *bins),
        [
            (area, *(f"{counts.get(each, 0):,}" for each in bins))
            for area, counts in page["difficulty_by_area"].items()
        ],
        cut=False,
    )
    click.echo("")
    for sample in page["samples"]:
        click.echo(f"line {sample['line']:,}: {cut(sample['problem'], SHOWN)}")
        click.echo(f"  answer: {cut(sample['answer']['value'], SHOWN)}")


def look(file: Path, samples: int) -> dict[str, Any]:
    """Everything that ``inspect`` shows, as plain data."""
    ids: set[bytes] = set()
    texts: set[bytes] = set()
    counts: dict[str, Counter[str]] = {
        name: Counter()
        for name in ("families", "tags", "answer_types", "answers", "difficulty", "characters")
    }
    areas: dict[str, Counter[str]] = {}
    repeated = alike = total = 0
    for problem in files.iterate(file):
        total += 1
        key, text = bytes.fromhex(problem.id), bytes.fromhex(text_hash(problem.problem))
        repeated += key in ids
        alike += text in texts and key not in ids
        ids.add(key)
        texts.add(text)
        _count(problem, counts)
        area = areas.setdefault(area_of(problem.tags), Counter())
        area[_level(problem)] += 1
    step = max(1, total // samples) if samples else 1
    shown = [
        {"line": number, **files.record_of(problem)}
        for number, problem in enumerate(files.iterate(file) if samples else (), start=1)
        if (number - 1) % step == 0
    ][:samples]
    return {
        "file": str(file),
        "problems": total,
        "repeated": repeated,
        "look_alikes": alike,
        "families": dict(counts["families"].most_common()),
        "tags": dict(counts["tags"].most_common()),
        "answer_types": dict(counts["answer_types"].most_common()),
        "common_answers": dict(counts["answers"].most_common(COMMON)),
        "difficulty": _ordered(counts["difficulty"]),
        "answer_characters": _ordered(counts["characters"]),
        "difficulty_by_area": {
            area: _ordered(areas[area])
            for area in sorted(areas, key=lambda each: -areas[each].total())
        },
        "samples": shown,
    }


def _count(problem: Problem, counts: Mapping[str, Counter[str]]) -> None:
    source = problem.source
    counts["families"][str(source.get("generator") or source.get("kind") or "unknown")] += 1
    counts["tags"].update(problem.tags)
    counts["answer_types"][problem.answer.type] += 1
    counts["answers"][problem.answer.value[:60]] += 1
    counts["difficulty"][_level(problem)] += 1
    length = len(problem.answer.value)
    counts["characters"][str(length) if length < BINS else _bin(length, BINS)] += 1


def _level(problem: Problem) -> str:
    """Tenths of the dial; its upper end, 100, belongs to the last."""
    level = problem.difficulty.get("level")
    if not isinstance(level, int):
        return "unknown"
    return "90-100" if 90 <= level <= 100 else _bin(level, 100 // BINS)


def _bin(value: int, width: int) -> str:
    first = value // width * width
    return f"{first}-{first + width - 1}"


def _ordered(counts: Counter[str]) -> dict[str, int]:
    """By the number that a name begins with; names without one last."""

    def order(name: str) -> tuple[int, str]:
        first = name.partition("-")[0]
        return (int(first), "") if first.isdecimal() else (1 << 62, name)

    return {name: counts[name] for name in sorted(counts, key=order)}


def _rows(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    return [(name, f"{count:,}") for name, count in counts.items()]


def _bars(counts: Mapping[str, int]) -> list[tuple[str, str, str]]:
    most = max(counts.values(), default=1)
    return [
        (name, f"{count:,}", "#" * max(1, round(BAR * count / most)))
        for name, count in counts.items()
    ]


def draw(page: Mapping[str, Any], place: Path) -> None:
    """Draws the families, and the histograms of difficulty and of the length of answers.

    Where the families are too many to be told apart, their areas are drawn.
    """
    from matplotlib.figure import Figure  # late: it takes a second

    many = len(page["families"]) > DRAWN
    areas = {area: sum(counts.values()) for area, counts in page["difficulty_by_area"].items()}

    figure = Figure(figsize=(11, 4), layout="constrained")
    titles = {
        "families": "problems by area" if many else "problems by family",
        "difficulty": "problems by difficulty",
        "answer_characters": "problems by characters of the answer",
    }
    for axes, (name, title) in zip(figure.subplots(1, 3), titles.items(), strict=True):
        bars = areas if many and name == "families" else page[name]
        names, counts = list(bars), list(bars.values())
        axes.bar(range(len(names)), counts, color="#4878a8")
        axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
        axes.set_title(title, fontsize=10)
    figure.savefig(place)
