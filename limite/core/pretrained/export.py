"""Weights, where they lie, as a new directory that ``transformers`` and limite load.

Tensors go from file to file one at a time. The source is only read: the result is written aside
and renamed, and an existing name is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import attrs
import torch
from torch import Tensor, nn

from limite.core.checkpoint.tensor_header import TensorEntry
from limite.core.checkpoint.tensors import DeferredTensor
from limite.core.jsonl import write_atomic
from limite.core.model.init import unset_decoder
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.directory import (
    CONFIG_FILE,
    Inventory,
    ModelDirectory,
    architecture_of,
    file_name,
)
from limite.core.pretrained.dtype_names import stored_dtype
from limite.core.pretrained.generation import GENERATION_FILE
from limite.core.pretrained.json_files import read_bytes
from limite.core.pretrained.load import matching
from limite.core.pretrained.new_directory import new_directory, refuse_existing
from limite.core.pretrained.save import dtype_name
from limite.core.pretrained.tensor_directory import (
    SHARD_BYTES,
    TensorDirectory,
    write_tensor_directory,
)
from limite.core.pretrained.token_files import (
    LARGEST,
    TOKENIZER,
    refuse_unfit_tokenizer,
    tokenizer_files,
)

TABLE = file_name("embed_tokens.weight")
"""The tensor whose dtype is said to be a model's."""

Progress = Callable[[str, int, int], None]
"""Called with a tensor's name, how many are written, and how many there are."""

CODE = "auto_map"
"""What names Python files of a model. They are not taken along, so neither is this."""

NO_TOKENIZER = f"there is no {TOKENIZER}: the directory cannot read or write text"
FAMILY_NOTES: Mapping[str, str] = {
    "limite": "transformers reads this family only with its publisher's code; limite needs none",
    "limite-variant": "only limite knows this attention, and other programs refuse the directory",
}
"""By ``model_type``: who else reads the directory."""


class Tensors(Protocol):
    """Where tensors come from, one at a time: a ``TensorDirectory``, or what is made of some."""

    def entry(self, name: str, /) -> TensorEntry: ...

    def deferred(self, name: str, dtype: torch.dtype | None = None, /) -> DeferredTensor: ...


def _decoder(spec: DecoderSpec, dtype: torch.dtype) -> nn.Module:
    return unset_decoder(spec, dtype=dtype, device="meta")


@attrs.frozen(kw_only=True, eq=False)
class Source:
    """What is exported. ``tensor_of`` is parameter to tensor, ``files`` what stands beside them.

    ``module`` is what has the parameters, a decoder unless something else is on its trunk, and
    ``called`` gives their names in files.
    """

    spec: DecoderSpec
    config: Mapping[str, Any]
    tensors: Tensors
    tensor_of: Mapping[str, str]
    files: Mapping[str, bytes]
    notes: tuple[str, ...] = ()
    module: Callable[[DecoderSpec, torch.dtype], nn.Module] = _decoder
    called: Callable[[str], str] = file_name


@attrs.frozen(kw_only=True)
class Exported:
    """What was written: ``files`` is name to bytes, ``dtypes`` a dtype to its numbers."""

    path: str
    family: str
    architecture: str
    parameters: int
    dtype: str
    dtypes: Mapping[str, int]
    tokenizer: bool
    files: Mapping[str, int]
    notes: tuple[str, ...]


def directory_source(path: str | Path) -> Source:
    """A model's directory, its headers checked against its configuration."""
    directory = ModelDirectory.open(path)
    decoder = unset_decoder(directory.spec, device="meta")
    found = Inventory.of(decoder)
    tensors = TensorDirectory.open(directory.path)
    refuse_unfit_tokenizer(directory.path, directory.spec.padded_vocabulary)
    return Source(
        spec=directory.spec,
        config=directory.config,
        tensors=tensors,
        tensor_of=matching(decoder, tensors, found.names, tied=found.tied, derived=found.derived),
        files=files_beside(directory.path),
    )


