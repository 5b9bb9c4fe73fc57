"""A look at a model: what it is, what it takes, and where its files disagree.

Only headers are read, whatever the size of the model. What is broken is told, and the rest shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import torch
from torch import nn

from limite.core.errors import LimiteError, Mistake
from limite.core.model.critic import Critic
from limite.core.model.decoder import Decoder
from limite.core.model.init import count_parameters, unset_decoder
from limite.core.model.llama.scaling import NoScaling
from limite.core.model.memory import BYTES, cache_bytes, training_bytes
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.critic import CriticDirectory
from limite.core.pretrained.directory import (
    CONFIG_FILE,
    CRITIC,
    ModelDirectory,
    architecture_of,
    read_config,
)
from limite.core.pretrained.families.variant import KIND as VARIANT
from limite.core.pretrained.inspect_tokens import Told, Words, words_in
from limite.core.pretrained.save import dtype_name
from limite.core.pretrained.tensor_directory import PICKLES, TensorDirectory

SAMPLED_IN = (torch.float32, torch.bfloat16)


@attrs.frozen(kw_only=True)
class Shape:
    """The sizes of a decoder. ``rope`` and ``attention`` (with its layers) are in words."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    mlp_width: int
    rows: int
    tied_head: bool
    context: int
    attention: Mapping[str, int]
    rope: str


@attrs.frozen(kw_only=True)
class Stored:
    """Tensors of one dtype."""

    tensors: int
    numbers: int
    bytes: int


@attrs.frozen(kw_only=True)
class Sampling:
    """To sample in one dtype: weights, and what each response of ``context`` tokens adds."""

    weights_bytes: int
    cache_bytes: int
    total_bytes: int


@attrs.frozen(kw_only=True)
class Memory:
    """What ``batch`` rows of ``context`` tokens take. Training is in float32."""

    context: int
    batch: int
    training_bytes: int
    sampling: Mapping[str, Sampling]


@attrs.frozen(kw_only=True)
class Look:
    """All that is known of a model. What is None could not be known.

    ``base`` is the family of which a variant has other attention; None: it is no variant.
    """

    path: str
    origin: str
    family: str | None
    base: str | None
    architecture: str | None
    shape: Shape | None
    parameters: Mapping[str, int]
    stored: Mapping[str, Stored]
    tokenizer: Words | None
    memory: Memory | None
    files: Mapping[str, int]
    warnings: tuple[str, ...]
    mistakes: tuple[Mistake, ...]


def look_at(path: str | Path, *, context: int | None = None, batch: int = 1) -> Look:
    """What a model's directory holds. With mistakes, as much of it as can be known."""
    path = Path(path)
    told = Told()
    read = told.try_to(lambda: read_config(path))
    config = read or {}
    opened = None if read is None else told.try_to(lambda: _opened(path, config))
    module = None if opened is None else _module(opened)
    tensors = told.try_to(lambda: TensorDirectory.open(path))
    if opened is not None:
        told.mistakes += opened.check()
    rows = None if module is None else _trunk(module).spec.padded_vocabulary
    words = words_in(path, config, rows, told)
    if tensors is not None:
        told.warnings += _stored_otherwise(config, tensors)
        told.warnings += _beside(path, tensors)
    return assemble(
        path=str(path),
        origin="",
        config=config,
        module=module,
        tensors=tensors,
        words=words,
        told=told,
        files=sizes_of(path),
        context=context,
        batch=batch,
    )


def assemble(
    *,
    path: str,
    origin: str,
    config: Mapping[str, Any],
    module: Decoder | Critic | None,
    tensors: TensorDirectory | None,
    words: Words | None,
    told: Told,
    files: Mapping[str, int],
    context: int | None,
    batch: int,
) -> Look:
    """One value of all that was found. ``module`` is the model on the meta device."""
    if module is not None:
        told.warnings += _beyond(_trunk(module).spec)
    family = config.get("model_type")
    return Look(
        path=path,
        origin=origin,
        family=family if isinstance(family, str) else None,
        base=_base(config),
        architecture=architecture_of(config),
        shape=None if module is None else _shape(_trunk(module)),
        parameters=_by_kind(_numbers(module, tensors)),
        stored={} if tensors is None else _stored(tensors),
        tokenizer=words,
        memory=None if module is None else memory_of(module, context, batch),
        files=files,
        warnings=tuple(told.warnings),
        mistakes=tuple(dict.fromkeys(told.mistakes)),
    )


def memory_of(module: Decoder | Critic, context: int | None, batch: int) -> Memory:
    """What training and sampling take, with rows of ``context`` tokens; None: the most."""
    decoder = _trunk(module)
    most = decoder.spec.context
    tokens = most if context is None else context
    if tokens > most:
        raise LimiteError(
            f"--context: expected at most the model's {most:,} tokens, got {tokens:,}"
        )
    sampling = {}
    for dtype in SAMPLED_IN:
        shapes = unset_decoder(
            decoder.spec, dtype=dtype, device="meta", head=isinstance(module, Decoder)
        )
        weights = sum(parameter.nbytes for parameter in shapes.parameters())
        cache = cache_bytes(shapes, 1, tokens, dtype)
        sampling[dtype_name(dtype)] = Sampling(
            weights_bytes=weights, cache_bytes=cache, total_bytes=weights + batch * cache
        )
    numbers = count_parameters(module)
    trained = BYTES * numbers + training_bytes(decoder.spec, numbers, batch * tokens)
    return Memory(context=tokens, batch=batch, training_bytes=trained, sampling=sampling)


def _base(config: Mapping[str, Any]) -> str | None:
    base = config.get("base") if config.get("model_type") == VARIANT else None
    family = base.get("model_type") if isinstance(base, Mapping) else None
    return family if isinstance(family, str) else None


