"""The families of problems there are, and the settings of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import attrs

from limite.core.discover import load_registry
from limite.core.errors import LimiteError, SettingsError, did_you_mean, sentence
from limite.core.kinds import Generator
from limite.core.seeds import Seeds
from limite.core.types import Problem

LOOKS = (0.0, 0.5, 1.0)
"""The difficulties at which a family is looked at: easy, middling, hard."""


@attrs.frozen(kw_only=True)
class Share:
    """One family's part of a file: how much of it, how hard, and with which settings."""

    name: str
    weight: float = 1.0
    difficulty: tuple[float, float] = (0.0, 1.0)
    settings: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def text(self) -> str:
        low, high = self.difficulty
        return f"{self.name} at difficulty {low:g} to {high:g}"


def family(name: str, settings: Mapping[str, Any] | None = None) -> Generator:
    """The family of this name; one that does not exist is told with the nearest that does."""
    registry = load_registry()
    cls = class_of(name)
    if settings:
        from limite.core.config import structure  # late: it needs cattrs

        return cast(Generator, structure(dict(settings), cls, registry))
    try:
        return cast(Generator, cls())
    except Exception as error:  # a family may be anyone's
        raise LimiteError(f"the family {name!r} cannot be made: {sentence(error)}") from error


def class_of(name: str) -> type[Any]:
    """The class of the family of this name; where an extra is lacking, it is told."""
    return load_registry().get("generator", name).load()


def names_by_area() -> dict[str, list[str]]:
    """The names of all families that can be used, by the area of mathematics they belong to."""
    registry = load_registry()
    areas: dict[str, list[str]] = {}
    for entry in registry.entries("generator"):
        if registry.status(entry) != "broken":
            name = registry.usable_name(entry)
            areas.setdefault(area_of(tags_of(name, entry.load())), []).append(name)
    return areas


def words_in(text: str, what: str) -> list[str]:
    """The words between the commas of a text; where ``what`` one is stands none, that is told."""
    words = [word.strip() for word in text.split(",")]
    if all(words):
        return words
    where = "here"
    if any(words):
        first = words.index("")
        ends = {0: "before the first comma", len(words) - 1: "after the last comma"}
        where = ends.get(first, f"after {words[first - 1]!r}")
    raise LimiteError(f"{text!r}: {what} is missing {where}")


def families_in(areas: Sequence[str]) -> list[str]:
    """The names of the families of these areas; an area that does not exist is told."""
    there = names_by_area()
    for area in areas:
        if area not in there:
            near = did_you_mean(area, there) or f"; there are {', '.join(sorted(there))}"
            raise LimiteError(f"no area {area!r}{near}")
    return [name for area in dict.fromkeys(areas) for name in there[area]]


def tags_of(name: str, cls: type[Any]) -> list[str]:
    """What a family says its problems are about; where its class does not say, they are asked."""
    tag = getattr(cls, "tag", None)
    if isinstance(tag, str):
        return [tag]
    problems = samples(name, family(name), 1)
    return sorted({tag for problem in problems for tag in problem.tags})


def area_of(tags: Sequence[str]) -> str:
    """The area of mathematics that the first of some tags names."""
    return tags[0].partition("/")[0] if tags else "other"


def samples(name: str, component: Generator, count: int) -> list[Problem]:
    """A few problems of a family, easy ones first; always the same ones."""
    seeds = Seeds(0, ("look", name))
    return [
        component.sample(seeds.stream(str(difficulty), number), difficulty)
        for difficulty in LOOKS
        for number in range(count)
    ]


def version_of(component: Generator) -> int:
    """The version of a family: another one may make other problems from the same seed."""
    return int(getattr(component, "version", 1))


def check_share(share: Share, place: str = "") -> None:
    """Refuses a share whose family, weight or difficulty cannot be."""
    before = f"{place}: " if place else ""
    low, high = share.difficulty
    if not 0.0 <= low <= high <= 1.0:
        raise LimiteError(
            f"{before}{share.name}: difficulty goes from a to b within 0 and 1, "
            f"got {low:g}:{high:g}"
        )
    if not 0.0 < share.weight < float("inf"):
        raise LimiteError(f"{before}{share.name}: a weight is above 0, got {share.weight:g}")
    try:
        family(share.name, share.settings)
    except SettingsError as error:
        raise LimiteError(f"{before}{share.name}: {error}") from error
    except LimiteError as error:
        raise LimiteError(f"{before}{error}") from error
