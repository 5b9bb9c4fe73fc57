"""A decoder as a directory that other programs load: the same layout it may have come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.errors import LimiteError
from limite.core.jsonl import write_json
from limite.core.model.decoder import Decoder
from limite.core.model.init import unset_decoder
from limite.core.pretrained.directory import (
    CONFIG_FILE,
    SYNTHETIC,
    ModelDirectory,
    config_of,
    file_name,
)
from limite.core.pretrained.generation import Generation
from limite.core.pretrained.new_directory import new_directory
from limite.core.pretrained.tensor_directory import SHARD_BYTES, write_tensor_directory
from limite.core.pretrained.token_files import copy_tokenizer_files

IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
"""What a configuration says of tokens; the files of the tokenizer decide."""


def save_pretrained(
    decoder: Decoder,
    target: str | Path,
    *,
    dtype: str | None = None,
    source: ModelDirectory | None = None,
    shard_bytes: int = SHARD_BYTES,
    synthetic: bool = False,
) -> None:
    """Writes configuration and weights into the new directory ``target``, whole or not at all.

    Matrices are rounded to ``dtype`` (None: as they are); what checkpoints of the family keep in
    float32 beside them stays so. The tokenizer's files and the
    generation settings are those of ``source``, byte for byte. ``synthetic`` weights, which were
    made at random or grew from such, are marked: no run begins with them unless its recipe says so.
    """
    kind = dtype_name(decoder.dtype) if dtype is None else dtype
    mark = {SYNTHETIC: True} if synthetic or (source is not None and source.synthetic) else {}
    write_model(
        target,
        decoder,
        unset_decoder(decoder.spec, dtype=getattr(torch, kind), device="meta"),
        config_of(decoder.spec) | {"torch_dtype": kind} | mark,
        file_name,
        source=source,
        shard_bytes=shard_bytes,
    )


def dtype_name(dtype: torch.dtype) -> str:
    """What a configuration calls a dtype."""
    return str(dtype).removeprefix("torch.")


def write_model(
    target: str | Path,
    module: nn.Module,
    shapes: nn.Module,
    config: Mapping[str, Any],
    names: Callable[[str], str],
    *,
    source: ModelDirectory | None,
    shard_bytes: int,
) -> None:
    """Writes any module whose parameters files call by ``names`` as a model's directory.

    ``shapes`` is the same module, without values, in the dtypes to write.
    """
    config = dict(config)
    if source is not None:
        config |= {name: source.config[name] for name in IDS if name in source.config}
    dtypes = {name: value.dtype for name, value in shapes.named_parameters()}
    tensors = {
        names(name): _rounded(names(name), value.detach(), dtypes[name])
        for name, value in module.named_parameters()
    }
    with new_directory(target) as aside:
        write_json(aside / CONFIG_FILE, config)
        if source is not None:
            copy_tokenizer_files(source.path, aside)
            Generation.read(source.path).write(aside)
        write_tensor_directory(aside, tensors, shard_bytes=shard_bytes)


def _rounded(name: str, value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | DeferredTensor:
    if value.dtype == dtype:
        return value

    def make() -> torch.Tensor:
        rounded = value.to(dtype)
        if torch.isinf(rounded).sum() != torch.isinf(value).sum():
            reach = torch.finfo(dtype).max
            most = value[value.isfinite()].abs().max().item()
            raise LimiteError(
                f"{name}: expected values that {dtype} can hold (up to {reach:g}), got {most:g}"
            )
        return rounded

    return DeferredTensor(dtype=dtype, shape=tuple(value.shape), make=make)