def _opened(path: Path, config: Mapping[str, Any]) -> ModelDirectory | CriticDirectory:
    critic = (architecture_of(config) or "").endswith(CRITIC)
    return CriticDirectory.open(path) if critic else ModelDirectory.open(path)


def _module(opened: ModelDirectory | CriticDirectory) -> Decoder | Critic:
    """The model in a directory, without values."""
    if isinstance(opened, CriticDirectory):
        return Critic(unset_decoder(opened.model.spec, device="meta", head=False))
    return unset_decoder(opened.spec, device="meta")


def _trunk(module: Decoder | Critic) -> Decoder:
    return module.trunk if isinstance(module, Critic) else module


def _shape(decoder: Decoder) -> Shape:
    spec = decoder.spec
    layers: dict[str, int] = {}
    for mixer in decoder.mixers():
        layers[mixer.words] = layers.get(mixer.words, 0) + 1
    return Shape(
        width=spec.width,
        layers=spec.layers,
        heads=spec.heads,
        kv_heads=spec.kv_heads,
        head_width=spec.head_width,
        mlp_width=spec.mlp_width,
        rows=spec.padded_vocabulary or 0,
        tied_head=spec.tied_head,
        context=spec.context,
        attention=layers,
        rope=_rope(spec),
    )


def _rope(spec: DecoderSpec) -> str:
    base, pairs = getattr(spec, "rope_base", None), getattr(spec, "rope_pairs", None)
    words = "none" if base is None else f"base {base:,.10g}"
    if pairs is not None:
        words += f", {2 * pairs} of {spec.head_width} channels"
    scaling = getattr(spec, "rope_scaling", None)
    if scaling is not None and not isinstance(scaling, NoScaling):
        kind = type(scaling).__name__.removesuffix("Scaling").lower()
        words += f", {kind} scaling by {scaling.factor:g}"
        original = getattr(scaling, "original_context", None)
        words += f" from {original:,} tokens" if original else ""
    return words


def _beyond(spec: DecoderSpec) -> Iterator[str]:
    """Where a context is longer than its scaling reaches."""
    scaling: Any = getattr(spec, "rope_scaling", None)
    original = getattr(scaling, "original_context", None)
    if original and spec.context > scaling.factor * original:
        yield (
            f"the context of {spec.context:,} tokens is beyond what rotary positions are scaled "
            f"to, {scaling.factor:g} times {original:,}: later positions were never meant"
        )


def _numbers(module: nn.Module | None, tensors: TensorDirectory | None) -> dict[str, int]:
    """How many numbers each parameter has; where there is no model, each tensor of the files."""
    if module is not None:
        return {name: parameter.numel() for name, parameter in module.named_parameters()}
    if tensors is None:
        return {}
    return {name: math.prod(tensors.entry(name).shape) for name in tensors.names}


def _by_kind(numbers: Mapping[str, int]) -> dict[str, int]:
    """Numbers summed by what they are for, the largest part first."""
    found: dict[str, int] = {}
    for name, count in numbers.items():
        kind = next((kind for part, kind in KINDS.items() if part in f".{name}"), REST)
        found[kind] = found.get(kind, 0) + count
    return dict(sorted(found.items(), key=lambda each: -each[1]))


REST = "other"
KINDS = {
    ".embed_tokens.": "token table",
    ".lm_head.": "output head",
    ".value_embeds.": "value table",
    ".self_attn.": "attention",
    ".mlp.": "MLP",
    ".value_head.": "value head",
}
"""A part of a parameter's name, and what it is for."""


def _stored(tensors: TensorDirectory) -> dict[str, Stored]:
    found: dict[str, Stored] = {}
    for name in tensors.names:
        entry = tensors.entry(name)
        kind = dtype_name(entry.dtype)
        before = found.get(kind, Stored(tensors=0, numbers=0, bytes=0))
        found[kind] = Stored(
            tensors=before.tensors + 1,
            numbers=before.numbers + math.prod(entry.shape),
            bytes=before.bytes + entry.size_bytes,
        )
    return found


def _stored_otherwise(config: Mapping[str, Any], tensors: TensorDirectory) -> Iterator[str]:
    """Whether matrices are stored in the dtype that the configuration says."""
    said = config.get("dtype", config.get("torch_dtype"))
    both = {config[name] for name in ("dtype", "torch_dtype") if isinstance(config.get(name), str)}
    if len(both) > 1:
        yield f"{CONFIG_FILE} says both {' and '.join(sorted(both))}; limite goes by dtype"
    table = next((name for name in tensors.names if name.endswith("embed_tokens.weight")), None)
    if table is None:
        return
    stored = dtype_name(tensors.entry(table).dtype)
    if said is None:
        yield f"{CONFIG_FILE} says no dtype; the matrices are stored in {stored}"
    elif said != stored:
        yield (
            f"{CONFIG_FILE} says {said}, and the matrices are stored in {stored}: they are rounded "
            "to what a program asks for, which by default may be either"
        )


def _beside(path: Path, tensors: TensorDirectory) -> Iterator[str]:
    """Files of weights that are not read."""
    for file in sorted(entry.name for entry in path.iterdir()):
        if file.endswith(PICKLES):
            yield f"{file} is a pickle: it is never opened, and the safetensors beside it count"
        elif file.endswith(".safetensors") and file not in tensors.files:
            yield f"{file} is not one of the model's files of weights, and is not read"


def sizes_of(folder: Path) -> dict[str, int]:
    """The files of a folder and their sizes; those of folders in it are left out."""
    if not folder.is_dir():
        return {}
    return {file.name: file.stat().st_size for file in sorted(folder.iterdir()) if file.is_file()}
