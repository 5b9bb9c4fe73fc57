"""Recipes that are the same but for what is compared, and the runs that compare them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from limite.core.errors import LimiteError
from limite.core.recipe.recipe import LONGEST, Recipe, is_name
from limite.core.recipe.stages import Eval

UNMATCHED = ("name", "seed")
"""Of a variant: what the comparison gives it."""


def _are_variants(_instance: Any, _attribute: Any, value: Any) -> None:
    if len(value) < 2:
        raise ValueError(f"a comparison needs at least two variants, got {len(value)}")
    for name in value:
        is_name(None, _Named("variants"), name)
        if len(name) > LONGEST - 21:  # a folder's name has the seed as well
            raise ValueError(f"'variants' are at most {LONGEST - 21} characters long, got {name!r}")


def _are_seeds(_instance: Any, _attribute: Any, value: Any) -> None:
    for seed in value:
        if not 0 <= seed < 2**64:
            raise ValueError(f"'seeds' must be at least 0 and below 2**64, got {seed}")
    if len(set(value)) < len(value):
        raise ValueError(f"'seeds' must all differ, got {list(value)}")


def _are_settings(_instance: Any, _attribute: Any, value: Any) -> None:
    if not value:
        raise ValueError("'varies' names what is compared, and is empty")


@attrs.frozen
class _Named:
    name: str


@attrs.frozen(kw_only=True)
class Matched:
    """Recipes that differ in what is compared and in nothing else, each trained at every seed.

    Every variant at every seed is a run of its own. With one seed the claim is about the weights
    that came of it, with several about the recipes.
    """

    name: str = attrs.field(
        validator=is_name, metadata={"help": "what folders of its comparisons are called"}
    )
    variants: dict[str, Recipe] = attrs.field(
        validator=_are_variants, metadata={"help": "recipes by name; the first is compared with"}
    )
    seeds: tuple[int, ...] = attrs.field(
        default=(),
        validator=_are_seeds,
        metadata={"help": "each trains every variant; left out: the seed of the recipes"},
    )
    varies: tuple[str, ...] = attrs.field(
        default=("model",),
        validator=_are_settings,
        metadata={"help": "settings that variants may differ in, as `--set` names them"},
    )

    def members(self) -> Iterator[Member]:
        """The runs, in the order they are made: all variants at a seed before the next seed."""
        seeds = self.seeds or (next(iter(self.variants.values())).seed,)
        for seed in seeds:
            for variant, recipe in self.variants.items():
                own = attrs.evolve(recipe, name=variant, seed=seed)
                yield Member(variant=variant, seed=seed, recipe=own)

    @property
    def measures(self) -> list[str]:
        """The stages that measure, in order; the claim is that of the last."""
        recipe = next(iter(self.variants.values()))
        return [name for name, stage in recipe.stages.items() if isinstance(stage, Eval)]


@attrs.frozen(kw_only=True)
class Member:
    """One run of a comparison."""

    variant: str
    seed: int
    recipe: Recipe

    @property
    def name(self) -> str:
        """What its folder is called."""
        return f"{self.variant}-{self.seed}"


def refuse_comparison(recipe: Any, path: Any) -> None:
    """Refuses a comparison where one recipe is wanted."""
    if isinstance(recipe, Matched):
        raise LimiteError(
            f"{path}: compares {len(recipe.variants)} recipes, and one is wanted here; "
            "limite run makes a run of each, whose folders hold them one by one"
        )
