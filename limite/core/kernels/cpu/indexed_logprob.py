"""Log-probabilities of some ids through tiles of logits that fit into a processor's cache.

A tile is ``[C, R]``, ids by tokens: sums over ids and factors of tokens then both run along
contiguous memory. Forward and backward each compute every tile from the product on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

COLUMNS = 512
"""Ids of a tile."""

ELEMENTS = 1 << 17
"""Logits of a tile: two such buffers fit into a core's second-level cache."""

SAFE_BOUND = 60.0
"""Logits between 0 and this need no shift: their exponentials can be summed in float32."""


@attrs.frozen
class Settings:
    """How logits are made from the product."""

    cap: tuple[float, float, float] | None
    temperature: float
    round_logits: str | None

    @property
    def bounded(self) -> bool:
        return self.cap is not None and self.cap[0] / self.temperature <= SAFE_BOUND

    @property
    def height(self) -> float:
        """What a capped tile, which holds sigmoids, is multiplied with."""
        return 1.0 if self.cap is None else self.cap[0] / self.temperature

    @property
    def slope(self) -> float:
        """The constant factor between a gradient of a tile's entries and one of the product's."""
        if self.cap is None:
            return 1.0 / self.temperature
        return self.cap[0] / (self.cap[2] * self.temperature)


@attrs.frozen
class Tile:
    """A rectangle of logits: some ids, some tokens, and the indexed ones among them."""

    columns: slice  # of V
    rows: slice  # of N
    number: int  # of the range of ids
    picks: slice  # of Picks


@attrs.frozen
class Picks:
    """The indexed logits in the order in which tiles come."""

    pair: Tensor  # [P] which element of index [N, K], flattened
    place: Tensor  # [P] which element of its tile [C, R], flattened


