"""One decoding step: how far each row has come."""

from __future__ import annotations

from typing import Any

import attrs
from torch import Tensor


@attrs.define(eq=False, slots=False)  # not frozen: the compiler cannot trace that constructor
class Moment:
    """The tokens each row has, the one at hand included, and what layers share within the step.

    Built once per step. ``longest``, the largest of ``lengths`` or more, is known to the host, so
    that no layer waits for the device; so is ``shortest``, the smallest or less, or it is found out
    when it is asked for. How wide they are changes no bit of a result.
    """

    lengths: Tensor  # [B] tokens
    longest: int
    memo: dict[Any, Any] = attrs.field(factory=dict, init=False, repr=False)
    _shortest: int | None = None

    @classmethod
    def of(cls, lengths: Tensor) -> Moment:
        return cls(lengths, int(lengths.max()) if lengths.numel() else 0)

    @property
    def shortest(self) -> int:
        """The smallest of ``lengths``, or less; 0 where there are none."""
        if self._shortest is None:
            self._shortest = int(self.lengths.min()) if self.lengths.numel() else 0
        return self._shortest
