"""Models of a known family with attention that the family's own configuration cannot say.

``config.json`` then has the ``model_type`` ``limite-variant``, which other readers do not know:
they refuse it, where they would otherwise compute something else. Under ``base`` is a configuration
of the family, under ``attention`` a component and its settings. What the base says of attention
means nothing; everything else it says holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs

from limite.core.errors import Mistake, SettingsError, did_you_mean
from limite.core.kinds import Attention
from limite.core.model.resolve import attention_component, unstructured
from limite.core.model.settings import DecoderSpec
from limite.core.pretrained.directory import family_of

KIND = "limite-variant"
FIXED: Mapping[str, Any] = {"architectures": ["LimiteVariantForCausalLM"], "model_type": KIND}
TABLES = ("base", "attention")
DTYPES = ("dtype", "torch_dtype")
OPTIONAL = (*DTYPES, "bos_token_id", "eos_token_id", "pad_token_id")
"""What is said beside the base and not in it, and what other files say better."""


def spec_from_config(config: Mapping[str, Any]) -> DecoderSpec:
    """The base's spec with the attention in place of its own. All mistakes are told at once."""
    known = (*FIXED, *TABLES, *OPTIONAL)
    wrong = [
        Mistake(f"unknown field{did_you_mean(field, known)}", field)
        for field in sorted(set(config) - set(known))
    ]
    wrong += [Mistake("missing", field) for field in (*FIXED, *TABLES) if field not in config]
    wrong += [
        Mistake(f"only {value!r} is implemented, got {config[field]!r}", field)
        for field, value in FIXED.items()
        if field in config and config[field] != value
    ]
    wrong += [
        Mistake(f"expected a table, got {config[field]!r}", field)
        for field in TABLES
        if field in config and not isinstance(config[field], Mapping)
    ]
    if wrong:
        raise SettingsError(wrong)
    base, attention = config["base"], config["attention"]
    wrong += [
        Mistake(
            f"must be the same beside 'base', which says {config.get(field)!r}", f"base.{field}"
        )
        for field in DTYPES
        if field in base and base[field] != config.get(field)
    ]
    spec, component = None, None
    try:
        spec = _base(base)
    except SettingsError as error:
        wrong += _below("base", error)
    try:
        component = attention_component(attention)
    except SettingsError as error:
        wrong += _below("attention", error)
    if wrong:
        raise SettingsError(wrong)
    assert spec is not None
    assert component is not None
    return with_attention(spec, component)


def _base(config: Mapping[str, Any]) -> DecoderSpec:
    if config.get("model_type") == KIND:
        raise SettingsError([Mistake("a variant cannot be the base of another", "model_type")])
    return family_of(config).spec_from_config(config)


def _below(field: str, error: SettingsError) -> list[Mistake]:
    return [
        attrs.evolve(each, path=f"{field}.{each.path}" if each.path else field)
        for each in error.mistakes
    ]


def with_attention(spec: DecoderSpec, attention: Attention | str) -> DecoderSpec:
    """The same model with another attention in all of its layers."""
    changed: DecoderSpec = attrs.evolve(cast(Any, spec), attention=attention)
    return changed


def base_of(spec: DecoderSpec) -> DecoderSpec:
    """The same model with the attention that its family has where nothing is said."""
    default: Any = attrs.fields_dict(cast(Any, type(spec)))["attention"].default
    return with_attention(spec, default if isinstance(default, str) else default.factory())


def config_around(base: Mapping[str, Any], attention: Attention | str) -> dict[str, Any]:
    """The configuration of ``base``'s model with ``attention``."""
    return {**FIXED, "base": dict(base), "attention": unstructured(attention_component(attention))}
