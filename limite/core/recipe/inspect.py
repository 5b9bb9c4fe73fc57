"""A look at what a run has trained, as one at a directory is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.model.init import unset_decoder
from limite.core.model.settings import DecoderSpec, Model
from limite.core.pretrained.directory import config_of
from limite.core.pretrained.inspect import Look, assemble, sizes_of
from limite.core.pretrained.inspect_tokens import Told, Words, words_in, words_of
from limite.core.pretrained.load import mismatches
from limite.core.pretrained.settings import Pretrained
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.context import settings_of
from limite.core.recipe.export import refuse_other_files
from limite.core.recipe.trained import Trained
from limite.core.tokenizer import CharacterTokenizer, Tokenizer


def look_at_run(found: Trained, *, context: int | None = None, batch: int = 1) -> Look:
    """The weights of a stage; their sizes are checked, and hashes are not."""
    told = Told(warnings=list(found.notes()))
    try:
        refuse_other_files(found)
    except LimiteError as error:
        told.warnings.append(f"it cannot be exported: {error}")
    model = settings_of(found.recipe)
    config: Mapping[str, Any] = {}
    if isinstance(model, Pretrained):
        config = told.try_to(lambda: model.directory.config) or {}
    words = _words(found.recipe.tokenizer, config, told)
    spec = told.try_to(lambda: _filled(model, words))
    if spec is not None and not config:
        config = _new_config(spec, told)
    decoder = None if spec is None else unset_decoder(spec, device="meta")
    opened = told.try_to(lambda: found.weights(quick=True))
    if decoder is not None and opened is not None:
        tensors, aliases = opened
        names = {name: aliases.get(name, name) for name, _ in decoder.named_parameters()}
        told.mistakes += mismatches(decoder, tensors, names)
    return assemble(
        path=str(found.run.path),
        origin=f"stage {found.stage}, step {found.step} of {found.steps}",
        config=config,
        module=decoder,
        tensors=None if opened is None else opened[0],
        words=words,
        told=told,
        files=sizes_of(found.checkpoint),
        context=context,
        batch=batch,
    )


def _words(tokenizer: Tokenizer, config: Mapping[str, Any], told: Told) -> Words | None:
    if isinstance(tokenizer, PretrainedTokenizer):
        return words_in(Path(tokenizer.path), config, None, told)
    return words_of(tokenizer) if isinstance(tokenizer, CharacterTokenizer) else None


def _filled(model: Model, words: Words | None) -> DecoderSpec:
    """The sizes; the tokenizer's number of ids is known from its files alone."""
    try:
        return model.filled(None if words is None else words.vocabulary)
    except ValueError as error:
        raise LimiteError(str(error)) from error


def _new_config(spec: DecoderSpec, told: Told) -> Mapping[str, Any]:
    """The configuration that an export would have."""
    try:
        return config_of(spec)
    except LimiteError as error:
        told.warnings.append(f"no directory can hold this model: {error}")
        return {}
