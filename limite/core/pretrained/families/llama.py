"""Llama, Qwen2, Qwen3 and Mistral checkpoints: their configuration as a spec.

Every field is either read, or must have the one value this code implements, or is known to be
without influence on the model. Nothing is guessed: a field that is new is a mistake, and so is one
that is missing, but for those that older files cannot have: without them they mean what was the
only way when they were written (as many key/value heads as heads, a rotary base of 10,000).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.kinds import Attention
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.resolve import attention_component
from limite.core.pretrained.families.llama_fields import (
    ARCHITECTURES,
    FIXED,
    SIZES,
    Architecture,
    known_fields,
    required_fields,
)
from limite.core.pretrained.families.llama_rope import Refuse, is_number, read_rope
from limite.core.pretrained.families.llama_write import config_from_spec as config_from_spec

SPEC = LlamaSpec
PREFIX = "model."


def spec_from_config(config: Mapping[str, Any], vocabulary: int | None = None) -> LlamaSpec:
    """The filled spec of a ``config.json``. All that is wrong with it is told at once.

    ``vocabulary`` is the number of ids that mean something, the tokenizer's; None: every row of
    the token table.
    """
    wrong: list[Mistake] = []

    def refuse(field: str, why: str) -> None:
        wrong.append(Mistake(why, path=field))

    architecture = _architecture(config, refuse)
    if architecture is None:
        raise SettingsError(wrong)
    known = known_fields(architecture)
    for field in sorted(set(config) - known):
        if field == "quantization_config":
            refuse(field, "quantised weights are not implemented")
        else:
            refuse(field, f"unknown field{did_you_mean(field, known)}")
    for field in sorted(required_fields(architecture) - set(config)):
        refuse(field, "missing")
    for field, value in FIXED.items():
        if field in config and not _same(config[field], value):
            refuse(field, f"only {value!r} is implemented, got {config[field]!r}")
    for field in SIZES:
        if field in config and not _is_size(config[field]):
            refuse(field, f"expected a whole number of at least 1, got {config[field]!r}")
    base, scaling = read_rope(config, refuse)
    flags = _flags(config, architecture, refuse)
    epsilon = config.get("rms_norm_eps", 1.0)
    if not is_number(epsilon) or not 0 < epsilon <= 1:
        refuse("rms_norm_eps", f"expected a number above 0 and at most 1, got {epsilon!r}")
    if wrong:
        raise SettingsError(wrong)

    sizes: dict[str, Any] = {ours: config[theirs] for theirs, ours in SIZES.items()}
    sizes |= _head_sizes(config, refuse)
    attention = _attention(config, architecture, refuse)
    if vocabulary is not None and vocabulary > config["vocab_size"]:
        refuse("vocab_size", f"the tokenizer has more ids: {vocabulary}")
    if wrong:
        raise SettingsError(wrong)
    try:
        return LlamaSpec(
            **sizes,
            **flags,
            vocabulary=config["vocab_size"] if vocabulary is None else vocabulary,
            attention=attention,
            norm_epsilon=float(epsilon),
            rope_base=base,
            rope_scaling=scaling,
            query_key_norm=architecture.norm,
        ).filled()
    except (ValueError, TypeError) as error:
        raise LimiteError(f"the configuration makes no model: {error}") from error


def _architecture(config: Mapping[str, Any], refuse: Refuse) -> Architecture | None:
    names = config.get("architectures")
    known = ", ".join(ARCHITECTURES)
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
        refuse("architectures", f"expected one of {known}, got {names!r}")
        return None
    if names[0] not in ARCHITECTURES:
        near = did_you_mean(names[0], ARCHITECTURES)
        refuse("architectures", f"expected one of {known}, got {names[0]!r}{near}")
        return None
    found = ARCHITECTURES[names[0]]
    if config.get("model_type", found.model_type) != found.model_type:
        refuse(
            "model_type",
            f"{names[0]} is of type {found.model_type!r}, got {config['model_type']!r}",
        )
    return found


def _flags(config: Mapping[str, Any], architecture: Architecture, refuse: Refuse) -> dict[str, Any]:
    for field in ("attention_bias", "mlp_bias", "tie_word_embeddings", "use_sliding_window"):
        if not isinstance(config.get(field, False), bool):
            refuse(field, f"expected true or false, got {config[field]!r}")
    of_all = config.get("attention_bias", False)
    return {
        "query_key_value_bias": of_all if architecture.bias is None else architecture.bias,
        "output_bias": of_all if architecture.bias is None else False,
        "mlp_bias": config.get("mlp_bias", False),
        "tied_head": config.get("tie_word_embeddings", False),
    }


def _head_sizes(config: Mapping[str, Any], refuse: Refuse) -> dict[str, int]:
    width, heads = config["hidden_size"], config["num_attention_heads"]
    kv_heads, head_width = config.get("num_key_value_heads"), config.get("head_dim")
    for field, value in (("num_key_value_heads", kv_heads), ("head_dim", head_width)):
        if value is not None and not _is_size(value):
            refuse(field, f"expected a whole number of at least 1, got {value!r}")
    if head_width is None and width % heads:
        refuse("hidden_size", f"{width} is no multiple of num_attention_heads, {heads}")
    return {
        "kv_heads": heads if kv_heads is None else kv_heads,
        "head_width": width // heads if head_width is None else head_width,
    }


def _attention(
    config: Mapping[str, Any], architecture: Architecture, refuse: Refuse
) -> Attention | str:
    layers, window = config["num_hidden_layers"], config.get("sliding_window")
    everywhere = {"type": "global", "rotary": True}
    if window is not None and not _is_size(window):
        refuse("sliding_window", f"expected a number of tokens or null, got {window!r}")
        window = 1
    seeing: list[bool] = [False] * layers  # whether a layer sees only the window
    if architecture.windows == "all":
        seeing = [window is not None] * layers
    elif architecture.windows == "some":
        seeing = _windowed_layers(config, layers, window, refuse)
    if not any(seeing) or window is None:
        return attention_component(everywhere)
    if all(seeing):
        return attention_component({"type": "local", "window": window})
    whole = tuple(layer for layer, short in enumerate(seeing) if not short)
    return attention_component(
        {"type": "local-global", "window": window, "global_layers": whole, "global_rotary": True}
    )


def _windowed_layers(
    config: Mapping[str, Any], layers: int, window: int | None, refuse: Refuse
) -> list[bool]:
    """Whether each layer sees a window. Where ``layer_types`` says so, nothing else does."""
    uses = config.get("use_sliding_window", False)
    types, first = config.get("layer_types"), config.get("max_window_layers")
    if types is None:
        if not uses:
            return [False] * layers
        if window is None:
            refuse("sliding_window", "missing, with a use_sliding_window of true")
        if not isinstance(first, int) or isinstance(first, bool) or first < 0:
            refuse("max_window_layers", f"expected a number of layers, got {first!r}")
            first = layers
        return [layer >= first for layer in range(layers)]
    names = {"full_attention": False, "sliding_attention": True}
    if not isinstance(types, list) or len(types) != layers:
        refuse("layer_types", f"expected a list of {layers} names, got {types!r}")
        return [False] * layers
    for name in dict.fromkeys(map(str, types)):
        if name not in names:
            known = ", ".join(map(repr, names))
            near = did_you_mean(name, names)
            refuse("layer_types", f"only {known} are implemented, got {name!r}{near}")
    seeing = [names.get(str(name), False) for name in types]
    if any(seeing) and (window is None or not uses):
        refuse("layer_types", "has layers with a window, which sliding_window and "
               "use_sliding_window do not give")  # fmt: skip
    return seeing


def derived_names(spec: LlamaSpec) -> frozenset[str]:
    """Tensors of older files that repeat what the configuration says: the rotary frequencies."""
    layers = [f"layers.{layer}.self_attn." for layer in range(spec.layers)]
    return frozenset(f"{PREFIX}{place}rotary_emb.inv_freq" for place in ("", *layers))


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _same(value: Any, wanted: Any) -> bool:
    """Equal, and not by way of 1 == True."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
