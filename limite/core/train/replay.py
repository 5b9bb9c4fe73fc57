"""Sampled responses through the policy being trained: their log-probabilities, with gradient."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import attrs
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder


@attrs.frozen(kw_only=True)
class Row:
    """One prompt with its completion, as token ids."""

    prompt: Sequence[int]
    completion: Sequence[int]
    listed: Sequence[Sequence[int]] = ()  # [L, K] more ids at each completion token


@attrs.frozen(kw_only=True, eq=False)
class Replay:
    """What the learner says of sampled tokens. ``T`` is the longest completion."""

    logp: Tensor  # [B, T] nats, 0 at inactive positions
    entropy: Tensor | None  # [B, T] nats
    mask: Tensor  # [B, T] bool
    listed_logp: Tensor | None = None  # [B, T, K] nats, without gradient


def pad_rows(rows: Sequence[Sequence[float]], width: int, dtype: torch.dtype) -> Tensor:
    """Ragged rows as ``[B, width]``, zeros at the end."""
    flat = [list(row) + [0.0] * (width - len(row)) for row in rows]
    return torch.tensor(flat, dtype=dtype).reshape(len(rows), width)


def replay(
    decoder: Decoder, rows: Sequence[Row], *, temperature: float = 1.0, entropy: bool = False
) -> Replay:
    """Log-probabilities of every completion token of ``rows`` under ``decoder``.

    Rows travel packed, without padding; the output head sees completion positions only. Where rows
    list more ids, those get their log-probabilities too.
    """
    device = next(decoder.parameters()).device
    completions = [len(row.completion) for row in rows]
    width = max(completions, default=0)
    # The last completion token predicts nothing that is trained, so it is not fed.
    lengths = [len(row.prompt) + len(row.completion) - 1 for row in rows]
    tokens = torch.tensor(
        list(chain.from_iterable([*row.prompt, *row.completion[:-1]] for row in rows)),
        dtype=torch.int64,
        device=device,
    )  # [N]
    targets = torch.tensor(
        list(chain.from_iterable(row.completion for row in rows)), dtype=torch.int64, device=device
    )  # [M]
    counts = torch.tensor(completions, device=device)  # [B]
    ends = torch.tensor(lengths, device=device).cumsum(0)  # [B]
    columns = torch.arange(width, device=device)
    mask = columns < counts[:, None]  # [B, T]
    predictors = ((ends - counts)[:, None] + columns)[mask]  # [M] positions in the packed row
    if any(row.listed for row in rows):
        lists = torch.tensor(
            list(chain.from_iterable(row.listed for row in rows)), dtype=torch.int64, device=device
        )  # [M, K]
        targets = torch.cat([targets[:, None], lists], dim=1)  # [M, 1 + K]
    hidden = decoder(tokens, Layout.from_lengths(lengths, device=device))  # [N, width]
    picked, bits = decoder.log_probabilities(
        hidden[predictors], targets, temperature=temperature, entropy=entropy
    )
    listed = None
    if picked.ndim == 2:
        picked, others = picked[:, 0], picked[:, 1:].detach()
        listed = others.new_zeros((*mask.shape, others.shape[1]))
        listed[mask] = others
    spread = picked.new_zeros(mask.shape)
    return Replay(
        logp=spread.masked_scatter(mask, picked),
        entropy=None if bits is None else spread.masked_scatter(mask, bits),
        mask=mask,
        listed_logp=listed,
    )
