"""The turns of rotary positions, for some tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import attrs
import torch
from torch import Tensor

from limite.core.kernels.faults import Fault, refuse_any, tensors, whole_numbers

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
    origin: tuple[RotationTable, Tensor] | None = None  # the table, and each token's position
    memo: dict[Any, Any] = attrs.field(factory=dict, init=False, repr=False)

    @property
    def pairs(self) -> int:
        return self.cos.shape[-1]


@attrs.define(eq=False, slots=False)
class RotationTable:
    """Cosines and sines of the turns at every position, ``[context, pairs]``.

    Built once for a model; ``memo`` holds what implementations derive.
    """

    cos: Tensor
    sin: Tensor
    style: Style = "adjacent"
    memo: dict[Any, Any] = attrs.field(factory=dict, init=False, repr=False)

    def at(self, positions: Tensor) -> Rotation:
        """The turns of tokens at ``positions [...]``."""
        try:
            cos, sin = (torch.embedding(table, positions) for table in (self.cos, self.sin))
        except (
            IndexError,
            RuntimeError,
            TypeError,
        ):  # on a GPU, not waited for, the device asserts
            refuse_any("RotationTable.at", _faults(self, positions))
            raise
        return Rotation(cos, sin, self.style, (self, positions))


def _faults(table: RotationTable, positions: object) -> Iterator[Fault]:
    yield from tensors(cos=table.cos, sin=table.sin, positions=positions)
    found = list(whole_numbers("positions", positions, "cos", table.cos))
    yield from found
    if isinstance(positions, Tensor) and not found and positions.device.type == "cpu":
        context = min(len(table.cos), len(table.sin))
        first, last = int(positions.min()), int(positions.max())
        if first < 0 or last >= context:
            yield "positions", f"places below the {context} of the table", f"{first} to {last}"
