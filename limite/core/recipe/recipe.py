"""A recipe: a model, a tokenizer, a seed and named stages, as one value."""

from __future__ import annotations

import re
from typing import Any

import attrs
from attrs.validators import and_, ge, lt

from limite.core.kinds import Logger
from limite.core.model.settings import Model
from limite.core.recipe.models import model_named
from limite.core.recipe.stages import Stage
from limite.core.seeds import Seeds
from limite.core.tokenizer import CharacterTokenizer, Tokenizer

LONGEST = 100
"""The most characters of a name: folders are called by it."""


def is_name(_instance: Any, attribute: Any, value: Any) -> None:
    """A validator: a name that a folder can be called by."""
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", value):
        raise ValueError(
            f"{attribute.name!r} must be lower-case letters, digits, '-' and '_', got {value!r}"
        )
    if len(value) > LONGEST:
        raise ValueError(
            f"{attribute.name!r} must be at most {LONGEST} characters long, got {len(value)}"
        )


def _are_stages(_instance: Any, _attribute: Any, value: Any) -> None:
    if not value:
        raise ValueError("a recipe needs at least one stage")
    for name in value:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name):
            raise ValueError(
                f"stage names are lower-case letters, digits, '-' and '_', got {name!r}"
            )
        if len(name) > LONGEST:
            raise ValueError(
                f"stage names are at most {LONGEST} characters long, got {len(name)}: "
                f"{name[:20]!r}..."
            )


def _tokenizer_of_model(recipe: Recipe) -> Tokenizer:
    model = getattr(recipe, "model", None)  # it may have been refused
    model = model_named(model) if isinstance(model, str) else model
    return CharacterTokenizer() if model is None else model.default_tokenizer()


@attrs.frozen(kw_only=True)
class Recipe:
    """Everything a run depends on. Stages run in the order given."""

    name: str = attrs.field(
        validator=is_name, metadata={"help": "what folders of its runs are called"}
    )
    seed: int = attrs.field(
        default=1,
        validator=and_(ge(0), lt(2**64)),
        metadata={"help": "every random choice follows from it"},
    )
    model: Model | str = attrs.field(
        default="limite-tiny",
        metadata={
            "named": "limite.core.recipe.models:model_named",
            "help": "sizes, the name of a preset, or the path of a model's directory",
        },
    )
    tokenizer: Tokenizer = attrs.field(
        default=attrs.Factory(_tokenizer_of_model, takes_self=True),
        metadata={"help": "text to ids and back; left out: the model's own, or characters"},
    )
    stages: dict[str, Stage] = attrs.field(
        validator=_are_stages, metadata={"help": "stages by name, in the order they run"}
    )
    loggers: tuple[Logger | str, ...] = ("console", "jsonl")


def stage_seeds(recipe: Recipe, name: str) -> Seeds:
    """The streams of a stage: from its own seed or else the recipe's, and from the stage's name."""
    return _root(recipe, name).child("stage", name)


def evaluation_seeds(recipe: Recipe, name: str) -> Seeds:
    """The streams of an evaluation: the same for all stages of one seed, whatever their names, so
    that two ``Eval`` stages with the same settings ask the same problems and are paired."""
    return _root(recipe, name).child("evaluation")


def _root(recipe: Recipe, name: str) -> Seeds:
    own = recipe.stages[name].seed
    return Seeds(recipe.seed if own is None else own)
