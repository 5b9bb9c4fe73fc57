"""Small GGUF files, written as llama.cpp's converter writes those of real models."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import gguf
import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM

from tests.core.pretrained.words import CHATML, SPECIALS, TEXTS, byte_level

HEADS, KV_HEADS, HEAD_WIDTH, WIDTH, INNER, LAYERS, CONTEXT = 4, 2, 16, 64, 96, 2, 256
QUANTISATIONS = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0")
FAMILIES = ("llama", "qwen2", "qwen3")


def digits_apart(specials: Sequence[str] = SPECIALS) -> Tokenizer:
    """Byte-level BPE after the manner of SmolLM: every digit is a word.

    It has tokens of several digits, so that a text that is not cut there has other ids.
    """
    together = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer = _trained([together], specials)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), together]
    )
    return tokenizer


def gpt2() -> Tokenizer:
    return _trained([pre_tokenizers.ByteLevel(add_prefix_space=False)], SPECIALS)


def llama3(pattern: str) -> Tokenizer:
    """Byte-level BPE after the manner of Llama 3: whole words first, a begin token always.

    No merge makes its token `` whole``.
    """
    steps = [
        pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    begin = SPECIALS[0]
    data = json.loads(_trained(steps, SPECIALS).to_str())
    data["model"]["vocab"]["Ġwhole"] = len(data["model"]["vocab"])
    data["model"]["ignore_merges"] = True
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A",
        pair=f"{begin} $A {begin}:1 $B:1",
        special_tokens=[(begin, tokenizer.token_to_id(begin))],
    )
    return tokenizer


def _trained(steps: list[Any], specials: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=360,
        show_progress=False,
        special_tokens=list(specials),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator((*TEXTS, "12345 17 " * 9), trainer)
    return tokenizer


def words(tokenizer: Tokenizer, pre: str) -> dict[str, Any]:
    """A tokenizer as metadata. Its special tokens are those of ``words.SPECIALS``."""
    data = json.loads(tokenizer.to_str())
    ids = tokenizer.get_vocab(with_added_tokens=True)
    added = {token["content"]: token["special"] for token in data["added_tokens"]}
    tokens = sorted(ids, key=lambda token: ids[token])
    end, start, stop = SPECIALS
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [{None: 1, True: 3, False: 4}[added.get(t)] for t in tokens],
        "tokenizer.ggml.merges": [" ".join(merge) for merge in data["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": ids[start],
        "tokenizer.ggml.eos_token_id": ids[stop],
        "tokenizer.ggml.padding_token_id": ids[end],
        "tokenizer.chat_template": CHATML,
    }


@attrs.define(kw_only=True)
class Made:
    """A model before it is written: metadata, and tensors by their names in a GGUF file.

    ``theirs`` is the model of transformers that its weights were taken from.
    """

    metadata: dict[str, Any]
    tensors: dict[str, np.ndarray[Any, Any]]
    theirs: Any
    quantised: dict[str, str] = attrs.field(factory=dict)

    def write(self, path: Path) -> Path:
        """Writes it with the ``gguf`` package; ``quantised`` is tensor to kind, else float32."""
        meta = dict(self.metadata)
        writer = gguf.GGUFWriter(path, str(meta.pop("general.architecture")))
        for key, value in meta.items():
            add(writer, key, value)
        for name, values in self.tensors.items():
            kind = gguf.GGMLQuantizationType[self.quantised.get(name, "F32")]
            data = gguf.quants.quantize(values, kind)
            writer.add_tensor(name, data, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    def stored(self, name: str) -> np.ndarray[Any, Any]:
        """A tensor as it comes back from its quantisation."""
        kind = gguf.GGMLQuantizationType[self.quantised.get(name, "F32")]
        return np.asarray(
            gguf.quants.dequantize(gguf.quants.quantize(self.tensors[name], kind), kind)
        )


def add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def model(
    family: str = "llama",
    quantisation: str = "F32",
    *,
    tied: bool = True,
    bias: bool = False,
    tokenizer: Tokenizer | None = None,
    pre: str | None = None,
    config: Mapping[str, Any] | None = None,
) -> Made:
    """A model of random weights. Matrices are quantised, the rest is float32."""
    if tokenizer is None:
        tokenizer = digits_apart() if family == "llama" else byte_level()
        pre = "smollm" if family == "llama" else "qwen2"
    assert pre is not None
    rows = tokenizer.get_vocab_size(with_added_tokens=True) + 5  # padded, as real ones are
    said = {
        "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_WIDTH,
        "vocab_size": rows, "max_position_embeddings": CONTEXT, "rms_norm_eps": 1e-5,
        "tie_word_embeddings": tied, "rope_theta": 50000.0, **(config or {}),
    }  # fmt: skip
    if family == "llama":
        said["attention_bias"] = bias
    torch.manual_seed(len(family) + tied)
    theirs = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **said)).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter.data, 0.02, 0.2)  # biases and norms too
    metadata = {
        "general.architecture": family,
        "general.name": "Tiny",
        f"{family}.block_count": LAYERS,
        f"{family}.context_length": CONTEXT,
        f"{family}.embedding_length": WIDTH,
        f"{family}.feed_forward_length": INNER,
        f"{family}.attention.head_count": HEADS,
        f"{family}.attention.head_count_kv": KV_HEADS,
        f"{family}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{family}.rope.freq_base": 50000.0,
        **words(tokenizer, pre),
    }
    if family == "llama":
        metadata |= {"llama.vocab_size": rows, "llama.rope.dimension_count": HEAD_WIDTH}
    state = {name: value.numpy() for name, value in theirs.state_dict().items()}
    tensors = {}
    for name, values in state.items():
        if name == "lm_head.weight" and tied:
            continue
        heads = {"q_proj": HEADS, "k_proj": KV_HEADS}.get(name.split(".")[-2])
        turned = family == "llama" and heads is not None
        tensors[_their_name(name)] = _permuted(values, heads) if turned else values
    # A norm of the heads is as wide as a head, too narrow for the larger blocks.
    quantised = {name: quantisation for name, values in tensors.items() if values.ndim == 2}
    return Made(metadata=metadata, tensors=tensors, theirs=theirs, quantised=quantised)


def _their_name(name: str) -> str:
    names = {
        "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
        "model.layers": "blk", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
        "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    }  # fmt: skip
    for ours, theirs in names.items():
        name = name.replace(ours, theirs)
    return name


def _permuted(values: np.ndarray[Any, Any], heads: Any) -> np.ndarray[Any, Any]:
    """Row ``i`` of half ``h`` of a head becomes its row ``2 i + h``."""
    order = [
        head * HEAD_WIDTH + half * (HEAD_WIDTH // 2) + row
        for head in range(heads)
        for row in range(HEAD_WIDTH // 2)
        for half in range(2)
    ]
    return values[order]
