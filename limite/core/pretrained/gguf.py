"""A GGUF file becomes a model directory that limite and transformers load alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import torch
from torch import Tensor

from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.errors import SettingsError
from limite.core.jsonl import write_atomic
from limite.core.pretrained.dtype_names import stored_dtype
from limite.core.pretrained.families.llama import spec_from_config
from limite.core.pretrained.families.llama_write import config_from_spec
from limite.core.pretrained.gguf_config import (
    ROPE_FACTORS,
    Mistakes,
    architecture_of,
    config_from_metadata,
)
from limite.core.pretrained.gguf_file import GgufFile
from limite.core.pretrained.gguf_tensors import Wanted, parameters, read_tensor, wanted_tensors
from limite.core.pretrained.gguf_tokenizer import (
    Words,
    generation_config,
    tokenizer_config,
    tokenizer_json,
    words_from_metadata,
)
from limite.core.pretrained.new_directory import new_directory, refuse_existing
from limite.core.pretrained.tensor_directory import write_tensor_directory

if TYPE_CHECKING:
    import numpy as np

Progress = Callable[[str, int, int], None]
"""Called with a tensor's name, how many bytes of the file's weights are read, and of how many."""


@attrs.frozen(kw_only=True)
class Imported:
    """What became of a GGUF file."""

    path: Path
    family: str
    name: str
    parameters: int
    layers: int
    context: int
    vocabulary: int
    dtype: str
    quantisation: Mapping[str, int]  # kind of weights in the file -> tensors
    tokenizer: str
    end_tokens: Mapping[str, int]
    chat_template: bool
    notes: tuple[str, ...]


def import_gguf(
    path: str | Path,
    target: str | Path,
    *,
    dtype: str = "bfloat16",
    progress: Progress | None = None,
) -> Imported:
    """Writes the model in the GGUF file ``path`` as the new directory ``target``.

    Weights are dequantised to float32 and rounded once to ``dtype``. Responses end at
    ``tokenizer.ggml.eos_token_id`` and, where the file names one, ``eot_token_id``; nothing else.
    All mistakes are told at once, before anything is written; an existing name is refused.
    """
    path, target = Path(path), Path(target)
    dtype = stored_dtype(dtype)
    refuse_existing(target)
    with GgufFile.open(path) as file:
        config, tensors, words = _understood(file)
        config = _as_written(config, words, dtype)
        texts = {
            "config.json": _json(config),
            "generation_config.json": _json(generation_config(words)),
            "tokenizer_config.json": _json(
                tokenizer_config(words, context=config["max_position_embeddings"])
            ),
            "tokenizer.json": tokenizer_json(words) + "\n",
        }
        with new_directory(target) as aside:
            for name, text in texts.items():
                write_atomic(aside / name, text)
            deferred = _deferred(file, tensors, getattr(torch, dtype), progress)
            write_tensor_directory(aside, deferred, metadata={"format": "pt"})
        return _summary(file, target, config, tensors, words, dtype)


def _understood(file: GgufFile) -> tuple[dict[str, Any], list[Wanted], Words]:
    """The configuration, the tensors and the tokenizer, or everything that is wrong with them."""
    wrong = Mistakes(str(file.path))
    metadata, tensors = file.metadata, []
    architecture = architecture_of(metadata, wrong)
    table = file.tensors.get("token_embd.weight")
    rows = table.shape[0] if table is not None and len(table.shape) == 2 else None
    config: dict[str, Any] = {}
    if architecture is not None:
        before = len(wrong.found)
        config = config_from_metadata(
            metadata, architecture, rope_factors=_rope_factors(file, wrong), wrong=wrong
        )
        stated = metadata.get(f"{config['model_type']}.vocab_size")
        if rows is not None and stated not in (None, rows):
            field = f"{config['model_type']}.vocab_size"
            wrong.add(field, f"expected {rows}, as token_embd.weight has rows, got {stated!r:.60}")
        if len(wrong.found) == before:
            tensors = wanted_tensors(config, architecture, file.tensors, wrong)
    words = words_from_metadata(metadata, vocabulary=rows, wrong=wrong)
    if wrong.found or words is None:
        raise SettingsError(wrong.found)
    config["vocab_size"] = rows
    config["tie_word_embeddings"] = "output.weight" not in file.tensors
    if config["model_type"] != "qwen2":
        config["attention_bias"] = any(tensor.source.endswith(".bias") for tensor in tensors)
    if config["model_type"] == "llama":
        config["mlp_bias"] = False
    return config, tensors, words


def _as_written(config: Mapping[str, Any], words: Words, dtype: str) -> dict[str, Any]:
    """The configuration once more, as limite writes those of any model."""
    (architecture,) = config["architectures"]
    written = config_from_spec(spec_from_config(config), architecture, dtype=dtype)
    return {**written, "bos_token_id": None, "pad_token_id": None, **generation_config(words)}


def _rope_factors(file: GgufFile, wrong: Mistakes) -> np.ndarray[Any, Any] | None:
    tensor = file.tensors.get(ROPE_FACTORS)
    if tensor is None:
        return None
    if len(tensor.shape) != 1 or tensor.kind.name != "F32" or tensor.bytes > 1 << 16:
        wrong.add(ROPE_FACTORS, "expected one row of float32 numbers")
        return None
    row: np.ndarray[Any, Any] = file.read_rows(tensor, 0, 1)[0]
    return row


def _deferred(
    file: GgufFile, tensors: list[Wanted], dtype: torch.dtype, progress: Progress | None
) -> dict[str, DeferredTensor]:
    """Every tensor, to be read when its turn to be written comes: one at a time is in memory."""
    sizes = {tensor.name: file.tensors[tensor.source].bytes for tensor in tensors}
    total, done = sum(sizes.values()), 0

    def make(wanted: Wanted) -> Tensor:
        nonlocal done
        values = read_tensor(file, wanted, dtype)
        done += sizes[wanted.name]
        if progress is not None:
            progress(wanted.name, done, total)
        return values

    return {
        wanted.name: DeferredTensor(dtype=dtype, shape=wanted.shape, make=partial(make, wanted))
        for wanted in tensors
    }


def _summary(
    file: GgufFile,
    target: Path,
    config: Mapping[str, Any],
    tensors: list[Wanted],
    words: Words,
    dtype: str,
) -> Imported:
    kinds: dict[str, int] = {}
    for tensor in tensors:
        kind = file.tensors[tensor.source].kind.name
        kinds[kind] = kinds.get(kind, 0) + 1
    name = file.metadata.get("general.name", "")
    return Imported(
        path=target,
        family=config["model_type"],
        name=name if isinstance(name, str) else "",
        parameters=parameters(tensors),
        layers=config["num_hidden_layers"],
        context=config["max_position_embeddings"],
        vocabulary=config["vocab_size"],
        dtype=dtype,
        quantisation=kinds,
        tokenizer=words.cut_name,
        end_tokens={str(words.tokens[number]): number for number in words.end_ids},
        chat_template=words.chat_template is not None,
        notes=words.notes,
    )


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True, allow_nan=False) + "\n"
