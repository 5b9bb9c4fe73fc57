"""The ``config.json`` of the model in a GGUF file. What is not understood is refused by name.

Nothing is guessed: a field of the architecture that is not read below is a mistake, and so is a
value that changes the computation in a way that no configuration of ours can say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import numpy as np

from limite.core.errors import Mistake, did_you_mean

ROPE_FACTORS = "rope_freqs.weight"
"""The tensor in which Llama 3.1 and later keep what each rotary frequency is divided by."""


@attrs.frozen(kw_only=True)
class Architecture:
    """A family, as transformers calls it, and how its tensors differ from Llama's."""

    class_name: str
    permuted: bool = False  # llama.cpp turns adjacent pairs where transformers turns halves
    query_bias: bool = False  # always there; a Llama may have biases, on all four projections
    head_norms: bool = False


ARCHITECTURES: Mapping[str, Architecture] = {
    "llama": Architecture(class_name="LlamaForCausalLM", permuted=True),
    "qwen2": Architecture(class_name="Qwen2ForCausalLM", query_bias=True),
    "qwen3": Architecture(class_name="Qwen3ForCausalLM", head_norms=True),
}
"""What can be imported: the file's ``general.architecture``, which is also the ``model_type``."""

_COUNTS = {
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
}
"""Whole numbers that must be there, and the field of ``config.json`` each becomes."""

_READ = {
    *_COUNTS, "attention.head_count_kv", "attention.key_length", "attention.value_length",
    "attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.dimension_count", "vocab_size",
    "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length",
}  # fmt: skip

_INDIFFERENT: Mapping[str, Any] = {
    "expert_count": 0,
    "expert_used_count": 0,
    "attention.causal": True,
    "attention.sliding_window": 0,
    "rope.scale_linear": 1.0,
    "rope.scaling.attn_factor": 1.0,
    "rope.scaling.yarn_log_multiplier": 0.0,
    "rope.scaling.yarn_ext_factor": 1.0,
    "rope.scaling.yarn_attn_factor": 1.0,
    "rope.scaling.yarn_beta_fast": 32.0,
    "rope.scaling.yarn_beta_slow": 1.0,
    "tensor_data_layout": "Meta AI original pth",
}
"""Fields with the one value at which they change nothing."""

_REMARKS = {"rope.scaling.finetuned"}
"""Fields that tell how a model came about."""


