"""How a golden file spells settings, columns and metrics, beside how limite does."""

from __future__ import annotations

from typing import Any

import attrs

from limite.core.errors import LimiteError, did_you_mean
from limite.core.registry import Registry

PRESETS = {
    "grpo": "grpo",
    "dr_grpo": "dr-grpo",
    "dapo": "dapo",
    "gspo": "gspo",
    "cispo": "cispo",
    "dppo_binary_tv": "dppo",
    "dppo_binary_kl": "dppo",
}
"""Methods that a file may name by ``preset``, and the objective each of them is."""

LOSSES = {"ppo_clip", "gspo", "cispo", "dppo"}
"""What ``loss`` may say beside a preset; the preset decides."""

AGGREGATIONS = {
    "token_mean": "token-mean",
    "seq_mean_token_mean": "sequence-mean-token-mean",
    "seq_mean_token_sum": "sequence-mean-token-sum",
    "constant": "constant",
    "token_sum": "token-sum",
}
COLUMNS = {
    "behaviour_logp": "behavior_logp",
    "behaviour_topk_logp": "behavior_topk_logp",
    "old_values": "old_value",
    "values": "value",
    "targets": "value_target",
}
METRICS = {"mean_ratio": "ratio/mean", "approx_kl_k1": "kl/behavior_nats"}
SETTINGS = {"constant": "constant_tokens"}


def metric_name(spelled: str) -> str:
    """The name under which an objective reports a metric; its own names are taken as they are."""
    return spelled if "/" in spelled else METRICS.get(spelled, f"ratio/{spelled}")


def objective_class(registry: Registry, params: dict[str, Any]) -> type[Any]:
    """The installed objective that ``params`` names; a LimiteError with the nearest name else."""
    if "objective" in params:
        return registry.get("objective", str(params["objective"])).load()
    preset = params.get("preset")
    if preset is None:
        raise LimiteError("a case must name an objective: params.objective, or params.preset")
    if preset not in PRESETS:
        near = did_you_mean(str(preset), PRESETS) or f"; there are {', '.join(PRESETS)}"
        raise LimiteError(f"unknown preset {preset!r}{near}; params.objective takes any objective")
    return registry.get("objective", PRESETS[preset]).load()


def settings_of(kind: type[Any], spelled: dict[str, Any]) -> dict[str, Any]:
    """Settings of an objective from those of a case; unknown ones are a LimiteError."""
    known = {field.name for field in attrs.fields(kind) if field.init}
    settings: dict[str, Any] = {}
    for name, value in spelled.items():
        ours = name if name in known else SETTINGS.get(name, name)
        if ours not in known:
            near = did_you_mean(name, known) or f"; there are {', '.join(sorted(known))}"
            raise LimiteError(f"{kind.__name__} has no setting {name!r}{near}")
        settings[ours] = _value(ours, value)
    return settings


def _value(name: str, value: Any) -> Any:
    if name == "aggregation":
        return AGGREGATIONS.get(value, value)
    if name == "divergence" and isinstance(value, str):
        return value.replace("_", "-")
    return value
