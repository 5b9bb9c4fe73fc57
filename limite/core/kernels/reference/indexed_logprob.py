"""Log-probabilities of some ids, by the formula."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def logits_of(
    hidden: Tensor,
    weight: Tensor,
    cap: tuple[float, float, float] | None,
    temperature: float,
    round_logits: str | None,
) -> Tensor:
    """``cap(hidden weightᵀ) / temperature [N, V]``, float32 (float64 for float64)."""
    kind = hidden.dtype if hidden.dtype.itemsize >= 4 else torch.float32
    logits = F.linear(hidden.to(kind), weight.to(kind))
    if round_logits is not None:
        # The gradient is that of the product as if it had not been rounded.
        rounded = logits.detach().to(getattr(torch, round_logits)).to(kind)
        logits = logits + (rounded - logits.detach())
    if cap is not None:
        bound, shift, spread = cap
        logits = ((logits + shift) / spread).sigmoid() * bound
    return logits if temperature == 1 else logits / temperature


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
    """``log softmax(cap(hidden weightᵀ) / temperature)`` at ``index``; entropy; log-sum-exp."""
    logits = logits_of(hidden, weight, cap, temperature, round_logits)  # [N, V]
    lse = logits.logsumexp(-1)  # [N] nats
    logp = logits.gather(-1, index.clamp(min=0)) - lse[:, None]  # [N, K] nats
    logp = logp.where(index >= 0, logp.new_zeros(()))
    if not need_entropy:
        return logp, None, lse
    everywhere = logits - lse[:, None]  # [N, V] nats
    return logp, -(everywhere.exp() * everywhere).sum(-1), lse
