"""From logits to the next tokens: the distribution that is sampled from, and what is drawn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from limite.core.kernels import dispatch
from limite.core.kernels.native import draw as native
from limite.core.rollout.draw import inverse, running_sum


class Drawn(NamedTuple):
    """The next token of every row; with lists, the likeliest ones too."""

    token: Tensor  # [R]
    logprob: Tensor  # [R] nats
    ids: Tensor | None = None  # [R, K]
    nats: Tensor | None = None  # [R, K]

    def copied(self) -> Drawn:
        """The same in memory of its own."""
        ids = None if self.ids is None else self.ids.clone()
        nats = None if self.nats is None else self.nats.clone()
        return Drawn(self.token.clone(), self.logprob.clone(), ids, nats)


class Drawing:
    """Draws by the temperature, ``top_p`` and ids that ``Sampler`` explains.

    All it asks of the host is known before: it reads no number back, and makes no tensor of the
    host's numbers after it was built.
    """

    def __init__(
        self,
        *,
        temperature: float,
        top_p: float | None,
        forbid_from: int,
        unused_ids: Sequence[int],
        listed_tokens: int | None,
        device: torch.device,
    ) -> None:
        self.temperature, self.top_p = temperature, top_p
        self.forbid_from, self.listed_tokens = forbid_from, listed_tokens
        unused = [each for each in unused_ids if each < forbid_from]
        self._unused = torch.tensor(unused, device=device) if unused else None
        self.identity: Hashable = (temperature, top_p, forbid_from, tuple(unused), listed_tokens)
        """Equal where the same logits and uniforms give the same."""

    def __call__(self, logits: Tensor, uniform: Tensor) -> Drawn:
        """``logits [R, V]`` float32 and ``uniform [R, 1]`` float64, from 0 and below 1."""
        if self.top_p is None and dispatch.compiled(logits):
            token, logprob = native.draw(
                logits, uniform, self.temperature, self.forbid_from, self._unused
            )
            if self.listed_tokens is None:
                return Drawn(token, logprob)
            logp = native.log_probabilities(logits, self.temperature)
            return Drawn(token, logprob, *listed(logp, token[:, None], self.listed_tokens))
        if self.top_p is None:
            logp = log_probabilities(logits, self.temperature)
        else:
            if self.temperature != 1.0:
                logits = logits / self.temperature
            logp = torch.log_softmax(nucleus(logits, self.top_p), dim=-1)  # [R, V] nats, float32
        shares = logp[:, : self.forbid_from].exp()
        if self._unused is not None:
            shares.index_fill_(1, self._unused, 0.0)
        token = inverse(shares, uniform)  # [R, 1]
        ids, nats = None, None
        if self.listed_tokens is not None:
            ids, nats = listed(logp, token, self.listed_tokens)
        return Drawn(token.squeeze(-1), logp.gather(1, token).squeeze(-1), ids, nats)


def log_probabilities(logits: Tensor, temperature: float) -> Tensor:
    """Of all ids ``[R, V]``, in nats: of whom the drawn one's is recorded, to the bit."""
    if dispatch.compiled(logits):
        return native.log_probabilities(logits, temperature)
    return torch.log_softmax(logits / temperature if temperature != 1.0 else logits, dim=-1)


def nucleus(logits: Tensor, top_p: float) -> Tensor:
    """``logits [R, V]`` with minus infinity at all but the likeliest tokens that together have at
    least ``top_p``; of equally likely ones those with the smaller ids are kept (arXiv 1904.09751).
    """
    falling, ids = logits.sort(dim=-1, descending=True, stable=True)
    shares = falling.softmax(dim=-1, dtype=torch.float64)
    before = running_sum(shares) - shares  # what the likelier ones have
    falling = falling.masked_fill(before >= top_p, float("-inf"))
    return torch.empty_like(logits).scatter_(1, ids, falling)


def listed(logp: Tensor, token: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` likeliest ids of ``logp [R, V]`` and their nats, ``token [R, 1]`` among them.

    Where it is not, it takes the place of the least likely of them.
    """
    nats, ids = logp.topk(min(count, logp.shape[1]), dim=-1)  # [R, K], falling
    missing = (ids != token).all(dim=-1)  # [R]
    ids[:, -1] = torch.where(missing, token[:, 0], ids[:, -1])
    nats[:, -1] = torch.where(missing, logp.gather(1, token)[:, 0], nats[:, -1])
    return ids.to(torch.int32), nats