class Walk:
    """All tiles, ids first, so that rows of the weight are read once."""

    def __init__(self, index: Tensor, vocabulary: int) -> None:
        self.tokens, self.each = index.shape
        self.vocabulary = vocabulary
        self.width = min(vocabulary, COLUMNS)
        self.height = max(1, ELEMENTS // self.width)
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
        self.picks = Picks(pair, column % self.width * tall + row % self.height)
        counts = torch.bincount(tile, minlength=self.strips * bands)
        self.ends: list[int] = counts.cumsum(0).tolist()

    def buffer(self, like: Tensor) -> Tensor:
        return like.new_empty(self.width * min(self.height, self.tokens))

    def strip(self, number: int) -> slice:
        return slice(number * self.width, min((number + 1) * self.width, self.vocabulary))

    def tiles(self, number: int) -> Iterator[Tile]:
        """The tiles of one range of ids."""
        columns = self.strip(number)
        bands = range(0, self.tokens, self.height)
        place = number * len(bands)
        for start in bands:
            begin = self.ends[place - 1] if place else 0
            picks = slice(begin, self.ends[place])
            rows = slice(start, min(start + self.height, self.tokens))
            yield Tile(columns, rows, number, picks)
            place += 1


def _shaped(buffer: Tensor, tile: Tile) -> Tensor:
    columns = tile.columns.stop - tile.columns.start
    rows = tile.rows.stop - tile.rows.start
    return buffer[: columns * rows].view(columns, rows)


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
        self.weight = weight

    def strip(self, columns: slice) -> Tensor:
        """Rows of the weight, as wide as the product is."""
        return self.weight[columns].to(self.kind)

    def __call__(self, strip: Tensor, tile: Tile) -> Tensor:
        """Sigmoids where capped, logits where not: ``[C, R]``."""
        settings = self.settings
        scale = 1.0 / (settings.temperature if settings.cap is None else settings.cap[2])
        made = _shaped(self.buffer, tile)
        early = scale if self.narrow is None else 1.0
        made.addmm_(strip, self.hidden[tile.rows].t(), beta=0, alpha=early)
        if self.narrow is not None:
            narrow = _shaped(self.narrow, tile)
            narrow.copy_(made)
            made.copy_(narrow)
            if scale != 1:
                made.mul_(scale)
        if settings.cap is not None:
            if settings.cap[1]:
                made.add_(settings.cap[1] * scale)
            made.sigmoid_()
        return made


def indexed_logprob_forward(
    hidden: Tensor, weight: Tensor, index: Tensor, settings: Settings, need_entropy: bool
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Log-probabilities ``[N, K]``, entropy ``[N]``, log-sum-exp ``[N]``."""
    walk = Walk(index, len(weight))
    product = Product(hidden, weight, settings, walk)
    narrow = product.hidden
    second = walk.buffer(narrow) if need_entropy else None
    bounded, height = settings.bounded, settings.height
    chosen = narrow.new_empty(len(walk.picks.pair))  # [P] nats
    totals = narrow.new_empty(walk.strips, walk.tokens)  # of exponentials, for each range of ids
    tops = None if bounded else torch.empty_like(totals)
    sums = torch.empty_like(totals) if need_entropy else None  # of exponentials times logits
    for number in range(walk.strips):
        strip = product.strip(walk.strip(number))
        for tile in walk.tiles(number):
            logits = product(strip, tile)
            rows = tile.rows
            if height != 1:
                logits.mul_(height)
            if tile.picks.stop > tile.picks.start:
                places = walk.picks.place[tile.picks]
                torch.index_select(logits.view(-1), 0, places, out=chosen[tile.picks])
            if tops is not None:
                top = torch.amax(logits, 0, out=tops[number, rows])
                logits.sub_(top)
            if sums is None or second is None:
                torch.sum(logits.exp_(), 0, out=totals[number, rows])
            else:
                exponentials = torch.exp(logits, out=_shaped(second, tile))
                torch.sum(exponentials, 0, out=totals[number, rows])
                torch.sum(logits.mul_(exponentials), 0, out=sums[number, rows])
    return _combined(walk, chosen, totals, tops, sums)


def _combined(
    walk: Walk, chosen: Tensor, totals: Tensor, tops: Tensor | None, sums: Tensor | None
) -> tuple[Tensor, Tensor | None, Tensor]:
    """The results, from those of every range of ids ``[strips, N]``."""
    if tops is None:
        total = totals.sum(0)
        lse = total.log()
        entropy = None if sums is None else lse - sums.sum(0) / total
    else:
        top = tops.amax(0)
        below = tops.sub_(top)
        weights = below.exp()
        total = (weights * totals).sum(0)
        lse = top + total.log()
        entropy = None
        if sums is not None:
            mean = (weights * (sums + below * totals)).sum(0) / total
            entropy = total.log() - mean
    logp = lse.new_zeros(walk.tokens * walk.each)
    pair = walk.picks.pair
    logp[pair] = chosen - (lse[pair // walk.each] if walk.each > 1 else lse[pair])
    return logp.view(walk.tokens, walk.each), entropy, lse


def indexed_logprob_backward(
    hidden: Tensor,
    weight: Tensor,
    index: Tensor,
    settings: Settings,
    entropy: Tensor | None,
    lse: Tensor,
    d_logp: Tensor | None,
    d_entropy: Tensor | None,
    d_lse: Tensor | None,
    need: tuple[bool, bool] = (True, True),
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of hidden states and weight, those of ``need``."""
    walk = Walk(index, len(weight))
    product = Product(hidden, weight, settings, walk)
    wide = product.hidden
    second, third = walk.buffer(wide), walk.buffer(wide)
    slope = settings.slope
    pulls = None
    pull = torch.zeros_like(lse)  # [N] on every logit, times its probability
    if d_logp is not None:
        pulls = d_logp.flatten()[walk.picks.pair].mul_(slope)  # [P]
        pull -= d_logp.where(index >= 0, d_logp.new_zeros(())).sum(-1)
    if d_lse is not None:
        pull += d_lse
    if d_entropy is not None and entropy is not None:
        # d entropy / d logit = -p (log p + entropy)
        pull -= d_entropy * entropy
        d_entropy = d_entropy * -slope
    pull *= slope
    minus_lse = -lse
    d_hidden = torch.zeros_like(wide) if need[0] else None
    d_weight = torch.empty_like(weight, memory_format=torch.contiguous_format) if need[1] else None
    for number in range(walk.strips):
        columns = walk.strip(number)
        strip = product.strip(columns)
        d_strip = None
        if d_weight is not None:
            same = d_weight.dtype == wide.dtype
            d_strip = d_weight[columns] if same else torch.empty_like(strip)
        for tile in walk.tiles(number):
            made, rows = product(strip, tile), tile.rows
            logp = made if settings.cap is None else _shaped(second, tile)  # [C, R] nats
            torch.add(minus_lse[rows], made, alpha=settings.height, out=logp)
            if d_entropy is None:
                change = logp.exp_().mul_(pull[rows])
            else:
                probability = torch.exp(logp, out=_shaped(third, tile))
                change = torch.addcmul(pull[rows], logp, d_entropy[rows], out=logp)
                change.mul_(probability)
            if pulls is not None and tile.picks.stop > tile.picks.start:
                places = walk.picks.place[tile.picks]
                change.view(-1).index_add_(0, places, pulls[tile.picks])
            if settings.cap is not None:
                torch.ops.aten.sigmoid_backward.grad_input(change, made, grad_input=change)
            if d_hidden is not None:
                d_hidden[rows].addmm_(change.t(), strip)
            if d_strip is not None:
                d_strip.addmm_(change, wide[rows], beta=0 if rows.start == 0 else 1)
        if d_weight is not None and d_strip is not None and d_strip.dtype != d_weight.dtype:
            d_weight[columns] = d_strip
    if d_weight is not None and not walk.tokens:
        d_weight.zero_()
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
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        logp, entropy, lse = indexed_logprob_forward(hidden, weight, index, settings, need_entropy)
        ctx.save_for_backward(hidden, weight, index, entropy, lse)
        ctx.settings = settings
        ctx.set_materialize_grads(False)
        return logp, entropy, lse

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, d_logp: Tensor | None, d_entropy: Tensor | None, d_lse: Tensor | None
    ) -> tuple[Any, ...]:
        hidden, weight, index, entropy, lse = ctx.saved_tensors
        found = indexed_logprob_backward(
            hidden,
            weight,
            index,
            ctx.settings,
            entropy,
            lse,
            d_logp,
            d_entropy,
            d_lse,
            ctx.needs_input_grad[:2],
        )
        return (*found, None, None, None)


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
    if torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad):
        result: tuple[Tensor, Tensor | None, Tensor] = _IndexedLogprob.apply(  # type: ignore[no-untyped-call]
            hidden, weight, index, settings, need_entropy
        )
        return result
    return indexed_logprob_forward(hidden, weight, index, settings, need_entropy)
