"""2-simplicial attention over windows of a row, at once and from four rings."""

from __future__ import annotations

from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from limite.core.kernels import ops
from limite.core.kernels.layout import Layout
from limite.core.kernels.moment import Moment
from limite.core.kernels.slots import bucket
from limite.core.model.attention import AttentionMixer, LayerCache
from limite.core.model.branches import Branches
from limite.core.model.spec import AttentionShape
from limite.core.model.weights import Matrix
from limite.core.seeds import Seeds
from limite.plugins.attention.chunks import SingleTokens, single_tokens
from limite.plugins.attention.keyvalue import KeyValueCache
from limite.plugins.attention.triples import TripleTurns, doubled, doubled_width

Streams = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
"""Queries ``[N, heads, D]``, then ``[N, kv_heads, D]``: first and second keys, and values."""


class PairCache(LayerCache):
    """First keys and values of the last ``window1`` tokens, second ones of the last ``window2``."""

    def __init__(self, first: KeyValueCache, second: KeyValueCache) -> None:
        self.first, self.second = first, second

    @property
    def bytes(self) -> int:
        return self.first.bytes + self.second.bytes

    def select(self, rows: Tensor) -> PairCache:
        return PairCache(self.first.select(rows), self.second.select(rows))

    def replace(self, rows: Tensor, source: LayerCache) -> None:
        assert isinstance(source, PairCache)
        self.first.replace(rows, source.first)
        self.second.replace(rows, source.second)

    def leading(self, rows: int) -> PairCache:
        return PairCache(self.first.leading(rows), self.second.leading(rows))


