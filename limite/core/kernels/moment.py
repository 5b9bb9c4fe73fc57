"""One decoding step: how far each row has come."""

from __future__ import annotations

from typing import Any

import attrs
from torch import Tensor


@attrs.define(eq=False, slots=False)  # not frozen: the compiler cannot trace that constructor
class Moment:
    """The tokens each row has, the one at hand included, and what layers share within the step.

    Built once per step. ``longest``, the largest of ``lengths``, is known to the host, so that no
    layer waits for the device.
    """

    lengths: Tensor  # [B] tokens
    longest: int
    memo: dict[Any, Any] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, lengths: Tensor) -> Moment:
        return cls(lengths, int(lengths.max()) if lengths.numel() else 0)