def files_beside(path: str | Path) -> dict[str, bytes]:
    """The tokenizer's files, its chat templates and the generation settings of a directory."""
    path = Path(path)
    names = list(tokenizer_files(path))
    if (path / GENERATION_FILE).is_file():
        names.append(GENERATION_FILE)
    return {name: read_bytes(path / name, LARGEST) for name in names}


def export_model(
    source: Source,
    target: str | Path,
    *,
    dtype: str | None = None,
    shard_bytes: int = SHARD_BYTES,
    progress: Progress | None = None,
) -> Exported:
    """Writes the new directory ``target``, whole or not at all.

    Matrices are rounded to ``dtype``; what checkpoints of the family keep in float32 beside them
    stays so. Without it every tensor keeps the dtype it has. A number too large for the dtype is
    refused by the name of its tensor.
    """
    target = Path(target)
    refuse_existing(target)
    dtypes = _dtypes(source, None if dtype is None else stored_dtype(dtype))
    table = next(name for name in dtypes if source.called(name) == TABLE)
    matrices = dtype_name(dtypes[table])
    config = _config(source.config, matrices)
    with new_directory(target) as aside:
        write_atomic(aside / CONFIG_FILE, _text(config))
        for name, content in source.files.items():
            (aside / name).parent.mkdir(exist_ok=True)
            write_atomic(aside / name, content)
        planned = dict(_planned(source, dtypes, progress))
        write_tensor_directory(aside, planned, shard_bytes=shard_bytes)
        files = {
            str(file.relative_to(aside)): file.stat().st_size
            for file in sorted(aside.rglob("*"))
            if file.is_file()
        }
    numbers: dict[str, int] = {}
    for name, parameter in _shapes(source).items():
        kind = dtype_name(dtypes[name])
        numbers[kind] = numbers.get(kind, 0) + parameter.numel()
    return Exported(
        path=str(target),
        family=str(config["model_type"]),
        architecture=architecture_of(config) or "",
        parameters=sum(numbers.values()),
        dtype=matrices,
        dtypes=numbers,
        tokenizer=TOKENIZER in source.files,
        files=files,
        notes=tuple(_notes(source)),
    )


def _shapes(source: Source, dtype: torch.dtype = torch.float32) -> dict[str, nn.Parameter]:
    return dict(source.module(source.spec, dtype).named_parameters())


def _dtypes(source: Source, dtype: str | None) -> dict[str, torch.dtype]:
    """What each parameter is stored in."""
    if dtype is None:
        return {name: source.tensors.entry(own).dtype for name, own in source.tensor_of.items()}
    shapes = _shapes(source, getattr(torch, dtype))
    return {name: parameter.dtype for name, parameter in shapes.items()}


def _planned(
    source: Source, dtypes: Mapping[str, torch.dtype], progress: Progress | None
) -> Iterator[tuple[str, DeferredTensor]]:
    total = len(source.tensor_of)
    made = 0

    def told(name: str, read: DeferredTensor) -> DeferredTensor:
        def make() -> Tensor:
            nonlocal made
            tensor = read.make()
            made += 1
            if progress is not None:
                progress(name, made, total)
            return tensor

        return attrs.evolve(read, make=make)

    for parameter, own in source.tensor_of.items():
        name = source.called(parameter)
        yield name, told(name, source.tensors.deferred(own, dtypes[parameter]))


def _config(config: Mapping[str, Any], dtype: str) -> dict[str, Any]:
    """The configuration with the dtype of what is written, under the names that it may have."""
    written = {name: value for name, value in config.items() if name != CODE}
    if "dtype" in written:
        written["dtype"] = dtype
    return {**written, "torch_dtype": dtype}


def _notes(source: Source) -> Iterator[str]:
    yield from source.notes
    if TOKENIZER not in source.files:
        yield NO_TOKENIZER
    note = FAMILY_NOTES.get(source.config["model_type"])
    if note is not None:
        yield note
    if CODE in source.config:
        yield f"config.json named Python files ({CODE}), which are not taken along"


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
