"""Products of rows with a matrix that many of them meet, compiled: it is packed beforehand."""

from __future__ import annotations

import attrs
from torch import Tensor

from limite.core.kernels.native.library import parts, run

COLUMNS = 16  # of a panel, as in source/product.c
PER_ELEMENT = 45
"""Products and sums of two numbers that take as long as one element in what ``parts`` counts in."""


@attrs.frozen(eq=False)
class Packed:
    """A matrix ``[input, output]`` in panels of columns, as a product reads it.

    Every element of a product is one sum over the input, in its order: what a row gets depends on
    no other row, by no bit, and not on how many there are.
    """

    panels: Tensor  # [ceil(output / 16), input, 16], zeros beyond the last column
    columns: int

    @classmethod
    def of(cls, weight: Tensor) -> Packed:
        """Of ``weight [output, input]``, float32 on a CPU."""
        columns, inner = weight.shape
        whole = -(-columns // COLUMNS)
        rows = weight.new_zeros(whole * COLUMNS, inner)
        rows[:columns] = weight
        return cls(rows.view(whole, COLUMNS, inner).transpose(1, 2).contiguous(), columns)

    def __call__(
        self, inputs: Tensor, more: Tensor | None = None, *, keep: float = 1.0, scale: float = 1.0
    ) -> Tensor:
        """``keep more + scale (inputs matrix)``: ``inputs [R, input]`` to ``[R, output]``.

        ``more`` is ``[R, output]``, or ``[output]`` for all rows the same.
        """
        if inputs.stride(1) != 1:
            inputs = inputs.contiguous()
        rows, inner = inputs.shape
        if more is not None and more.stride(-1) != 1:
            more = more.contiguous()
        result = inputs.new_empty(rows, self.columns)
        bounds = parts(len(self.panels), rows * inner * self.columns // PER_ELEMENT)
        run(
            "product",
            bounds,
            inputs,
            inputs.stride(0),
            rows,
            inner,
            self.panels,
            more,
            more.stride(0) if more is not None and more.dim() == 2 else 0,
            keep,
            scale,
            result,
            self.columns,
        )
        return result
