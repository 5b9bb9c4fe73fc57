"""Log-probabilities of some ids through tiles of logits that fit into a processor's cache.

A tile is ``[C, R]``, ids by tokens: sums over ids and factors of tokens then both run along
contiguous memory. Forward and backward each compute every tile from the product on. Where all
logits together are hardly more than a tile, the formula itself is faster, and used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from limite.core.kernels import tiles
from limite.core.kernels.logits import Settings, joined, pulls
from limite.core.kernels.reference.indexed_logprob import logits_of
from limite.core.kernels.tiles import Tile


@attrs.frozen
class Part:
    """A rectangle of logits: some ids, some tokens, and the indexed ones among them."""

    columns: slice  # of V
    rows: slice  # of N
    picks: slice  # of the indexed logits in their order

    def of(self, buffer: Tensor) -> Tensor:
        """The beginning of a buffer, in the tile's shape ``[C, R]``."""
        columns = self.columns.stop - self.columns.start
        rows = self.rows.stop - self.rows.start
        return buffer[: columns * rows].view(columns, rows)


class Walk:
    """All tiles, ids first, so that rows of the weight are read once; and what is indexed where.

    The indexed logits, in the order in which tiles come: ``pair [P]``, which element of ``index``
    flattened, ``row [P]``, of which token, and ``place [P]``, which of its tile flattened.
    """

    def __init__(self, index: Tensor, vocabulary: int, shape: Tile) -> None:
        self.index = index
        self.tokens, self.each = index.shape
        self.vocabulary = vocabulary
        self.width = min(vocabulary, shape["COLUMNS"])
        self.height = max(1, shape["ELEMENTS"] // self.width)
        self.strips = -(-vocabulary // self.width)
        bands = -(-self.tokens // self.height)
        flat = index.flatten()
        pair = (flat >= 0).nonzero().squeeze(-1)
        column = flat[pair]
        row = pair // self.each if self.each > 1 else pair
        tile = column // self.width * bands + row // self.height
        if self.strips > 1:
            tile, order = tile.sort(stable=True)
            pair, column, row = pair[order], column[order], row[order]
        tall = (self.tokens - row // self.height * self.height).clamp(max=self.height)
        self.pair, self.row = pair, row
        self.place = column % self.width * tall + row % self.height
        counts = torch.bincount(tile, minlength=self.strips * bands)
        self.ends: list[int] = counts.cumsum(0).tolist()

    def buffer(self, like: Tensor) -> Tensor:
        return like.new_empty(self.width * min(self.height, self.tokens))

    def strip(self, number: int) -> slice:
        return slice(number * self.width, min((number + 1) * self.width, self.vocabulary))

    def tiles(self, number: int) -> Iterator[Part]:
        """The tiles of one range of ids."""
        columns = self.strip(number)
        bands = range(0, self.tokens, self.height)
        place = number * len(bands)
        for start in bands:
            begin = self.ends[place - 1] if place else 0
            picks = slice(begin, self.ends[place])
            rows = slice(start, min(start + self.height, self.tokens))
            yield Part(columns, rows, picks)
            place += 1


@functools.cache
def _bfloat16_is_fast() -> bool:
    """Whether the processor multiplies matrices of bfloat16; others are slower in it by far."""
    supported: Callable[[], bool] | None = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return supported is not None and supported()


def _narrow(hidden: Tensor, settings: Settings) -> bool:
    """Whether products are made in the dtype of the hidden states, which they are rounded to.

    Gradients then are sums, in float32, of products that the processor hands over rounded: off by
    2.4e-3 to 3e-3 (two-norm), of which 1.7e-3 is the rounding of the result, all there is with
    products in float32. Those take twice as long for the gradients alone, three times for all.
    """
    bfloat16 = hidden.dtype == torch.bfloat16 and settings.round_logits == "bfloat16"
    return bfloat16 and _bfloat16_is_fast()


class Product:
    """``weight hiddenᵀ`` of a tile, and what the settings make of it."""

    def __init__(self, hidden: Tensor, weight: Tensor, settings: Settings, walk: Walk) -> None:
        self.kind = hidden.dtype if hidden.dtype.itemsize >= 4 else torch.float32
        self.hidden = hidden.to(self.kind)  # [N, D]
        self.settings = settings
        self.buffer = walk.buffer(self.hidden)
        self.narrow = None
        if settings.round_logits is not None:
            self.narrow = self.buffer.to(getattr(torch, settings.round_logits))
        self.given, self.weight = hidden, weight
        self.quick = _narrow(hidden, settings)

    def strip(self, columns: slice) -> Tensor:
        """Rows of the weight, in the dtype of products."""
        return self.weight[columns] if self.quick else self.weight[columns].to(self.kind)

    def __call__(self, strip: Tensor, tile: Part) -> Tensor:
        """Sigmoids where capped, logits where not: ``[C, R]``."""
        settings = self.settings
        made = tile.of(self.buffer)
        if self.narrow is None:
            made.addmm_(strip, self.hidden[tile.rows].t(), beta=0, alpha=settings.scale)
        else:
            narrow = tile.of(self.narrow)
            if self.quick:
                torch.mm(strip, self.given[tile.rows].t(), out=narrow)
            else:
                narrow.copy_(torch.mm(strip, self.hidden[tile.rows].t(), out=made))
            made.copy_(narrow)
            if settings.scale != 1:
                made.mul_(settings.scale)
        if settings.cap is not None:
            if settings.shift:
                made.add_(settings.shift)
            made.sigmoid_()
        return made

    def add_gradients(
        self, tile: Part, strip: Tensor, change: Tensor, d_hidden: Tensor | None,
        d_strip: Tensor | None,
    ) -> None:  # fmt: skip
        """Adds to both what a tile's gradient ``[C, R]`` makes of them."""
        hidden = self.hidden[tile.rows]
        if self.quick and self.narrow is not None:
            change, hidden = tile.of(self.narrow).copy_(change), self.given[tile.rows]
        if d_hidden is not None:
            _add_product(d_hidden[tile.rows], change.t(), strip)
        if d_strip is not None:
            _add_product(d_strip, change, hidden)


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    if left.dtype == total.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


def indexed_logprob_forward(
    hidden: Tensor, weight: Tensor, walk: Walk, settings: Settings, need_entropy: bool
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Log-probabilities ``[N, K]``, entropy ``[N]``, log-sum-exp ``[N]``."""
    product = Product(hidden, weight, settings, walk)
    wide, height = product.hidden, settings.height
    chosen = wide.new_empty(len(walk.pair))  # [P] nats
    totals = wide.new_empty(walk.strips, walk.tokens)  # of exponentials, for each range of ids
    tops = None if settings.bounded else torch.empty_like(totals)
    sums = torch.empty_like(totals) if need_entropy else None  # of exponentials times logits
    second = walk.buffer(wide) if need_entropy else None
    for number in range(walk.strips):
        strip = product.strip(walk.strip(number))
        for tile in walk.tiles(number):
            logits, rows = product(strip, tile), tile.rows
            if height != 1:
                logits.mul_(height)
            if tile.picks.stop > tile.picks.start:
                places = walk.place[tile.picks]
                torch.index_select(logits.view(-1), 0, places, out=chosen[tile.picks])
            if tops is not None:
                logits.sub_(torch.amax(logits, 0, out=tops[number, rows]))
            if sums is None or second is None:
                torch.sum(logits.exp_(), 0, out=totals[number, rows])
            else:
                exponentials = torch.exp(logits, out=tile.of(second))
                torch.sum(exponentials, 0, out=totals[number, rows])
                torch.sum(logits.mul_(exponentials), 0, out=sums[number, rows])
    lse, entropy = joined(totals, sums, 0.0 if tops is None else tops)
    logp = lse.new_zeros(walk.tokens * walk.each)
    logp[walk.pair] = chosen - lse[walk.row]
    return logp.view(walk.tokens, walk.each), entropy, lse


def indexed_logprob_backward(
    hidden: Tensor,
    weight: Tensor,
    walk: Walk,
    settings: Settings,
    entropy: Tensor | None,
    lse: Tensor,
    d_logp: Tensor | None,
    d_entropy: Tensor | None,
    d_lse: Tensor | None,
    need: tuple[bool, bool] = (True, True),
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of hidden states and weight, those of ``need``."""
    product = Product(hidden, weight, settings, walk)
    wide = product.hidden
    second, third = walk.buffer(wide), walk.buffer(wide)
    pull, d_entropy = pulls(settings, walk.index, entropy, lse, d_logp, d_entropy, d_lse)
    if d_logp is not None:
        d_logp = d_logp.flatten()[walk.pair] * settings.slope  # [P]
    minus_lse = -lse
    d_hidden = torch.zeros_like(wide) if need[0] else None
    d_weight = torch.zeros_like(weight, memory_format=torch.contiguous_format) if need[1] else None
    for number in range(walk.strips):
        columns = walk.strip(number)
        strip = product.strip(columns)
        d_strip = None
        if d_weight is not None:
            same = d_weight.dtype == wide.dtype
            d_strip = d_weight[columns] if same else torch.zeros_like(strip, dtype=wide.dtype)
        for tile in walk.tiles(number):
            made, rows = product(strip, tile), tile.rows
            logp = made if settings.cap is None else tile.of(second)  # [C, R] nats
            torch.add(minus_lse[rows], made, alpha=settings.height, out=logp)
            if d_entropy is None:
                change = logp.exp_().mul_(pull[rows])
            else:
                probability = torch.exp(logp, out=tile.of(third))
                change = torch.addcmul(pull[rows], logp, d_entropy[rows], out=logp)
                change.mul_(probability)
            if d_logp is not None and tile.picks.stop > tile.picks.start:
                places = walk.place[tile.picks]
                change.view(-1).index_add_(0, places, d_logp[tile.picks])
            if settings.cap is not None:
                torch.ops.aten.sigmoid_backward.grad_input(change, made, grad_input=change)
            product.add_gradients(tile, strip, change, d_hidden, d_strip)
        if d_weight is not None and d_strip is not None and d_strip.dtype != d_weight.dtype:
            d_weight[columns] = d_strip
    return None if d_hidden is None else d_hidden.to(hidden.dtype), d_weight


class _IndexedLogprob(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        index: Tensor,
        settings: Settings,
        need_entropy: bool,
        shape: Tile,
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        walk = Walk(index, len(weight), shape)
        found = indexed_logprob_forward(hidden, weight, walk, settings, need_entropy)
        ctx.save_for_backward(hidden, weight, *found[1:])
        ctx.walk, ctx.settings = walk, settings
        ctx.set_materialize_grads(False)
        return found

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_logp: Tensor | None, d_entropy: Tensor | None, d_lse: Tensor | None
    ) -> tuple[Any, ...]:
        upstream = (d_logp, d_entropy, d_lse)
        hidden, weight, entropy, lse = ctx.saved_tensors
        found = indexed_logprob_backward(
            hidden,
            weight,
            ctx.walk,
            ctx.settings,
            entropy,
            lse,
            *upstream,
            ctx.needs_input_grad[:2],
        )
        return (*found, None, None, None, None)


def _by_the_formula(
    hidden: Tensor, weight: Tensor, index: Tensor, settings: Settings, need_entropy: bool
) -> tuple[Tensor, Tensor | None, Tensor]:
    """All logits at once, for autograd to differentiate."""
    if _narrow(hidden, settings):
        product = F.linear(hidden, weight).float()
    else:
        product = logits_of(hidden, weight, None, 1.0, settings.round_logits)
    logits = settings.logits(product)  # [N, V]
    everywhere = logits.log_softmax(-1)  # [N, V] nats
    logp = everywhere.gather(-1, index.clamp(min=0)).masked_fill(index < 0, 0.0)  # [N, K]
    lse = logits[:, 0] - everywhere[:, 0]
    if not need_entropy:
        return logp, None, lse
    return logp, -(everywhere.exp() * everywhere).sum(-1), lse


def indexed_logprob(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    *,
    cap: tuple[float, float, float] | None,
    temperature: float,
    round_logits: str | None,
    need_entropy: bool,
) -> tuple[Tensor, Tensor | None, Tensor]:
    settings = Settings(cap, temperature, round_logits)
    shape = tiles.tile("indexed_logprob", kind="cpu")
    if len(hidden) * len(weight) <= shape["FEW" if cap is None else "FEW_CAPPED"]:
        return _by_the_formula(hidden, weight, index, settings, need_entropy)
    if torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad):
        result: tuple[Tensor, Tensor | None, Tensor] = _IndexedLogprob.apply(  # type: ignore[no-untyped-call]
            hidden, weight, index, settings, need_entropy, shape
        )
        return result
    walk = Walk(index, len(weight), shape)
    return indexed_logprob_forward(hidden, weight, walk, settings, need_entropy)
