"""The shape of a Limite decoder as settings."""

from __future__ import annotations

import attrs
from attrs.validators import ge

from limite.core.kinds import Attention


@attrs.frozen(kw_only=True)
class AttentionShape:
    """What the attention of one layer is built for."""

    layer: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    width: int
    scale: float


@attrs.frozen(kw_only=True)
class ModelSpec:
    """A Limite decoder: widths, depths, and which of its parts sit in which layer."""

    width: int = attrs.field(default=64, validator=ge(1))
    layers: int = attrs.field(default=4, validator=ge(1))
    heads: int = attrs.field(default=2, validator=ge(1))
    kv_heads: int = attrs.field(default=1, validator=ge(1))
    head_width: int = attrs.field(default=32, validator=ge(1))
    mlp_width: int = attrs.field(default=176, validator=ge(1))
    vocabulary: int | None = attrs.field(default=None)
    context: int = attrs.field(default=128, validator=ge(2), metadata={"unit": "tokens"})
    attention: Attention | str = "local-global"
