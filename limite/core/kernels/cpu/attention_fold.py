"""Heads and tokens as batched products want them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from limite.core.kernels.layout import Layout


def fold(padded: Tensor, kv_heads: int) -> Tensor:
    """``[b, T, K * G, D]`` to ``[b * K, T * G, D]``; a view when there is one key/value head.

    Key/value heads go with the rows, and a group's heads with the queries.
    """
    rows, length, heads, width = padded.shape
    if kv_heads == 1:
        return padded.reshape(rows, length * heads, width)
    split = padded.reshape(rows, length, kv_heads, heads // kv_heads, width).transpose(1, 2)
    return split.reshape(rows * kv_heads, length * heads // kv_heads, width)


def unfold(folded: Tensor, rows: int, length: int) -> Tensor:
    """The way back: ``[b, T, K * G, D]``."""
    split = folded.view(rows, len(folded) // rows, length, -1, folded.shape[-1])
    return split.transpose(1, 2).flatten(2, 3)


def cut(streams: Tensor, layout: Layout) -> list[Tensor]:
    """``[1, heads, N, D]`` as blocks ``[b, T, heads, D]`` of padded rows."""
    return layout.pad(streams.squeeze(0).transpose(0, 1))


def spread(gradient: Tensor, layout: Layout) -> list[Tensor]:
    """As ``cut``, with zeros in the padding."""
    return layout.spread(gradient.squeeze(0).transpose(0, 1))


def pieces(blocks: Sequence[Tensor], rows: Sequence[int]) -> list[Tensor]:
    """Blocks cut into pieces of so many rows each, in order; they join as the blocks do."""
    found, left = [], iter(rows)
    for block in blocks:
        first = 0
        while first < len(block):
            count = next(left)
            found.append(block[first : first + count])
            first += count
    return found


def join(blocks: Sequence[Tensor], layout: Layout) -> Tensor:
    """Blocks ``[b, T, heads, D]`` to ``[1, heads, N, D]``, which is a view."""
    return layout.unpad(blocks).transpose(0, 1)[None]
