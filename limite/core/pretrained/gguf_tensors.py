"""The tensors of a GGUF file under the names and in the order of rows transformers knows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np
import torch
from torch import Tensor

from limite.core.errors import LimiteError, did_you_mean
from limite.core.pretrained.gguf_config import ROPE_FACTORS, Architecture, Mistakes
from limite.core.pretrained.gguf_file import GgufFile, GgufTensor, dequantised, gguf_package

_SLICE_BYTES = 1 << 24
"""Float32 bytes made at once: a table of tokens is never whole in memory twice."""

_OUTER = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_PROJECTIONS = {"attn_q": "q_proj", "attn_k": "k_proj", "attn_v": "v_proj", "attn_output": "o_proj"}


@attrs.frozen(kw_only=True)
class Wanted:
    """A tensor of the model. ``heads`` is set where rows must be put back in order."""

    name: str
    source: str
    shape: tuple[int, ...]
    heads: int | None = None


def wanted_tensors(
    config: Mapping[str, Any],
    architecture: Architecture,
    present: Mapping[str, GgufTensor],
    wrong: Mistakes,
) -> list[Wanted]:
    """Every tensor of the model ``config`` describes, in the order in which they are written.

    Names must match one for one, and shapes too. Tells ``wrong`` what does not.
    """
    table = present.get("token_embd.weight")
    vocabulary = table.shape[0] if table is not None else 0
    width = config["hidden_size"]
    layers = config["num_hidden_layers"]
    if layers > len(present):  # a file that promises more cannot keep it
        wrong.add("", f"{layers} layers, but only {len(present)} tensors")
        return []
    tensors = [
        Wanted(name=_OUTER[s], source=s, shape=(vocabulary, width)) for s in _tables(present)
    ]
    tensors.append(Wanted(name="model.norm.weight", source="output_norm.weight", shape=(width,)))
    bias = architecture.query_bias or "blk.0.attn_q.bias" in present
    for layer in range(layers):
        tensors += _layer(layer, config, architecture, bias)
    known = {tensor.source for tensor in tensors}
    for name in sorted(set(present) - known - {ROPE_FACTORS}):
        wrong.add(name, f"no tensor of such a model{did_you_mean(name, known)}")
    for tensor in tensors:
        given = present.get(tensor.source)
        if given is None:
            wrong.add(tensor.source, "missing")
        elif given.shape != tensor.shape:
            expected = f"expected shape {list(tensor.shape)}, got {list(given.shape)}"
            wrong.add(tensor.source, expected)
    _check_kinds([present[name] for name in known & set(present)], wrong)
    return tensors


def _tables(present: Mapping[str, GgufTensor]) -> Iterator[str]:
    yield "token_embd.weight"
    if "output.weight" in present:
        yield "output.weight"


def _layer(
    layer: int, config: Mapping[str, Any], architecture: Architecture, bias: bool
) -> Iterator[Wanted]:
    width, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    rows = {"attn_q": heads, "attn_k": kv_heads, "attn_v": kv_heads}

    def tensor(theirs: str, ours: str, *shape: int, heads: int | None = None) -> Wanted:
        name = f"model.layers.{layer}.{ours}"
        return Wanted(name=name, source=f"blk.{layer}.{theirs}", shape=shape, heads=heads)

    yield tensor("attn_norm.weight", "input_layernorm.weight", width)
    for theirs, ours in _PROJECTIONS.items():
        out = rows[theirs] * head if theirs in rows else width
        into = width if theirs in rows else heads * head
        turned = architecture.permuted and theirs in ("attn_q", "attn_k")
        order = rows[theirs] if turned else None
        yield tensor(f"{theirs}.weight", f"self_attn.{ours}.weight", out, into, heads=order)
        if bias and (theirs in rows or not architecture.query_bias):
            yield tensor(f"{theirs}.bias", f"self_attn.{ours}.bias", out, heads=order)
    if architecture.head_norms:
        yield tensor("attn_q_norm.weight", "self_attn.q_norm.weight", head)
        yield tensor("attn_k_norm.weight", "self_attn.k_norm.weight", head)
    yield tensor("ffn_norm.weight", "post_attention_layernorm.weight", width)
    yield tensor("ffn_gate.weight", "mlp.gate_proj.weight", inner, width)
    yield tensor("ffn_up.weight", "mlp.up_proj.weight", inner, width)
    yield tensor("ffn_down.weight", "mlp.down_proj.weight", width, inner)


def _check_kinds(tensors: list[GgufTensor], wrong: Mistakes) -> None:
    """That the ``gguf`` package can read every kind of quantisation there is, tried on a block."""
    first: dict[Any, str] = {}
    for tensor in sorted(tensors, key=lambda tensor: tensor.name):
        first.setdefault(tensor.kind, tensor.name)
    for kind, name in first.items():
        _, block_bytes = gguf_package().GGML_QUANT_SIZES[kind]
        try:
            dequantised(np.zeros((1, block_bytes), np.uint8), kind)
        except NotImplementedError:
            wrong.add(name, f"weights of type {kind.name} cannot be read")


def read_tensor(file: GgufFile, wanted: Wanted, dtype: torch.dtype) -> Tensor:
    """A tensor of the model, rounded once from float32 to ``dtype``."""
    source = file.tensors[wanted.source]
    values = torch.empty(source.shape, dtype=dtype)
    flat = values.view(source.rows, -1)
    step = max(1, _SLICE_BYTES // (4 * source.shape[-1]))
    for first in range(0, source.rows, step):
        count = min(step, source.rows - first)
        read = torch.from_numpy(file.read_rows(source, first, count))
        if not bool(torch.isfinite(read).all()):
            why = "infinite or not a number; the file is damaged"
            raise LimiteError(f"{file.path}: {wanted.source}: holds values that are {why}")
        flat[first : first + count] = read
        # Only float16 is so narrow that a sound weight may not fit.
        if not bool(torch.isfinite(flat[first : first + count]).all()):
            why = f"holds values too large for {str(dtype).removeprefix('torch.')}"
            raise LimiteError(f"{file.path}: {wanted.source}: {why}; choose another --dtype")
    return values if wanted.heads is None else halves(values, wanted.heads)


def halves(rows: Tensor, heads: int) -> Tensor:
    """Rows of queries or keys with the two halves of each head one after the other.

    llama.cpp stores them in pairs: row ``2 i + half`` of a head is row ``i`` of that half.
    """
    width = rows.shape[0] // heads // 2
    return rows.view(heads, width, 2, -1).transpose(1, 2).reshape(rows.shape)


def parameters(tensors: list[Wanted]) -> int:
    """How many numbers the model has."""
    return sum(math.prod(tensor.shape) for tensor in tensors)
