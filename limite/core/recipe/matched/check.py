"""Whether variants are matched: alike in all but what is compared, and each of them sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from limite.core import config
from limite.core.config_faults import Fault
from limite.core.errors import Mistake
from limite.core.recipe.check import check_draft, refuse
from limite.core.recipe.cost import Plan
from limite.core.recipe.load import Draft, LoadedRecipe, draft_any
from limite.core.recipe.look import Findings, look_over
from limite.core.recipe.matched.alike import alike_faults, measure_faults
from limite.core.recipe.matched.outcomes import outcome_faults
from limite.core.recipe.matched.settings import Matched, Member
from limite.core.registry import Registry


@attrs.frozen(kw_only=True)
class LoadedComparison:
    """A comparison whose runs are sound: its settings as a value and as plain data, every run as a
    recipe of its own, and the plan of every variant."""

    matched: Matched
    data: dict[str, Any]
    source_text: str
    path: Path
    members: Mapping[str, tuple[Member, LoadedRecipe]]
    plans: Mapping[str, Plan]


def check_any(
    path: str | Path, overrides: Sequence[str], registry: Registry
) -> tuple[LoadedRecipe, Plan] | LoadedComparison:
    """Reads and checks a recipe, or a comparison; a SettingsError lists every mistake at once."""
    draft = draft_any(path, overrides, registry)
    if draft.cls is Matched:
        return _comparison(draft, registry)
    return check_draft(draft, registry)


def _comparison(draft: Draft, registry: Registry) -> LoadedComparison:
    complete = not draft.mistakes
    faults: list[Fault] = []
    kernels: list[Mistake] = []
    files: list[Mistake] = []

    def look(variant: str, recipe: Any) -> Findings:
        found = look_over(recipe, registry, complete=complete)
        faults.extend(each.under("variants", variant) for each in found.faults)
        kernels.extend(Mistake(each) for each in found.kernels.faults)
        files.extend(found.files)
        return found

    looked: dict[str, Findings] = {}
    if complete:
        matched: Matched = draft.recipe
        faults += alike_faults(matched, registry)
        faults += measure_faults(matched)
        for variant, recipe in matched.variants.items():
            found = outcome_faults(matched, recipe, registry)
            faults += [each.under("variants", variant) for each in found]
        for member in matched.members():
            found_of = look(member.variant, member.recipe)
            looked.setdefault(member.variant, found_of)
    else:
        for variant, recipe in getattr(draft.recipe, "variants", {}).items():
            look(variant, recipe)
    mistakes = [*config.mistakes(faults, draft.locate), *kernels]
    refuse(draft, mistakes, files)
    return LoadedComparison(
        matched=draft.recipe,
        data=_plain(draft.recipe, registry),
        source_text=draft.source_text,
        path=draft.path,
        members={
            member.name: (
                member,
                LoadedRecipe(
                    recipe=member.recipe,
                    data=_plain(member.recipe, registry),
                    source_text=draft.source_text,
                    path=draft.path,
                    kind=draft.kind,
                    locate=draft.locate,
                ),
            )
            for member in draft.recipe.members()
        },
        plans={
            variant: found.plan(draft.recipe.variants[variant], registry)
            for variant, found in looked.items()
        },
    )


def _plain(value: Any, registry: Registry) -> dict[str, Any]:
    found: dict[str, Any] = config.unstructure(value, registry)
    return found
