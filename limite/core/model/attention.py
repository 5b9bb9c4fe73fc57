"""What the attention of one layer is to the block around it."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment


class LayerCache:
    """What one layer remembers of each row. The cache around it asks no more than this."""

    def select(self, rows: Tensor) -> LayerCache:
        """The cache of the given rows, in that order; a row may be asked for more than once."""
        raise NotImplementedError

    def replace(self, rows: Tensor, source: LayerCache) -> None:
        """Overwrites ``rows`` with the rows of ``source``, one for one."""
        raise NotImplementedError


class AttentionMixer(nn.Module):
    """Mixes the values of one layer. The block owns projections, norms, rotary and gates.

    All methods take ``queries [N, heads, D]``, ``keys`` and ``values [N, kv_heads, D]``, ready for
    use (normalised, rotated where ``rotary`` says so, value embeddings added), and the normalised
    attention input ``inputs [N, width]``, which a mixer with parameters of its own may read. They
    return ``[N, heads, D]``. Query head h belongs to key/value head h // (heads / kv_heads).

    A row's result must not depend on the other rows; in ``extend`` and ``step`` not even by a bit.
    """

    operations: ClassVar[tuple[str, ...]] = ("attention", "attention_decode")
    """The operations of the kernel core it calls, for ``limite check`` to tell of."""

    rotary: bool = False
    """Whether the block turns queries and keys by their positions."""

    window: int | None = None
    """How many tokens one sees, itself included; None: all before it."""

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, layout: Layout
    ) -> Tensor:
        """Whole rows: token p of a row sees the row's tokens up to p."""
        raise NotImplementedError

    def new_cache(
        self, rows: int, capacity: int, dtype: torch.dtype, device: torch.device
    ) -> LayerCache:
        """An empty cache for ``rows`` rows of up to ``capacity`` tokens."""
        raise NotImplementedError

    def extend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        layout: Layout,
        cache: Any,
        before: tuple[int, ...],
    ) -> Tensor:
        """A chunk for each row, after the ``before [B]`` tokens which the cache has seen."""
        raise NotImplementedError

    def step(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        cache: Any,
        moment: Moment,
    ) -> Tensor:
        """One token for each row of the cache: ``N`` is the number of rows.

        The lengths of ``moment`` count this token.
        """
        raise NotImplementedError
