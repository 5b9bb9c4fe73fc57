"""What ran, and what it ran on, for the receipts of runs and of comparisons."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
import torch

from limite.core.device import threads_for
from limite.core.jsonl import storage_error
from limite.core.kernels.dispatch import Survey
from limite.core.model.init import build_decoder, count_parameters
from limite.core.receipts import differences, make_receipt
from limite.core.recipe.context import model_of, settings_of
from limite.core.recipe.declared import with_ranks_of
from limite.core.recipe.kernel_checks import distributions
from limite.core.recipe.load import LoadedRecipe
from limite.core.recipe.ranks.ranks import Ranks
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.stages import Mix, file_at, is_file
from limite.core.registry import Registry


class Given(Protocol):
    """What was read to be run: a recipe, or a comparison of some."""

    @property
    def data(self) -> Mapping[str, Any]: ...

    @property
    def source_text(self) -> str: ...

    @property
    def path(self) -> Path: ...


def begun_receipt(given: Given, ranks: Ranks, **known: Any) -> dict[str, Any]:
    """What runs on which ranks; ``known`` is passed on to ``make_receipt``.

    The settings themselves are kept, so that a change of them can be told by name.
    """
    receipt = make_receipt(
        recipe=given.data,
        source_text=given.source_text,
        source_path=given.path,
        device=torch.device(ranks.device).type,
        **known,
    )
    if ranks.world_size > 1:
        receipt["hardware"] = {**receipt["hardware"], "ranks": ranks.world_size}
        if ranks.sharded:
            receipt["hardware"]["sharded"] = True
    return {**receipt, "recipe": given.data}


def tell_circumstances(
    was: Mapping[str, Any],
    now: Mapping[str, Any],
    echo: Callable[[str], None],
    *,
    ranks: bool = True,
) -> list[str]:
    """What is different about the machine that goes on with a run, told and returned; ``ranks``
    says whether they are to be told as well."""
    here = now["hardware"] if ranks else with_ranks_of(now["hardware"], was["hardware"])
    elsewhere = differences({"hardware": was["hardware"]}, {"hardware": here}, ignore=())
    if elsewhere:
        echo("other circumstances than before, which may change bits: " + "; ".join(elsewhere))
    return elsewhere


def receipt_of(
    loaded: LoadedRecipe,
    registry: Registry,
    chosen: Sequence[str],
    kernels: Survey,
    ranks: Ranks,
) -> dict[str, Any]:
    """What ran, for the run's ``receipt.json``."""
    parameters = count_parameters(build_decoder(model_of(loaded.recipe), device="meta"))
    receipt = begun_receipt(
        loaded,
        ranks,
        plugins={
            **distributions_of(loaded.recipe, registry),
            **distributions(kernels.choices, registry),
        },
        kernels={op: choice.name for op, choice in kernels.choices.items()},
        threads=threads_for(parameters),
        seeds={"recipe": loaded.recipe.seed},
    )
    return {
        **receipt,
        "parameters": parameters,
        "only": list(chosen),
        "files": {
            **settings_of(loaded.recipe).hashes(),
            **loaded.recipe.tokenizer.hashes,
        },
        "stage_files": hashes_of_files(loaded.recipe, chosen),
    }


def hashes_of_files(recipe: Recipe, chosen: Sequence[str]) -> dict[str, str]:
    """SHA-256 of each file that the chosen stages read."""
    found = {}
    for path in sorted({each for name in chosen for each in recipe.stages[name].files}):
        try:
            with file_at(path).open("rb") as file:
                found[path] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise storage_error(error, Path(path)) from error
    return found


def distributions_of(value: Any, registry: Registry) -> dict[str, str]:
    """The distributions that components of a recipe come from, with their versions."""
    found: dict[str, str] = {}
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, (list, tuple)):
        inner = list(value)
    elif attrs.has(type(value)):
        inner = [getattr(value, field.name) for field in attrs.fields(type(value))]
        entries = [registry.entry_of(type(value))] if registry.is_component(type(value)) else []
        if isinstance(value, Mix):
            entries += [
                registry.get("generator", name) for name in value.sources if not is_file(name)
            ]
        found |= {entry.distribution: entry.version for entry in entries}
    else:
        inner = []
    for each in inner:
        found |= distributions_of(each, registry)
    return found
