"""Which implementations of the kernel core a recipe runs, and what stands against them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from limite.core.errors import LimiteError
from limite.core.kernels.dispatch import BUILT_IN, Case, Choice, Survey, survey
from limite.core.model.attention import AttentionMixer
from limite.core.model.init import build_decoder
from limite.core.recipe.context import model_of
from limite.core.recipe.recipe import Recipe
from limite.core.registry import Registry

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

NO_MODEL = (
    "rms_norm",
    "add_rms_norm",
    "qk_norm_rope",
    "swiglu",
    "head_mix",
    "indexed_logprob",
)
"""What is told of where there is no model: the operations of Limite's."""

WITHOUT_HEADS = ("rms_norm", "add_rms_norm", "swiglu", "indexed_logprob")
"""The operations for which the width of a head does not count."""


def kernel_survey(
    recipe: Recipe,
    decoder: Decoder | None,
    *,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Survey:
    """What runs each operation of the recipe's model, and why; without a model those of any."""
    if decoder is None:  # a recipe that could not be read in full may lack either
        width = getattr(getattr(recipe, "model", None), "head_width", None)
        needed = dict.fromkeys(NO_MODEL)
    else:
        width = decoder.spec.head_width
        needed = dict.fromkeys(decoder.operations)
        for module in decoder.modules():
            if isinstance(module, AttentionMixer):
                needed |= dict.fromkeys(module.operations)
    return survey(Case(op, device, dtype, None if op in WITHOUT_HEADS else width) for op in needed)


def kernels_of(recipe: Recipe, device: str = "cpu") -> Survey:
    """The same for a sound recipe that is about to run; a LimiteError says what cannot be."""
    shapes = build_decoder(model_of(recipe), device="meta")
    found = kernel_survey(recipe, shapes, device=torch.device(device).type)
    if found.faults:
        raise LimiteError("\n".join(found.faults))
    return found


def distributions(choices: Mapping[str, Choice], registry: Registry) -> dict[str, str]:
    """The distributions that plugins' kernels among the choices come from, with their versions."""
    found = {}
    for choice in choices.values():
        if choice.name not in BUILT_IN and registry.is_component(type(choice.function)):
            entry = registry.entry_of(type(choice.function))
            found[entry.distribution] = entry.version
    return found
