"""Held-out problems one by one, of the evaluations of a run: what changed, and the responses."""

from __future__ import annotations

from collections.abc import Mapping

from limite.core.recipe.report import asked, browser
from limite.core.recipe.report.asked import Side, changes, kept, shown_of_one, shown_of_pair
from limite.core.recipe.report.read import Run, StageRun
from limite.core.recipe.report.words import escape

OF_PAIR = "those that lost or gained most, then others, those not always solved first"
OF_ONE = "never, sometimes and always solved ones, in the order asked"


def section(run: Run) -> str:
    """The last evaluation of a run beside the one it is compared with; without one, alone."""
    measured = [side for stage in run.stages if (side := _side(stage)) is not None]
    if not measured:
        return ""
    last = measured[-1]
    before = next((each for each in measured if each.name == _against(last)), None)
    if before is None:
        return f"<h2>Problem by problem</h2>{of_one([last])}"
    return f"<h2>Problem by problem</h2>{of_pair(before, last)}"


def of_one(sides: list[Side], *, slug: str = "problem") -> str:
    """The responses of models that are compared with none."""
    problems = shown_of_one(sides[-1])
    shelf = browser.Shelf(
        sides=sides,
        kept=[kept(side, problems, problems) for side in sides],
        problems=problems,
        total=len(sides[-1].counts),
        slug=slug,
    )
    return browser.browser(shelf, OF_ONE)[0]


def of_pair(before: Side, after: Side, *, slug: str = "problem", among: int = 1) -> str:
    """The table of changes and the responses of two models to the same problems.

    ``among`` so many pairs a page shares its room.
    """
    found = changes(before, after)
    problems = shown_of_pair(found)
    listed = {each.problem for each in asked.most_changed(found)}
    shelf = browser.Shelf(
        sides=[before, after],
        kept=[
            kept(before, set(), problems),
            kept(after, listed | set(problems), problems),
        ],
        problems=problems,
        total=len(found),
        pair=(0, 1),
        slug=slug,
    )
    responses, linked = browser.browser(shelf, OF_PAIR, browser.MOST_CHARACTERS // among)
    table = browser.paired_table(shelf, found, linked)
    heading = f"<h3>{escape(after.name)} beside {escape(before.name)}</h3>"
    return f"{heading}{table}{responses}"


def _side(stage: StageRun) -> Side | None:
    if stage.kind != "eval" or not stage.results or not stage.rollout_files:
        return None
    side = Side(name=stage.name, results=stage.results, responses=stage.rollout_files[0])
    return side if side.counts else None


def _against(side: Side) -> str:
    found = side.results.get("against")
    return str(found.get("stage")) if isinstance(found, Mapping) else ""
