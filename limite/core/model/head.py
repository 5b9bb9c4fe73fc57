"""From hidden states to log-probabilities, without keeping logits."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK_ELEMENTS = 1 << 20
"""Logits in flight at once: small enough to stay in a processor's cache, few calls for it."""

Cap = tuple[float, float, float]


def product(hidden: Tensor, table: Tensor, precision: str) -> Tensor:
    """``hidden tableᵀ`` in float32 (or float64), rounded to the activations' dtype if so asked."""
    if precision == "float32" and hidden.dtype.itemsize < 4:
        return F.linear(hidden.float(), table.float())
    raw = F.linear(hidden, table)
    return raw if raw.dtype.itemsize >= 4 else raw.float()


def soft_cap(raw: Tensor, cap: Cap) -> Tensor:
    """``bound * sigmoid((raw + shift) / spread)``, in the dtype of ``raw``."""
    bound, shift, spread = cap
    return ((raw + shift) / spread).sigmoid() * bound


def _chunks(count: int, columns: int, elements: int) -> range:
    return range(0, count, max(1, elements // columns))


class _LogProbabilities(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        table: Tensor,
        targets: Tensor,
        cap: Cap,
        temperature: float,
        precision: str,
        with_entropy: bool,
        elements: int,
    ) -> tuple[Tensor, Tensor | None]:
        count = len(hidden)
        kind = hidden.dtype if hidden.dtype.itemsize >= 4 else torch.float32
        chosen = torch.empty(count, dtype=kind, device=hidden.device)  # [N] nats
        total = torch.empty_like(chosen)  # [N] log of the sum of exponentials
        entropy = torch.empty_like(chosen) if with_entropy else None
        steps = _chunks(count, len(table), elements)
        for start in steps:
            part = slice(start, start + steps.step)
            logits = soft_cap(product(hidden[part], table, precision), cap).div_(temperature)
            lse = logits.logsumexp(-1)
            total[part] = lse
            chosen[part] = logits.gather(-1, targets[part, None]).squeeze(-1) - lse
            if entropy is not None:
                logits.sub_(lse[:, None])
                entropy[part] = -(logits.exp() * logits).sum(-1)
        ctx.save_for_backward(hidden, table, targets, total, entropy)
        ctx.settings = (cap, temperature, precision, elements)
        return chosen, entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_chosen: Tensor, d_entropy: Tensor | None) -> tuple[Any, ...]:
        hidden, table, targets, total, entropy = ctx.saved_tensors
        cap, temperature, precision, elements = ctx.settings
        bound, shift, spread = cap
        d_hidden = torch.empty_like(hidden)
        d_table = torch.zeros_like(table, dtype=total.dtype)
        steps = _chunks(len(hidden), len(table), elements)
        for start in steps:
            part = slice(start, start + steps.step)
            raw = product(hidden[part], table, precision)
            sigmoid = raw.add_(shift).div_(spread).sigmoid_()
            logp = (sigmoid * (bound / temperature)).sub_(total[part, None])  # [n, V] nats
            probability = logp.exp()
            if entropy is None or d_entropy is None:
                change = probability * -d_chosen[part, None]
            else:
                # d entropy / d logit = -p (log p + entropy)
                pull = logp.add_(entropy[part, None]).mul_(d_entropy[part, None])
                change = pull.add_(d_chosen[part, None]).mul_(probability).neg_()
            change.scatter_add_(-1, targets[part, None], d_chosen[part, None])
            slope = sigmoid.addcmul_(sigmoid, sigmoid, value=-1).mul_(bound / spread / temperature)
            change = change.mul_(slope)
            narrow = change.to(hidden.dtype)
            torch.mm(narrow, table, out=d_hidden[part])
            if d_table.dtype == narrow.dtype:
                d_table.addmm_(narrow.t(), hidden[part])
            else:
                d_table += narrow.t() @ hidden[part]
        return (d_hidden, d_table.to(table.dtype), *[None] * 6)


def log_probabilities(
    hidden: Tensor,
    table: Tensor,
    targets: Tensor,
    *,
    cap: Cap,
    temperature: float = 1.0,
    precision: str = "rounded",
    entropy: bool = False,
    elements: int = CHUNK_ELEMENTS,
) -> tuple[Tensor, Tensor | None]:
    """Log-probability of ``targets [N]`` after ``hidden [N, width]``, and the entropy, in nats.

    Over all rows of ``table``, padded ids included. Works through chunks of positions and computes
    them again for the gradient, so that ``[N, V]`` is never stored whole. Float32 from the
    product on (float64 for a float64 model).
    """
    result: tuple[Tensor, Tensor | None] = _LogProbabilities.apply(  # type: ignore[no-untyped-call]
        hidden, table, targets, cap, temperature, precision, entropy, elements
    )
    return result
