"""Attention over the last few tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from attrs.validators import and_, ge, le

from limite.core.model.spec import AttentionShape

if TYPE_CHECKING:
    from limite.core.model.attention import AttentionMixer


@attrs.frozen(kw_only=True)
class Local:
    """Every token sees the last ``window`` tokens of its row, itself among them.

    Published configurations give ``sliding_window``, the largest distance: one less.
    """

    window: int = attrs.field(
        default=16, validator=and_(ge(1), le(2**24)), metadata={"unit": "tokens"}
    )
    rotary: bool = True

    def build(self, shape: AttentionShape) -> AttentionMixer:
        from limite.plugins.attention.window import WindowMixer

        return WindowMixer(shape, window=self.window, rotary=self.rotary)
