"""What a suite is made of, where its data lie, and on which terms its publisher asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core.errors import did_you_mean
from limite.core.kinds import Verifier
from limite.core.rollout.budget import BUDGETS
from limite.evaluate.problem_sets import ProblemSet, problem_set
from limite.evaluate.profiles import CHAT, FEW_SHOT, Misplaced
from limite.evaluate.suites import publisher

SUITES: Mapping[str, Sequence[str]] = {
    "limite": ("limite-easy", "limite-middle", "limite-hard"),
    "math-extended": tuple(publisher.TASKS),
}
PUBLISHED = "math-extended"
OLYMPIAD = "olympiadbench"


@attrs.frozen(kw_only=True)
class Tasks:
    """The tasks of a suite that can be asked, each with its place; the others with a reason."""

    suite: str
    places: Mapping[str, str]
    missing: Mapping[str, str]

    def reader(self, task: str) -> Callable[[Verifier], ProblemSet]:
        """What reads the problems of a task, given what will judge the answers."""
        place = self.places[task]
        if self.suite == PUBLISHED:
            return lambda verifier: publisher.problems_of(task, Path(place), verifier)
        return lambda verifier: problem_set(place, verifier)


def is_published(named: str | None) -> bool:
    """Whether a suite, or one task of it, is asked on its publisher's terms."""
    return named is not None and named.partition("/")[0] == PUBLISHED


def tasks_of(named: str, data: Path | None) -> Tasks:
    """What ``SUITE`` or ``SUITE/TASK`` names; a Misplaced says what is wrong with either word."""
    suite, _, single = named.partition("/")
    if named == f"{PUBLISHED}/{OLYMPIAD}":
        raise Misplaced([("suite", f"{OLYMPIAD} cannot be asked: {publisher.NO_OLYMPIAD}")])
    if suite not in SUITES or (named != suite and single not in SUITES[suite]):
        known = [*SUITES, *(f"{each}/{task}" for each in SUITES for task in SUITES[each])]
        near = did_you_mean(named, known) or f"; there are {', '.join(SUITES)}"
        raise Misplaced([("suite", f"no suite {named!r}{near}")])
    tasks = [single] if single else list(SUITES[suite])
    if suite != PUBLISHED:
        if data is not None:
            raise Misplaced([("data", f"belongs to the suite {PUBLISHED}; {suite} has its own")])
        return Tasks(suite=suite, places={each: each for each in tasks}, missing={})
    if data is None:
        raise Misplaced([("data", f"say where the data of {PUBLISHED} lie, a folder")])
    if not data.is_dir():
        raise Misplaced([("data", f"{data} is no folder")])
    found = {task: publisher.place_in(data, task) for task in tasks}
    missing = {task: "its data are not there" for task, each in found.items() if each is None}
    if not single:
        missing[OLYMPIAD] = publisher.NO_OLYMPIAD
    places = {task: str(each) for task, each in found.items() if each is not None}
    if not places:
        message = (
            f"{data} holds none of {', '.join(tasks)}; a task lies there as {tasks[0]}.jsonl, "
            f"{tasks[0]}.parquet, or as a saved data set {tasks[0]}"
        )
        raise Misplaced([("data", message)])
    return Tasks(suite=suite, places=places, missing=missing)


def published(
    profile: str | None, given: Collection[str], *, greedy: bool = False
) -> dict[str, Any]:
    """How the publisher decodes, by the profile: the terms that are not ``given`` otherwise.

    Chat models answer as often as the task says, at 0.6 within 0.95, in the context less 4,096
    tokens; base models once, by the likeliest token, in 8,192. A ``greedy`` chat model, one whose
    temperature is given as 0, answers once as well.
    """
    if profile == FEW_SHOT:
        theirs: dict[str, Any] = {"temperature": 0.0, "samples": 1, "max_tokens": 8192}
    elif profile in (None, CHAT):
        theirs = {"temperature": 0.6, "top_p": 0.95, "budget": BUDGETS[2]}
        if greedy:
            theirs |= {"temperature": 0.0, "top_p": None, "samples": 1}
    else:
        told = f"{PUBLISHED} asks by {CHAT} or {FEW_SHOT}, not by {profile}"
        raise Misplaced([("profile", told)])
    return {name: value for name, value in theirs.items() if name not in given}