class SimplicialMixer(AttentionMixer):
    """See ``Simplicial``. The block's keys and values are the first of each pair.

    Second keys are brought to unit root mean square, as the block does with first ones; nothing is
    added to second values. So where the block takes the token's own value out of the result (XSA),
    it is the first value's direction that goes, whatever second values have made of the rest.
    """

    operations: ClassVar[tuple[str, ...]] = (
        "simplicial_attention",
        "simplicial_attention_decode",
        "qk_norm_rope",
    )

    def __init__(
        self,
        shape: AttentionShape,
        *,
        window1: int,
        window2: int,
        form: str,
        rotary: bool,
        rotary_base: float,
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads = shape.heads, shape.kv_heads
        self.head_width, self.scale = shape.head_width, shape.scale
        self.window1, self.window2 = window1, window2
        self.window = max(window1, window2)
        self.determinant = form == "determinant"
        self.rotary = rotary and not self.determinant
        self.turns: TripleTurns | None = None
        if rotary and self.determinant and shape.head_width >= 3:
            self.turns = TripleTurns(shape.head_width, rotary_base)
        rows = shape.kv_heads * shape.head_width
        self.k2_proj = Matrix(rows, shape.width, torch.float32)
        self.v2_proj = Matrix(rows, shape.width, torch.float32)

    @property
    def words(self) -> str:
        return f"2-simplicial {self.window1} by {self.window2}"

    @torch.no_grad()
    def initialise(self, seeds: Seeds) -> None:
        """Normal with variance 1 / fan-in, as the block's own projections."""
        for name, parameter in self.named_parameters():
            values = torch.empty(parameter.shape, dtype=torch.float32, device="cpu")
            generator = seeds.torch_stream(name)
            parameter.copy_(values.normal_(0.0, parameter.shape[1] ** -0.5, generator=generator))

    @torch.no_grad()
    def start_as_parent(self) -> None:
        """Second keys and values become 1: ordinary attention over ``window1`` tokens.

        Every pair (j, k) then scores as j alone, so that the shares of a first token's pairs add
        up to its share in a softmax over first tokens.
        """
        for parameter in self.parameters():
            parameter.zero_()

    def arithmetic(self, tokens: int) -> int:
        width = doubled_width(self.head_width) if self.determinant else self.head_width
        met = min(tokens, max(self.window1, self.window2))
        pairs = sum(min(i, self.window1) * min(i, self.window2) for i in range(1, met + 1))
        pairs += (tokens - met) * self.window1 * self.window2
        return 4 * self.heads * width * pairs

    def _streams(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        positions: Tensor,
        longest: int,
    ) -> Streams:
        """All five as the operations take them; ``positions [N]`` are below ``longest``."""
        own = (self.kv_heads, self.head_width)
        second = (F.linear(inputs, self.k2_proj.weight) + 1).unflatten(-1, own)
        second_keys = ops.qk_norm_rope(second, None)
        second_values = (F.linear(inputs, self.v2_proj.weight) + 1).unflatten(-1, own)
        if self.turns is not None:
            turn = self.turns.at(positions, longest, queries.dtype)
            queries, keys, second_keys = (
                self.turns.turned(x, *turn) for x in (queries, keys, second_keys)
            )
        streams = (queries, keys, second_keys, values, second_values)
        return doubled(*streams) if self.determinant else streams

    def _mixed(self, streams: Streams, layout: Layout | None) -> Tensor:
        """A packed batch, or a single row whose queries are the last of its tokens."""
        q, k1, k2, v1, v2 = (x.transpose(0, 1)[None] for x in streams)
        out, _ = ops.simplicial_attention(
            q,
            k1,
            k2,
            v1,
            v2,
            scale=self.scale,
            window1=self.window1,
            window2=self.window2,
            segments=layout,
            need_lse=False,
        )
        return out.squeeze(0).transpose(0, 1)[..., : self.head_width]

    def forward(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, layout: Layout
    ) -> Tensor:
        place = (layout.positions, layout.longest)
        return self._mixed(self._streams(queries, keys, values, inputs, *place), layout)

    def branched(
        self, queries: Tensor, keys: Tensor, values: Tensor, inputs: Tensor, branches: Branches
    ) -> Tensor:
        place = (branches.positions, branches.longest)
        streams = self._streams(queries, keys, values, inputs, *place)
        rows = branches.whole(max(self.window1, self.window2) - 1)
        q, k1, k2, v1, v2 = (x.index_select(0, rows.tokens) for x in streams)
        return self._mixed((q, k1, k2, v1, v2), rows.layout).index_select(0, rows.places)

    def new_cache(
        self, rows: int, capacity: int, dtype: torch.dtype, device: torch.device
    ) -> PairCache:
        width = doubled_width(self.head_width) if self.determinant else self.head_width

        def ring(window: int) -> KeyValueCache:
            shape = (rows, self.kv_heads, min(bucket(capacity), window), width)
            keys, values = (torch.zeros(shape, dtype=dtype, device=device) for _ in range(2))
            return KeyValueCache(keys, values, by_channel=False)

        return PairCache(ring(self.window1), ring(self.window2))

    def extend(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        layout: Layout,
        cache: PairCache,
        before: tuple[int, ...],
    ) -> Tensor:
        # Rows one by one: the kernels cut a batch by the size of the whole.
        start = torch.tensor(before, device=layout.device)[layout.row_of]
        longest = max(map(sum, zip(before, layout.lengths, strict=True)))
        place = (layout.positions + start, longest)
        streams = self._streams(queries, keys, values, inputs, *place)
        out = torch.empty_like(queries)
        stop = 0
        for row, (length, seen) in enumerate(zip(layout.lengths, before, strict=True)):
            here = slice(stop, stop + length)
            stop += length
            if length > 1:
                q, k1, k2, v1, v2 = (x[here] for x in streams)
                reach = min(seen, max(self.window1, self.window2) - 1)
                if reach:
                    k1, v1 = _after(cache.first, row, seen, reach, k1, v1)
                    k2, v2 = _after(cache.second, row, seen, reach, k2, v2)
                out[here] = self._mixed((q, k1, k2, v1, v2), None)
        _, k1, k2, v1, v2 = streams
        cache.first.append(k1, v1, layout, before)
        cache.second.append(k2, v2, layout, before)
        memo = "single tokens"
        if memo not in layout.memo:
            layout.memo[memo] = single_tokens(layout, before)
        single: SingleTokens | None = layout.memo[memo]
        if single is not None:
            held = cache if single.rows is None else cache.select(single.rows)
            mixed = self._decode(streams[0].index_select(0, single.tokens), held, single.moment)
            out.index_copy_(0, single.tokens, mixed)
        return out

    def step(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        inputs: Tensor,
        cache: PairCache,
        moment: Moment,
    ) -> Tensor:
        place = (moment.lengths - 1, moment.longest)
        q, k1, k2, v1, v2 = self._streams(queries, keys, values, inputs, *place)
        cache.first.append_one(k1, v1, moment)
        cache.second.append_one(k2, v2, moment)
        return self._decode(q, cache, moment)

    def _decode(self, queries: Tensor, cache: PairCache, moment: Moment) -> Tensor:
        out, _ = ops.simplicial_attention_decode(
            queries.unsqueeze(2),
            cache.first.keys,
            cache.second.keys,
            cache.first.values,
            cache.second.values,
            moment,
            scale=self.scale,
            window1=self.window1,
            window2=self.window2,
            need_lse=False,
        )
        return out.squeeze(2)[..., : self.head_width]


def _after(
    ring: KeyValueCache, row: int, seen: int, reach: int, keys: Tensor, values: Tensor
) -> tuple[Tensor, Tensor]:
    """A chunk ``[T, kv_heads, D]`` of a row after the last ``reach`` of the ``seen`` tokens.

    Zeros stand for those that the ring has let go: they lie outside its window.
    """
    held = min(reach, ring.slots)
    slots = torch.arange(seen - held, seen, device=keys.device) % ring.slots
    gone = (0, 0, 0, 0, reach - held, 0)

    def joined(store: Tensor, new: Tensor) -> Tensor:
        past = store[row].index_select(1, slots).transpose(0, 1)  # [held, kv_heads, D]
        return torch.cat((F.pad(past, gone), new))

    return joined(ring.keys, keys), joined(ring.values, values)
