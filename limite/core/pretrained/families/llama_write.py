"""A spec of Llama's family as the ``config.json`` that others read."""

from __future__ import annotations

from typing import Any

from limite.core.errors import LimiteError, did_you_mean
from limite.core.model.llama.spec import LlamaSpec
from limite.core.model.resolve import attention_component, unstructured
from limite.core.pretrained.families.llama_fields import ARCHITECTURES, SIZES, Architecture
from limite.core.pretrained.families.llama_rope import write_rope


def config_from_spec(
    spec: LlamaSpec, architecture: str | None = None, *, dtype: str | None = None
) -> dict[str, Any]:
    """The ``config.json`` of a model: ``spec_from_config`` gives the filled spec back.

    ``architecture`` is one that has all the spec asks for; None takes the first that has. How the
    head's product is rounded is no part of the file, and neither is the number of ids that mean
    something. ``dtype`` is that of the weights beside it, as ``"bfloat16"``.
    """
    spec = spec.filled()
    if architecture is not None and architecture not in ARCHITECTURES:
        near = did_you_mean(architecture, ARCHITECTURES)
        raise LimiteError(
            f"unknown architecture {architecture!r}{near}; there are {', '.join(ARCHITECTURES)}"
        )
    window, seeing = _windows(spec)
    names = list(ARCHITECTURES) if architecture is None else [architecture]
    faults = {name: _faults(spec, ARCHITECTURES[name], seeing) for name in names}
    fitting = [name for name in names if not faults[name]]
    if not fitting:
        told = "\n".join(f"{name}: {'; '.join(why)}" for name, why in faults.items())
        raise LimiteError(f"no config.json can say what this model is:\n{told}")
    return _config(spec, fitting[0], window, seeing, dtype)


def _faults(spec: LlamaSpec, architecture: Architecture, seeing: list[bool]) -> list[str]:
    """Why the architecture is not this model's."""
    wrong = []
    if spec.query_key_norm != architecture.norm:
        wrong.append("its query_key_norm is " + str(architecture.norm).lower())
    if architecture.bias is None:
        if spec.query_key_value_bias != spec.output_bias:
            wrong.append("its query_key_value_bias and output_bias are the same")
    else:
        if spec.query_key_value_bias != architecture.bias:
            wrong.append("its query_key_value_bias is " + str(architecture.bias).lower())
        if spec.output_bias:
            wrong.append("its output_bias is false")
    if spec.mlp_bias and not architecture.mlp_bias:
        wrong.append("its mlp_bias is false")
    if any(seeing) and architecture.windows == "none":
        wrong.append("its layers see everything")
    if len(set(seeing)) > 1 and architecture.windows == "all":
        wrong.append("all of its layers see the same")
    if spec.attention_scale != spec.head_width**-0.5:
        wrong.append("its attention_scale is head_width to the power of -1/2")
    if spec.width % spec.heads:
        wrong.append(f"its width is a multiple of its heads ({spec.heads})")
    return wrong


def _windows(spec: LlamaSpec) -> tuple[int | None, list[bool]]:
    """The window, and whether each layer sees only that."""
    component: Any = attention_component(spec.attention)
    plain = unstructured(component)
    kind = plain.pop("type")
    if kind == "global" and component.rotary:
        return None, [False] * spec.layers
    if kind == "local" and component.rotary:
        return component.window, [True] * spec.layers
    if kind == "local-global":
        seeing = [not component.is_global(layer) for layer in range(spec.layers)]
        if component.global_rotary or all(seeing):
            return component.window, seeing
    raise LimiteError(
        f"a config.json of Llama's family cannot say the attention {kind!r} with {plain}; it "
        "knows global and local layers, all of them with rotary positions"
    )


def _config(
    spec: LlamaSpec, name: str, window: int | None, seeing: list[bool], dtype: str | None
) -> dict[str, Any]:
    architecture = ARCHITECTURES[name]
    found: dict[str, Any] = {
        "architectures": [name],
        "model_type": architecture.model_type,
        **{theirs: getattr(spec, ours) for theirs, ours in SIZES.items()},
        "num_key_value_heads": spec.kv_heads,
        "head_dim": spec.head_width,
        "hidden_act": "silu",
        "rms_norm_eps": spec.norm_epsilon,
        "attention_dropout": 0.0,
        "tie_word_embeddings": spec.tied_head,
        **write_rope(spec.rope_base, spec.rope_scaling),
    }
    if architecture.bias is None:
        found["attention_bias"] = spec.output_bias
    if architecture.mlp_bias:
        found["mlp_bias"] = spec.mlp_bias
    if architecture.windows == "all":
        found["sliding_window"] = window
    if architecture.windows == "some":
        words = {False: "full_attention", True: "sliding_attention"}
        found["use_sliding_window"] = any(seeing)
        found["sliding_window"] = window if any(seeing) else None
        found["max_window_layers"] = seeing.index(True) if any(seeing) else spec.layers
        found["layer_types"] = [words[short] for short in seeing]
    if dtype is not None:
        found |= {"dtype": dtype, "torch_dtype": dtype}
    return found
