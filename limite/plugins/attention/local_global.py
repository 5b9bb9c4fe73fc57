"""Limite's pattern: local layers, and now and then a global one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from attrs.validators import and_, ge, le

from limite.core.model.spec import AttentionShape
from limite.core.validators import layer_numbers
from limite.plugins.attention.everywhere import Global
from limite.plugins.attention.local import Local

if TYPE_CHECKING:
    from limite.core.model.attention import AttentionMixer


@attrs.frozen(kw_only=True)
class LocalGlobal:
    """Local attention with rotary positions; every ``global_every``-th layer global, without.

    With 4: layers 3, 7, 11, ... counted from 0. ``global_layers`` names them instead.
    ``global_rotary`` gives them rotary positions too, as Qwen has them.
    """

    window: int = attrs.field(
        default=16, validator=and_(ge(1), le(2**24)), metadata={"unit": "tokens"}
    )
    global_every: int = attrs.field(
        default=4, validator=and_(ge(1), le(2**24)), metadata={"unit": "layers"}
    )
    global_layers: tuple[int, ...] | None = attrs.field(default=None, validator=layer_numbers)
    global_rotary: bool = False

    def is_global(self, layer: int) -> bool:
        if self.global_layers is not None:
            return layer in self.global_layers
        return layer % self.global_every == self.global_every - 1

    def build(self, shape: AttentionShape) -> AttentionMixer:
        if self.is_global(shape.layer):
            return Global(rotary=self.global_rotary).build(shape)
        return Local(window=self.window).build(shape)
