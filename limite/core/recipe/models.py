"""What a recipe may name as its model: a preset, or a directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from limite.core.config_faults import Fault
from limite.core.errors import LimiteError, did_you_mean
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.presets import PRESETS, preset
from limite.core.model.settings import Model
from limite.core.model.spec import ModelSpec
from limite.core.pretrained.settings import Pretrained, at
from limite.core.pretrained.tokenizer import PretrainedTokenizer
from limite.core.tokenizer import CharacterTokenizer, Tokenizer

Model.kinds = {"limite": ModelSpec, "llama": LlamaSpec, "pretrained": Pretrained}
Tokenizer.kinds = {"characters": CharacterTokenizer, "pretrained": PretrainedTokenizer}


def model_named(name: str) -> Model:
    """The preset of that name, or else the model in the directory of that path."""
    if name in PRESETS:
        return preset(name)
    if Path(name).expanduser().is_dir():
        return at(name)
    if os.sep in name or name.startswith(("~", ".")):
        raise LimiteError(
            f"there is no directory {name!r}; --set model=DIR names another, and limite import "
            "gguf FILE --to DIR makes one of a GGUF file"
        )
    near = did_you_mean(name, PRESETS) or "; neither a preset nor a directory is called so"
    raise LimiteError(f"unknown model {name!r}{near}")


def synthetic_faults(model: Model) -> Iterator[Fault]:
    """Weights that were made at random begin no run, unless the recipe says that they may."""
    if isinstance(model, Pretrained) and model.directory.synthetic and not model.synthetic:
        yield Fault(
            ("model",),
            f"{model.path} says that its weights were made at random for tests "
            "(limite_synthetic in config.json), and nothing comes of training those; a test begins "
            "with them where the recipe says so: model.synthetic = true",
        )
