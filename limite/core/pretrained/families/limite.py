"""Limite checkpoints: their configuration as a spec, a spec as their configuration.

Every field is either read, or must have the one value this code implements, or is known to record
where the file came from. Nothing is guessed: a field that is missing or new is a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limite.core.errors import LimiteError, Mistake, SettingsError, did_you_mean
from limite.core.model.resolve import attention_component, unstructured
from limite.core.model.spec import ModelSpec

SIZES = {
    "hidden_size": "width",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_width",
    "intermediate_size": "mlp_width",
    "vocab_size": "padded_vocabulary",
    "tokenizer_vocab_size": "vocabulary",
    "max_position_embeddings": "context",
    "ve_dim": "value_width",
    "ve_stored_heads": "value_heads",
    "ve_gate_channels": "value_gate_channels",
    "attn_gate_channels": "head_gate_channels",
    "mudd_inter": "mudd_width",
}
"""Whole numbers, and the field of ``ModelSpec`` each becomes."""

FIXED: Mapping[str, Any] = {
    "architectures": ["LimiteForCausalLM"],
    "model_type": "limite",
    "mlp_type": "swiglu",
    "mlp_formula": ("(silu(gate_proj(h)) * up_proj(h)) @ down_proj, no clamp on either factor"),
    "tie_word_embeddings": True,
    "rms_norm_has_weight": False,
    "rms_norm_eps_mode": "torch_finfo_default",
    "qk_norm": "rms_pre_rope",
    "sliding_window_convention": (
        "k >= q - sliding_window, inclusive of the query token (span = sliding_window + 1 keys)"
    ),
    "global_nope": True,
    "attn_gate_scale": 2.0,
    "attn_gate_applied": "per_head_before_o_proj",
    "pos_mode": "rope",
    "rope_style": "interleaved_pairs_odd_lane_sign_flip",
    "rope_per_layer": False,
    "rope_cos_sin_dtype": "bfloat16",
    "ve_head_slice": "first_num_key_value_heads",
    "ve_gate_scale": 2.0,
    "ve_applied_before_qk_norm": True,
    "xsa_normalize_eps": 1e-4,
    "mudd_r_site": "resid",
    "mudd_hist_convention": "hist[0] = rms_norm(embedding); hist[j] = output of layer j-1",
    "mudd_accumulation": "ordered_left_to_right",
    "final_softcap": 0.0,
}
"""What is implemented: no other value can be."""

READ = {
    "padded_vocab_size", "attention_softmax_scale", "sliding_window", "global_window",
    "global_layers", "global_every", "rope_frac", "rope_base_local", "ve_layers", "xsa",
    "xsa_layers", "mudd", "mudd_layers", "mudd_taps", "mudd_tap_idx", "mudd_mlp",
    "softcap_logits", "lm_head_precision_mode",
}  # fmt: skip

OPTIONAL = {
    "torch_dtype", "dtype", "rope_n_pairs", "rope_base_global", "bos_token_id", "eos_token_id",
    "pad_token_id", "mudd_at", "mlp_ratio", "source_format", "checkpoint_step",
    "checkpoint_world_size", "source_metadata_assumptions", "transformers_version", "auto_map",
    "use_cache", "_name_or_path",
}  # fmt: skip
"""Provenance, what other files say better, and what cannot be reached without global rotary."""

PRECISIONS = {"oracle_exact": "rounded", "fp32_accumulate": "float32"}


def spec_from_config(config: Mapping[str, Any]) -> ModelSpec:
    """The spec of a published ``config.json``. All that is wrong with it is told at once."""
    known = {*SIZES, *FIXED, *READ, *OPTIONAL, "attention_dropout"}
    wrong: list[Mistake] = []

    def refuse(field: str, why: str) -> None:
        wrong.append(Mistake(why, path=field))

    for field in sorted(set(config) - known):
        refuse(field, f"unknown field{did_you_mean(field, known)}")
    for field in sorted({*SIZES, *FIXED, *READ} - set(config)):
        refuse(field, "missing")
    for field, value in FIXED.items():
        if field in config and not _same(config[field], value):
            refuse(field, f"only {value!r} is implemented, got {config[field]!r}")
    for field in SIZES:
        if field in config and not _is_count(config[field]):
            refuse(field, f"expected a whole number of at least 0, got {config[field]!r}")
    if wrong:
        raise SettingsError(wrong)

    if config.get("attention_dropout", 0) != 0:
        refuse("attention_dropout", f"only 0 is implemented, got {config['attention_dropout']!r}")
    if config["padded_vocab_size"] != config["vocab_size"]:
        refuse("padded_vocab_size", f"must equal vocab_size, got {config['padded_vocab_size']!r}")
    if config["hidden_size"] != config["num_attention_heads"] * config["head_dim"]:
        refuse("hidden_size", "must equal num_attention_heads times head_dim")
    if not _is_count(config["sliding_window"]):
        refuse("sliding_window", f"expected a distance, got {config['sliding_window']!r}")
    if not isinstance(config["global_window"], int) or config["global_window"] >= 0:
        refuse("global_window", f"only -1 is implemented, got {config['global_window']!r}")
    if config["lm_head_precision_mode"] not in PRECISIONS:
        known_modes = ", ".join(map(repr, PRECISIONS))
        mode = config["lm_head_precision_mode"]
        refuse("lm_head_precision_mode", f"expected one of {known_modes}, got {mode!r}")
    cap = config["softcap_logits"]
    if not isinstance(cap, Mapping) or set(cap) != {"kind", "a", "b", "c"}:
        refuse("softcap_logits", f"expected kind, a, b and c, got {cap!r}")
    elif cap["kind"] != "sigmoid":
        refuse("softcap_logits", f"only 'sigmoid' is implemented, got {cap['kind']!r}")
    for field in ("global_layers", "ve_layers", "xsa_layers", "mudd_layers"):
        numbers = config[field]
        if not isinstance(numbers, list) or not all(map(_is_count, numbers)):
            refuse(field, f"expected a list of layer numbers, got {numbers!r}")
    _check_taps(config, refuse)
    if wrong:
        raise SettingsError(wrong)
    return _spec(config)


def _check_taps(config: Mapping[str, Any], refuse: Any) -> None:
    taps, layers = config["mudd_tap_idx"], config["mudd_layers"]
    if not isinstance(taps, Mapping) or sorted(taps, key=str) != sorted(map(str, layers)):
        refuse("mudd_tap_idx", f"its keys must equal mudd_layers, got {taps!r}")
    elif any(len(states) != config["mudd_taps"] for states in taps.values()):
        refuse("mudd_tap_idx", f"every list must have mudd_taps entries, got {taps!r}")


def _spec(config: Mapping[str, Any]) -> ModelSpec:
    every, layers = config["global_every"], config["num_hidden_layers"]
    named = tuple(config["global_layers"])
    pattern = _is_count(every) and every > 0 and named == tuple(range(every - 1, layers, every))
    attention = {"type": "local-global", "window": config["sliding_window"] + 1}
    attention |= {"global_every": every} if pattern else {"global_layers": named}
    pairs = config.get("rope_n_pairs")
    if pairs is None:
        pairs = max(1, int(config["head_dim"] * config["rope_frac"]) // 2)
    mixing = bool(config["mudd"])
    cap = config["softcap_logits"]
    fields: dict[str, Any] = {ours: config[theirs] for theirs, ours in SIZES.items()}
    try:
        return ModelSpec(
            **fields,
            attention=attention_component(attention),
            attention_scale=config["attention_softmax_scale"],
            rope_pairs=pairs,
            rope_base=config["rope_base_local"],
            value_layers=tuple(config["ve_layers"]),
            xsa_layers=tuple(config["xsa_layers"]) if config["xsa"] else (),
            mudd_layers=tuple(config["mudd_layers"]) if mixing else (),
            mudd_taps=tuple(tuple(config["mudd_tap_idx"][str(i)]) for i in config["mudd_layers"])
            if mixing
            else (),
            mudd_residual=config["mudd_mlp"],
            cap=(cap["a"], cap["b"], cap["c"]),
            head_precision=PRECISIONS[config["lm_head_precision_mode"]],
        )
    except (ValueError, TypeError) as error:
        raise LimiteError(f"the published configuration makes no model: {error}") from error


def config_from_spec(spec: ModelSpec) -> dict[str, Any]:
    """The ``config.json`` of a model, for which ``spec_from_config`` gives the filled spec back.

    Its attention must be one the format can say: ``local-global``, ``local`` or ``global``.
    """
    spec = spec.filled()
    if spec.width != spec.heads * spec.head_width:
        raise LimiteError(
            f"a Limite config.json needs a width of heads times head_width "
            f"({spec.heads * spec.head_width}), got {spec.width}"
        )
    window, global_layers, every = _pattern(spec)
    assert spec.mudd_layers is not None
    assert spec.mudd_taps is not None
    assert spec.xsa_layers is not None
    assert spec.value_layers is not None
    bound, shift, spread = spec.cap
    precision = {ours: theirs for theirs, ours in PRECISIONS.items()}[spec.head_precision]
    return {
        **FIXED,
        **{theirs: getattr(spec, ours) for theirs, ours in SIZES.items()},
        "padded_vocab_size": spec.padded_vocabulary,
        "attention_softmax_scale": spec.attention_scale,
        "sliding_window": window - 1,
        "global_window": -1,
        "global_layers": list(global_layers),
        "global_every": every,
        "rope_frac": 2 * (spec.rope_pairs or 0) / spec.head_width,
        "rope_n_pairs": spec.rope_pairs,
        "rope_base_local": spec.rope_base,
        "rope_base_global": spec.rope_base,
        "ve_layers": list(spec.value_layers),
        "xsa": bool(spec.xsa_layers),
        "xsa_layers": list(spec.xsa_layers),
        "mudd": bool(spec.mudd_layers),
        "mudd_layers": list(spec.mudd_layers),
        "mudd_taps": len(spec.mudd_taps[0]) if spec.mudd_taps else 0,
        "mudd_tap_idx": {
            str(layer): list(states)
            for layer, states in zip(spec.mudd_layers, spec.mudd_taps, strict=True)
        },
        "mudd_mlp": spec.mudd_residual,
        "softcap_logits": {"kind": "sigmoid", "a": bound, "b": shift, "c": spread},
        "lm_head_precision_mode": precision,
    }


def _pattern(spec: ModelSpec) -> tuple[int, tuple[int, ...], int]:
    """The window, the global layers, and how often there is one, of the model's attention."""
    component: Any = attention_component(spec.attention)
    plain = unstructured(component)
    kind = plain.pop("type")
    layers = range(spec.layers)
    if kind == "local-global" and not component.global_rotary:
        chosen = tuple(i for i in layers if component.is_global(i))
        return component.window, chosen, component.global_every
    if kind == "local" and component.rotary:
        return component.window, (), spec.layers + 1
    if kind == "global" and not component.rotary:
        return 1, tuple(layers), 1
    raise LimiteError(
        f"a Limite config.json cannot say the attention {kind!r} with {plain}; it knows "
        "local layers with rotary positions and global ones without"
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _same(value: Any, wanted: Any) -> bool:
    """Equal, and not by way of 1 == True."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
