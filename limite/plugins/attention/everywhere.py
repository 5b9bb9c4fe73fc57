"""Attention over everything before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from limite.core.model.spec import AttentionShape

if TYPE_CHECKING:
    from limite.core.model.attention import AttentionMixer


@attrs.frozen(kw_only=True)
class Global:
    """Every token sees its whole row up to itself.

    Limite's global layers carry no position; ``rotary`` gives them one, which a model without
    local layers wants.
    """

    rotary: bool = False

    def build(self, shape: AttentionShape) -> AttentionMixer:
        from limite.plugins.attention.window import WindowMixer

        return WindowMixer(shape, window=None, rotary=self.rotary)
