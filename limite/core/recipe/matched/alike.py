"""In what variants of a comparison differ, and whether they may."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from limite.core.config import unstructure
from limite.core.config_faults import Fault, dotted
from limite.core.errors import did_you_mean
from limite.core.jsonl import dumps
from limite.core.recipe.context import settings_of
from limite.core.recipe.matched.settings import UNMATCHED, Matched
from limite.core.recipe.stages import Eval
from limite.core.registry import Registry

Path = tuple[str, ...]
_SHOWN = 40


def alike_faults(matched: Matched, registry: Registry) -> Iterator[Fault]:
    """Every setting in which a variant differs from the first and must not.

    Also what ``varies`` names in vain, and variants that are the same.
    """
    settings = {
        name: _leaves(unstructure(recipe, registry)) for name, recipe in matched.variants.items()
    }
    used: set[str] = set()
    (first, base), *others = settings.items()
    for name, own in others:
        gone = yield from _stage_faults(matched, first, name)
        for path in sorted({*base, *own}):
            ours, theirs = own.get(path), base.get(path)
            if ours == theirs or path[0] in UNMATCHED or path[:2] in gone:
                continue
            if path[-1] != "type" and _other_kinds(base, own, path):
                continue  # they have other settings
            allowed = {each for each in matched.varies if _within(path, each)}
            used |= allowed
            if not allowed:
                message = (
                    f"must equal that of {first!r}: {_said(theirs)} there, {_said(ours)} here; "
                    f"variants may differ in {_listed(matched.varies)} alone ('varies')"
                )
                yield Fault(("variants", name, *path), message)
        yield from _context_faults(matched, first, name)
    yield from _seed_faults(matched)
    yield from _in_vain(matched, settings, used)
    seen: dict[str, str] = {}
    for name, own in settings.items():
        text = dumps({dotted(path): own[path] for path in own if path[0] not in UNMATCHED})
        if text in seen:
            message = f"is the same as {seen[text]!r} in every setting: nothing is compared"
            yield Fault(("variants", name), message)
        seen.setdefault(text, name)


def measure_faults(matched: Matched) -> Iterator[Fault]:
    """A comparison ends with a measurement, and all runs are asked the same problems there."""
    for variant, recipe in matched.variants.items():
        stages = {name: each for name, each in recipe.stages.items() if isinstance(each, Eval)}
        if not stages:
            yield Fault(("variants", variant, "stages"), "none measures: add one of type 'eval'")
        if len(matched.seeds) < 2:
            continue
        for name, stage in stages.items():
            if stage.seed is None:
                message = (
                    f"is needed with {len(matched.seeds)} training seeds: without one of its own "
                    "the stage asks other problems, or draws otherwise, at each"
                )
                yield Fault(("variants", variant, "stages", name, "seed"), message)


def _stage_faults(matched: Matched, first: str, name: str) -> Generator[Fault, None, set[Path]]:
    """Stages that only one of two variants has, or that stand elsewhere; gives their paths."""
    theirs, ours = (list(matched.variants[each].stages) for each in (first, name))
    gone: set[Path] = set()
    for stage in (each for each in ours if each not in theirs):
        gone.add(("stages", stage))
        near = did_you_mean(stage, theirs)
        yield Fault(("variants", name, "stages", stage), f"{first!r} has no such stage{near}")
    for stage in (each for each in theirs if each not in ours):
        gone.add(("stages", stage))
        yield Fault(("variants", name, "stages"), f"lacks the stage {stage!r} of {first!r}")
    if not gone and theirs != ours:
        told = f"{', '.join(theirs)} there, {', '.join(ours)} here"
        yield Fault(
            ("variants", name, "stages"), f"come in another order than in {first!r}: {told}"
        )
    for stage in (each for each in ours if each in theirs):
        kinds = [matched.variants[each].stages[stage].kind for each in (first, name)]
        if kinds[0] != kinds[1]:
            gone.add(("stages", stage))
            message = f"is {kinds[1]!r} here and {kinds[0]!r} in {first!r}"
            yield Fault(("variants", name, "stages", stage), message)
    return gone


def _other_kinds(base: Mapping[Path, Any], own: Mapping[Path, Any], path: Path) -> bool:
    """Whether a setting lies in components of two types, which is what is told of them."""
    tags = [(*path[:end], "type") for end in range(1, len(path))]
    return any(base.get(tag) != own.get(tag) for tag in tags)


def _context_faults(matched: Matched, first: str, name: str) -> Iterator[Fault]:
    """How long texts may be is a budget, which a model's other sizes are not."""
    theirs, ours = (settings_of(matched.variants[each]).context for each in (first, name))
    if ours != theirs and "model.context" not in matched.varies:
        message = (
            f"must equal that of {first!r}: {theirs:,} tokens there, {ours:,} here; "
            "where that is what is compared, 'varies' names 'model.context'"
        )
        yield Fault(("variants", name, "model", "context"), message)


def _seed_faults(matched: Matched) -> Iterator[Fault]:
    seeds = {name: recipe.seed for name, recipe in matched.variants.items()}
    first = next(iter(seeds))
    for name, seed in seeds.items():
        if seed != seeds[first]:
            message = (
                f"must equal that of {first!r}: {seeds[first]} there, {seed} here; "
                "several training seeds are 'seeds' of the comparison"
            )
            yield Fault(("variants", name, "seed"), message)


def _in_vain(
    matched: Matched, settings: Mapping[str, Mapping[Path, Any]], used: set[str]
) -> Iterator[Fault]:
    """Settings that ``varies`` names though there are none, or no variant differs in them."""
    known = {dotted(path[:end]) for own in settings.values() for path in own for end in range(9)}
    known -= {"", *UNMATCHED}
    contexts = {settings_of(recipe).context for recipe in matched.variants.values()}
    for number, each in enumerate(matched.varies):
        if each == "model.context":
            in_vain = len(contexts) == 1
        elif each in UNMATCHED:
            yield Fault(("varies", number), f"{each!r} is nothing to compare; see 'seeds'")
            continue
        elif each not in known:
            yield Fault(("varies", number), f"unknown setting {each!r}{did_you_mean(each, known)}")
            continue
        else:
            in_vain = each not in used
        if in_vain:
            yield Fault(("varies", number), f"no variant differs in {each!r}")


def _leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    """Every setting by its path; arrays are one setting."""
    if isinstance(value, Mapping) and value:
        found: dict[Path, Any] = {}
        for key, item in value.items():
            found |= _leaves(item, (*path, str(key)))
        return found
    return {path: value}


def _within(path: Path, setting: str) -> bool:
    return any(dotted(path[:end]) == setting for end in range(1, len(path) + 1))


def _said(value: Any) -> str:
    if value is None:
        return "nothing"
    text = dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
