"""A look at what a run has trained, as one at a directory is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from limite.core.errors import LimiteError
from limite.core.model.init import unset_decoder
from limite.core.pretrained.directory import config_of
from limite.core.pretrained.inspect import Look, assemble
from limite.core.pretrained.inspect_tokens import Told, Words, words_in, words_of
from limite.core.pretrained.load import mismatches
from limite.core.pretrained.settings import Pretrained
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.context import model_of, settings_of
from limite.core.recipe.trained import Trained
from limite.core.tokenizer import CharacterTokenizer


def look_at_run(found: Trained, *, context: int | None = None, batch: int = 1) -> Look:
    """The weights of a stage; their sizes are checked, and hashes are not."""
    told = Told(warnings=list(found.notes()))
    spec = told.try_to(lambda: model_of(found.recipe))
    opened = told.try_to(lambda: found.weights(quick=True))
    decoder = None if spec is None else unset_decoder(spec, device="meta")
    if decoder is not None and opened is not None:
        tensors, aliases = opened
        names = {name: aliases.get(name, name) for name, _ in decoder.named_parameters()}
        told.mistakes += mismatches(decoder, tensors, names)
    config = _config(found, told)
    return assemble(
        path=str(found.run.path),
        origin=f"stage {found.stage}, step {found.step} of {found.steps}",
        config=config,
        module=decoder,
        tensors=None if opened is None else opened[0],
        words=_words(found, config, None if spec is None else spec.padded_vocabulary, told),
        told=told,
        files=_sizes(found.checkpoint),
        context=context,
        batch=batch,
    )


def _config(found: Trained, told: Told) -> Mapping[str, Any]:
    """The configuration that an export of it would have."""
    model = settings_of(found.recipe)
    if isinstance(model, Pretrained):
        return told.try_to(lambda: model.directory.config) or {}
    try:
        return config_of(model_of(found.recipe))
    except LimiteError as error:
        told.warnings.append(f"no directory can hold this model: {error}")
        return {}


def _words(found: Trained, config: Mapping[str, Any], rows: int | None, told: Told) -> Words | None:
    tokenizer = found.recipe.tokenizer
    if isinstance(tokenizer, PretrainedTokenizer):
        return words_in(Path(tokenizer.path), config, rows, told)
    return words_of(tokenizer) if isinstance(tokenizer, CharacterTokenizer) else None


def _sizes(folder: Path) -> dict[str, int]:
    if not folder.is_dir():
        return {}
    return {file.name: file.stat().st_size for file in sorted(folder.iterdir()) if file.is_file()}
