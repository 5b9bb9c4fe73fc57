"""What the configurations of Llama, Qwen2, Qwen3 and Mistral may say, and what it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.pretrained.families import llama_rope


@attrs.frozen(kw_only=True)
class Architecture:
    """What sets one architecture of the family apart."""

    model_type: str
    norm: bool = False  # every query and key head is normalised
    bias: bool | None = False  # of queries, keys and values; None: attention_bias says, of all four
    mlp_bias: bool = False  # whether there is a field that says so
    head_dim: bool = False  # whether it must be said
    windows: str = "none"  # "all": sliding_window is of every layer; "some": of certain layers


ARCHITECTURES: Mapping[str, Architecture] = {
    "LlamaForCausalLM": Architecture(model_type="llama", bias=None, mlp_bias=True),
    "Qwen2ForCausalLM": Architecture(model_type="qwen2", bias=True, windows="some"),
    "Qwen3ForCausalLM": Architecture(
        model_type="qwen3", norm=True, bias=None, head_dim=True, windows="some"
    ),
    "MistralForCausalLM": Architecture(model_type="mistral", windows="all"),
}

SIZES = {
    "hidden_size": "width",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "mlp_width",
    "vocab_size": "padded_vocabulary",
    "max_position_embeddings": "context",
}
"""Whole numbers that must be there, and the field of ``LlamaSpec`` each becomes."""

REQUIRED = (*SIZES, "architectures", "model_type", "hidden_act", "rms_norm_eps")

FIXED: Mapping[str, Any] = {
    "hidden_act": "silu",
    "attention_dropout": 0.0,
    "is_encoder_decoder": False,
    "chunk_size_feed_forward": 0,
    "use_mrope": False,
}
"""What is implemented: no other value can be."""

NO_INFLUENCE = {
    "_name_or_path", "_attn_implementation_autoset", "bos_token_id", "dtype", "eos_token_id",
    "id2label", "initializer_range", "is_llama_config", "label2id", "output_attentions",
    "output_hidden_states", "pad_token_id", "pretraining_tp", "problem_type", "return_dict",
    "torch_dtype", "transformers.js_config", "transformers_version", "unsloth_fixed",
    "unsloth_version", "use_cache",
}  # fmt: skip
"""Provenance, how a program may go about it, and what other files say better."""


def known_fields(architecture: Architecture) -> set[str]:
    """Every field that a file of this architecture may have."""
    found = {*REQUIRED, *FIXED, *NO_INFLUENCE, *llama_rope.FIELDS, "num_key_value_heads"}
    found |= {"head_dim", "tie_word_embeddings"}
    if architecture.bias is None:
        found.add("attention_bias")
    if architecture.mlp_bias:
        found.add("mlp_bias")
    if architecture.windows != "none":
        found.add("sliding_window")
    if architecture.windows == "some":
        found |= {"use_sliding_window", "max_window_layers", "layer_types"}
    return found


def required_fields(architecture: Architecture) -> set[str]:
    """Every field that it must have."""
    found = {*REQUIRED, "tie_word_embeddings"}
    if architecture.head_dim:
        found.add("head_dim")
    if architecture.windows == "all":
        found.add("sliding_window")
    return found
