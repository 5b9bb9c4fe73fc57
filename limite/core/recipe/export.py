"""A run's weights as a model's directory, with the tokenizer that they were trained with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import nn

from limite.core.checkpoint.tensor_header import TensorEntry
from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.errors import LimiteError
from limite.core.model.critic import Critic
from limite.core.model.init import unset_decoder
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.character_files import character_files
from limite.core.pretrained.critic import (
    HEAD,
    critic_config,
    critic_file_name,
    refuse_more_outputs,
)
from limite.core.pretrained.directory import CONFIG_FILE, architecture_of, config_of
from limite.core.pretrained.export import Source, files_beside
from limite.core.pretrained.generation import GENERATION_FILE, Generation
from limite.core.pretrained.json_files import read_bytes
from limite.core.pretrained.load import matching
from limite.core.pretrained.settings import Pretrained
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.recipe.context import model_of, settings_of
from limite.core.recipe.recipe import Recipe
from limite.core.recipe.trained import Trained
from limite.core.tokenizer import CharacterTokenizer, Tokenizer


def run_source(found: Trained) -> Source:
    """The weights of a stage, verified, and what belongs beside them.

    What came from a directory must still be what the run's receipt says.
    """
    refuse_other_files(found)
    notes = (*found.notes(), *_unsaid(found.recipe.tokenizer))
    return attrs.evolve(with_weights(planned_source(found.recipe), found), notes=notes)


def critic_source(found: Trained) -> Source:
    """The critic of a stage, as a directory of its own: one value a token."""
    refuse_other_files(found)
    planned = planned_source(found.recipe)
    tensors, aliases = found.weights()
    refuse_more_outputs(tensors.entry(f"{HEAD}weight").shape[0])
    module = _critic(planned.spec, torch.float32)
    names = {name: aliases.get(name, name) for name, _ in module.named_parameters()}
    settings = found.recipe.stages[found.stage]
    # What an RL stage says of its critic stands beside what it says of its policy.
    objective = getattr(getattr(settings, "critic", None) or settings, "objective", None)
    said = getattr(objective, "output_is", None)
    notes = [f"it says {said}"] if said else []
    config = planned.config
    if architecture_of(config) is None:
        config = {**config, "architectures": config_of(planned.spec)["architectures"]}
    return attrs.evolve(
        planned,
        config=critic_config(config),
        tensors=tensors,
        tensor_of=matching(module, tensors, names),
        notes=(*found.notes(), *notes, *_unsaid(found.recipe.tokenizer)),
        module=_critic,
        called=critic_file_name,
    )


def _critic(spec: DecoderSpec, dtype: torch.dtype) -> nn.Module:
    return Critic(unset_decoder(spec, dtype=dtype, device="meta", head=False))


def with_weights(planned: Source, found: Trained) -> Source:
    """The same model with the weights of a stage, verified."""
    decoder = unset_decoder(planned.spec, device="meta")
    tensors, aliases = found.weights()
    names = {name: aliases.get(name, name) for name, _ in decoder.named_parameters()}
    return attrs.evolve(planned, tensors=tensors, tensor_of=matching(decoder, tensors, names))


@attrs.frozen(kw_only=True, eq=False)
class Shapes:
    """Tensors that are not there yet: their dtype and shapes alone."""

    shapes: Mapping[str, tuple[int, ...]]
    dtype: torch.dtype

    def entry(self, name: str) -> TensorEntry:
        return TensorEntry(self.dtype, self.shapes[name], 0, 0)

    def deferred(self, name: str, _dtype: torch.dtype | None = None) -> DeferredTensor:
        raise AssertionError(f"{name} has no values yet")


def planned_source(recipe: Recipe, *, files: bool = True) -> Source:
    """What a stage of the recipe will leave, before it has.

    Without ``files`` there is nothing but the tensors: not every model and tokenizer can be
    written as files of a directory.
    """
    spec, model = model_of(recipe), settings_of(recipe)
    beside = _tokenizer_files(recipe.tokenizer, spec) if files else {}
    config: Mapping[str, Any] = {}
    if files and isinstance(model, Pretrained):
        config = model.directory.config
    elif files:
        config = {**config_of(spec), **_ids(beside)}
    decoder = unset_decoder(spec, device="meta")
    shapes = {name: tuple(each.shape) for name, each in decoder.named_parameters()}
    return Source(
        spec=spec,
        config=config,
        tensors=Shapes(shapes=shapes, dtype=decoder.dtype),
        tensor_of={name: name for name in shapes},
        files=beside,
    )


def _tokenizer_files(tokenizer: Tokenizer, spec: DecoderSpec) -> dict[str, bytes]:
    if isinstance(tokenizer, PretrainedTokenizer):
        return files_beside(tokenizer.path)
    if isinstance(tokenizer, CharacterTokenizer):
        return character_files(tokenizer, spec.context)
    raise LimiteError(f"a {type(tokenizer).__name__} cannot be written as files that others read")


def _ids(files: Mapping[str, bytes]) -> dict[str, int | list[int]]:
    """What a new configuration says of special tokens: the same as the generation settings."""
    if GENERATION_FILE not in files:
        return {}
    said = Generation.parse(files[GENERATION_FILE])
    ends = list(said.eos_ids)
    ids = {
        "bos_token_id": said.bos_id,
        "eos_token_id": ends[0] if len(ends) == 1 else ends or None,
        "pad_token_id": said.pad_id,
    }
    return {name: value for name, value in ids.items() if value is not None}


def _unsaid(tokenizer: Tokenizer) -> list[str]:
    """What the run asked of its tokenizer that no file of a tokenizer says."""
    if not isinstance(tokenizer, PretrainedTokenizer):
        return []
    asked = {
        name: getattr(tokenizer, name)
        for name in ("chat", "template", "system", "today", "options")
    }
    plain: dict[str, Any] = {
        "chat": True, "template": None, "system": None, "today": None, "options": {},
    }  # fmt: skip
    return [
        f"the run put questions with {name} = {value!r}, which no file says; others must be told"
        for name, value in asked.items()
        if value != plain[name]
    ]


def refuse_other_files(found: Trained) -> None:
    """Refuses another configuration or another tokenizer than the run began with."""
    began: dict[str, str] = {
        name: digest
        for name, digest in found.run.receipt().get("files", {}).items()
        # Weights of the beginning are not read: those of the run are.
        if not name.endswith(".safetensors")
    }
    contents: dict[str, bytes] = {}
    folders: dict[str, None] = {}
    model, tokenizer = settings_of(found.recipe), found.recipe.tokenizer
    for place in (model, tokenizer):
        if isinstance(place, (Pretrained, PretrainedTokenizer)):
            folders[place.path] = None
    gone = [folder for folder in folders if not Path(folder).is_dir()]
    if gone:
        raise LimiteError(
            f"{found.run.path}: the run began with {' and '.join(gone)}, which is not there; "
            "configuration and tokenizer come from it: put it back, weights are not needed"
        )
    if isinstance(model, Pretrained) and (Path(model.path) / CONFIG_FILE).is_file():
        contents[CONFIG_FILE] = read_bytes(Path(model.path) / CONFIG_FILE)
    if isinstance(tokenizer, PretrainedTokenizer):
        contents |= files_beside(tokenizer.path)
    now = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    wrong = [f"{name} is gone" for name in sorted(began.keys() - now.keys())]
    wrong += [f"{name} is new" for name in sorted(now.keys() - began.keys())]
    wrong += [
        f"{name} is another"
        for name in sorted(now.keys() & began.keys())
        if now[name] != began[name]
    ]
    if wrong:
        raise LimiteError(
            f"{found.run.path}: the files in {' and '.join(folders)} are not what they were when "
            f"the run began: {', '.join(wrong)}; put them back as they were"
        )
