"""Whether the model of a recipe can be built, with enough ids for the tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from limite.core.config_faults import Fault
from limite.core.config_fields import refused
from limite.core.errors import LimiteError, sentence
from limite.core.model.settings import Model
from limite.core.recipe.load import whole
from limite.core.recipe.models import synthetic_faults
from limite.core.recipe.recipe import Recipe

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder


def model_faults(
    recipe: Recipe, models: list[Decoder], *, wrong_files: bool, readable: bool
) -> Iterator[Fault]:
    """Builds the model as shapes without values, into ``models``.

    ``wrong_files``: mistakes in files the model is read from were told already. ``readable``: the
    tokenizer's files are sound.
    """
    from limite.core.model.init import build_decoder

    model = cast(Model, recipe.model)
    ids = recipe.tokenizer.vocabulary if readable else 1  # of which every model has enough
    if wrong_files and not _has_sizes(model):
        return
    yield from synthetic_faults(model)
    vocabulary = getattr(model, "vocabulary", None)
    if vocabulary is not None and vocabulary < ids:
        message = f"must be at least the tokenizer's {ids} ids, got {vocabulary}"
        yield Fault(("model", "vocabulary"), message)
        return
    try:
        models.append(build_decoder(model.filled(ids), device="meta"))
    except (ValueError, LimiteError) as error:
        yield from (fault.under("model") for fault in refused(error, type(model)))
    except Exception as error:
        if whole(model) and whole(getattr(model, "attention", None)):
            yield Fault(("model",), f"the model cannot be built: {sentence(error)}")


def _has_sizes(model: Model) -> bool:
    """Whether the configuration of a model that exists could be read."""
    try:
        return model.context > 0
    except LimiteError:
        return False


def tokenizer_setting(recipe: Recipe) -> tuple[str, ...]:
    """The setting that a tokenizer comes from: the model, unless another than its own is named."""
    model = getattr(recipe, "model", None)
    own = isinstance(model, Model) and recipe.tokenizer == model.default_tokenizer()
    return ("model",) if own else ("tokenizer",)
