"""The determinant form of 2-simplicial scores, said in the trilinear one, and its turns."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from limite.core.kernels.slots import bucket


def doubled_width(width: int) -> int:
    """Channels of heads of ``width`` after ``doubled``: a power of two, which kernels take."""
    return 1 << (max(width, 2 * (width // 3 * 3)) - 1).bit_length()


def doubled(
    q: Tensor, k1: Tensor, k2: Tensor, v1: Tensor, v2: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Streams ``[N, heads, D]`` whose trilinear scores are sums of determinants of the given.

    By the rule of Sarrus ``det[a, b, c]`` is the sum over channels of ``a b' c''`` less that of
    ``a b'' c'``, where a prime takes the next of the three channels: two trilinear forms, so one
    of twice the width. Values gain zeros.
    """
    width = q.shape[-1]
    used, wide = width // 3 * 3, doubled_width(width)

    def rolled(x: Tensor, by: int) -> Tensor:
        return torch.unflatten(x[..., :used], -1, (-1, 3)).roll(-by, -1).flatten(-2)

    def joined(*parts: Tensor) -> Tensor:
        x = torch.cat(parts, -1)
        return F.pad(x, (0, wide - x.shape[-1]))

    return (
        joined(q[..., :used], q[..., :used]),
        joined(rolled(k1, 1), -rolled(k1, 2)),
        joined(rolled(k2, 2), rolled(k2, 1)),
        joined(v1),
        joined(v2),
    )


class TripleTurns:
    """Turns every triple of channels about its third by its token's position.

    The angle of triple l is ``position base^-(l / (triples - 1))``, as pairs have it elsewhere.
    Determinants do not change when all three of their vectors turn alike, so scores depend on
    differences of positions alone.
    """

    def __init__(self, width: int, base: float) -> None:
        self.triples, self.base = width // 3, base
        self._tables: dict[tuple[int, torch.dtype, torch.device], tuple[Tensor, Tensor]] = {}

    def at(self, positions: Tensor, longest: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines ``[N, 1, triples]`` of ``positions [N]``, all below ``longest``."""
        rows = bucket(longest)  # whole tables alone: an entry must not depend on what is asked for
        name = (rows, dtype, positions.device)
        if name not in self._tables:
            turn = self.base ** -torch.linspace(0, 1, self.triples, dtype=torch.float64)
            angle = torch.arange(rows, dtype=torch.float64)[:, None] * turn
            cos, sin = (x.to(positions.device, dtype) for x in (angle.cos(), angle.sin()))
            self._tables = {name: (cos, sin)}
        cos, sin = self._tables[name]
        return cos[positions][:, None], sin[positions][:, None]

    def turned(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """``x [N, heads, D]``; channels that fill no triple are left as they are."""
        used = 3 * self.triples
        first, second, third = torch.unflatten(x[..., :used], -1, (-1, 3)).unbind(-1)
        parts = (cos * first - sin * second, sin * first + cos * second, third)
        return torch.cat((torch.stack(parts, -1).flatten(-2), x[..., used:]), -1)