class Mistakes:
    """Collects what is wrong in one file; ``at`` is the metadata field or the tensor."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Mistake] = []

    def add(self, at: str, message: str) -> None:
        self.found.append(Mistake(message, path=at, file=self.file))


def architecture_of(metadata: Mapping[str, Any], wrong: Mistakes) -> Architecture | None:
    """The family of the model, if it is one that can be imported."""
    kind = metadata.get("general.type", "model")
    if kind != "model":
        wrong.add("general.type", f"expected 'model', got {kind!r}")
    if metadata.get("split.count", 1) not in (0, 1):
        wrong.add("split.count", "this is one part of several; merge them with llama-gguf-split")
    name = metadata.get("general.architecture")
    if isinstance(name, str) and name in ARCHITECTURES:
        return ARCHITECTURES[name]
    if not isinstance(name, str):
        wrong.add("general.architecture", "missing" if name is None else "expected text")
        return None
    known = ", ".join(map(repr, ARCHITECTURES))
    near = did_you_mean(name, ARCHITECTURES)
    wrong.add("general.architecture", f"{name!r} cannot be imported, only {known}{near}")
    return None


def config_from_metadata(
    metadata: Mapping[str, Any],
    architecture: Architecture,
    *,
    rope_factors: np.ndarray[Any, Any] | None,
    wrong: Mistakes,
) -> dict[str, Any]:
    """``config.json`` less what only the tensors tell. Mistakes go to ``wrong``.

    ``rope_factors`` is the tensor of that name. With mistakes, what is returned is not complete.
    """
    family = metadata["general.architecture"]
    fields = {
        key.removeprefix(f"{family}."): value
        for key, value in metadata.items()
        if key.startswith(f"{family}.")
    }

    def refuse(field: str, message: str) -> None:
        wrong.add(f"{family}.{field}", message)

    for field in sorted(set(fields) - _READ - set(_INDIFFERENT) - _REMARKS):
        refuse(field, f"unknown field{did_you_mean(field, _READ)}")
    for field, value in _INDIFFERENT.items():
        if field in fields and not _same(fields[field], value):
            refuse(field, f"only {value!r} is understood, got {fields[field]!r}")
    config: dict[str, Any] = {
        "architectures": [architecture.class_name],
        "model_type": family,
        "hidden_act": "silu",
    }
    for field, name in _COUNTS.items():
        config[name] = _count(fields, field, None, refuse)
    heads, width = config["num_attention_heads"], config["hidden_size"]
    config["num_key_value_heads"] = _count(fields, "attention.head_count_kv", heads, refuse)
    config["head_dim"] = _head_width(fields, heads, width, refuse)
    config["rms_norm_eps"] = _number(fields, "attention.layer_norm_rms_epsilon", None, refuse)
    config["rope_theta"] = _number(fields, "rope.freq_base", 10000.0, refuse)
    if (config["head_dim"] or 0) % 2:
        refuse("attention.key_length", f"heads must be of even width, got {config['head_dim']}")
    if heads and config["num_key_value_heads"] and heads % config["num_key_value_heads"]:
        refuse("attention.head_count_kv", f"must divide the {heads} heads")
    scaling = _scaling(fields, refuse)
    if rope_factors is not None:
        if scaling is not None:
            refuse("rope.scaling.type", f"cannot be joined with the tensor {ROPE_FACTORS}")
        elif not wrong.found:
            scaling = _llama3_scaling(rope_factors, config, wrong)
    if scaling is not None:
        config["rope_scaling"] = scaling
    return config


_Refuse = Callable[[str, str], None]


def _count(fields: Mapping[str, Any], field: str, default: int | None, refuse: _Refuse) -> Any:
    value = fields.get(field, default)
    if value is None and field not in fields:
        # A default that is None itself has been complained about where it comes from.
        if field in _COUNTS:
            refuse(field, "missing")
    elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
        refuse(field, f"expected a whole number of at least 1, got {_short(value)}")
        return None
    return value


def _number(fields: Mapping[str, Any], field: str, default: float | None, refuse: _Refuse) -> Any:
    value = fields.get(field, default)
    if value is None:
        refuse(field, "missing")
    elif not isinstance(value, float) or not 0.0 < value < float("inf"):
        refuse(field, f"expected a number above 0, got {_short(value)}")
        return None
    return value


def _head_width(
    fields: Mapping[str, Any], heads: int | None, width: int | None, refuse: _Refuse
) -> int | None:
    given = _count(fields, "attention.key_length", None, refuse)
    if given is None and heads and width:
        if width % heads:
            refuse("attention.head_count", f"must divide the width, {width}, got {heads}")
            return None
        given = width // heads
    for field, what in (
        ("attention.value_length", "values as wide as keys"),
        ("rope.dimension_count", "rotation of whole heads"),
    ):
        value = _count(fields, field, given, refuse)
        if given is not None and value is not None and value != given:
            refuse(field, f"only {what} ({given}) can be imported, got {value}")
    return int(given) if given is not None else None


def _scaling(fields: Mapping[str, Any], refuse: _Refuse) -> dict[str, Any] | None:
    kind = fields.get("rope.scaling.type", "none")
    if kind == "none":
        return None
    if kind not in ("linear", "yarn"):
        expected = "'none', 'linear' or 'yarn'"
        near = did_you_mean(str(kind), ("none", "linear", "yarn"))
        refuse("rope.scaling.type", f"expected {expected}, got {_short(kind)}{near}")
        return None
    scaling = {
        "rope_type": kind,
        "factor": _number(fields, "rope.scaling.factor", None, refuse),
    }
    if kind == "yarn":
        original = "rope.scaling.original_context_length"
        if original not in fields:
            refuse(original, "missing")
        else:
            scaling["original_max_position_embeddings"] = _count(fields, original, None, refuse)
    return scaling


def _llama3_scaling(
    factors: np.ndarray[Any, Any], config: Mapping[str, Any], wrong: Mistakes
) -> dict[str, Any] | None:
    """The rotary scaling of Llama 3.1 that gives ``factors``: its numbers are not in the file.

    All published models have 1, 4 and 8192 as its other numbers; those must give ``factors`` to
    the precision in which they are stored.
    """
    width = config["head_dim"]
    if factors.shape != (width // 2,) or not np.isfinite(factors).all() or factors.min() < 1:
        wrong.add(ROPE_FACTORS, f"expected {width // 2} numbers of at least 1")
        return None
    if (factors == 1).all():
        return None
    factor, low, high, original = float(factors.max()), 1.0, 4.0, 8192
    frequency = config["rope_theta"] ** -(np.arange(0, width, 2, dtype=np.float64) / width)
    turns = original * frequency / (2 * np.pi)
    blend = np.clip((turns - low) / (high - low), 0.0, 1.0)
    # Frequencies between the two bounds are blended, and those are divided by the factor or by 1.
    expected = 1.0 / ((1.0 - blend) / factor + blend)
    if not np.allclose(factors, expected, rtol=1e-4, atol=0.0):
        wrong.add(ROPE_FACTORS, "is a rotary scaling that is not understood; only Llama 3's is")
        return None
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": original,
    }


def _same(value: Any, wanted: Any) -> bool:
    """Equal, and not by way of 1 == True."""
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def _short(value: Any) -> str:
    return f"a list of {len(value)}" if isinstance(value, list) else repr(value)
