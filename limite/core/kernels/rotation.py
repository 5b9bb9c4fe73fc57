"""The turns of rotary positions, for some tokens."""

from __future__ import annotations

from typing import Any, Literal

import attrs
from torch import Tensor

Style = Literal["adjacent", "halves"]


@attrs.define(eq=False, slots=False)  # not frozen: the compiler cannot trace that constructor
class Rotation:
    """Cosines and sines of each token's turns, ``[..., pairs]``, float32, perhaps rounded before.

    ``adjacent`` turns channels (2j, 2j+1) = (a, b) by minus theta, to (a cos + b sin,
    b cos - a sin), as Limite does. ``halves`` turns channels (j, j + pairs) by plus theta, to
    (a cos - b sin, b cos + a sin), as Llama and Qwen do. Channels from 2 * pairs on stay.

    Built once for a batch and used in every layer; ``memo`` holds what implementations derive.
    """

    cos: Tensor
    sin: Tensor
    style: Style = attrs.field(
        default="adjacent", validator=attrs.validators.in_(("adjacent", "halves"))
    )
    memo: dict[Any, Any] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def at(
        cls, cos_table: Tensor, sin_table: Tensor, positions: Tensor, style: Style = "adjacent"
    ) -> Rotation:
        """The turns of tokens at ``positions [...]``, from tables ``[context, pairs]``."""
        return cls(cos_table[positions], sin_table[positions], style)

    @property
    def pairs(self) -> int:
        return self.cos.shape[-1]
