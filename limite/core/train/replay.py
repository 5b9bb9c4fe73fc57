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
    listed_logp: Tensor | None = None  # [B, T, K] nats, with gradient where that was asked for


def pad_rows(rows: Sequence[Sequence[float]], width: int, dtype: torch.dtype) -> Tensor:
    """Ragged rows as ``[B, width]``, zeros at the end."""
    flat = [list(row) + [0.0] * (width - len(row)) for row in rows]
    return torch.tensor(flat, dtype=dtype).reshape(len(rows), width)


@attrs.frozen(kw_only=True, eq=False)
class Packed:
    """Rows without padding, and where what precedes each completion token lies among them."""

    tokens: Tensor  # [N]
    layout: Layout
    mask: Tensor  # [B, T] bool: which places have a completion token
    predictors: Tensor  # [M] packed positions of the tokens before the completion's, row by row


def pack(rows: Sequence[Row], device: torch.device, *, whole: bool = False) -> Packed:
    """``rows`` packed without their last tokens, which predict nothing; with them if ``whole``."""
    left = 0 if whole else 1
    completions = [len(row.completion) for row in rows]
    lengths = [len(row.prompt) + len(row.completion) - left for row in rows]
    kept = (
        [*row.prompt, *row.completion][:length] for row, length in zip(rows, lengths, strict=True)
    )
    tokens = torch.tensor(list(chain.from_iterable(kept)), dtype=torch.int64, device=device)  # [N]
    counts = torch.tensor(completions, device=device)  # [B]
    lasts = torch.tensor(lengths, device=device).cumsum(0) - 1 + left  # [B] of the whole rows
    columns = torch.arange(max(completions, default=0), device=device)
    mask = columns < counts[:, None]  # [B, T]
    return Packed(
        tokens=tokens,
        layout=Layout.from_lengths(lengths, device=device),
        mask=mask,
        predictors=((lasts - counts)[:, None] + columns)[mask],
    )


def replay(
    decoder: Decoder,
    rows: Sequence[Row],
    *,
    temperature: float = 1.0,
    entropy: bool = False,
    listed: Tensor | None = None,
) -> Replay:
    """Log-probabilities of every completion token of ``rows`` under ``decoder``.

    Rows travel packed, without padding; the output head sees completion positions only. Where rows
    list more ids, those get their log-probabilities too, without gradient. ``listed [M, K]`` lists
    ids at the ``M`` completion tokens in place of the rows, row by row, -1 where there is none;
    their log-probabilities keep their gradient.
    """
    device = next(decoder.parameters()).device
    packed = pack(rows, device)
    targets = torch.tensor(
        list(chain.from_iterable(row.completion for row in rows)), dtype=torch.int64, device=device
    )  # [M]
    lists = listed
    if lists is None and any(row.listed for row in rows):
        lists = torch.tensor(
            list(chain.from_iterable(row.listed for row in rows)), dtype=torch.int64, device=device
        )  # [M, K]
    if lists is not None:
        targets = torch.cat([targets[:, None], lists], dim=1)  # [M, 1 + K]
    hidden = decoder(packed.tokens, packed.layout)  # [N, width]
    picked, bits = decoder.log_probabilities(
        hidden[packed.predictors], targets, temperature=temperature, entropy=entropy
    )
    mask = packed.mask
    spread_lists = None
    if picked.ndim == 2:
        picked, others = picked[:, 0], picked[:, 1:]
        others = others.detach() if listed is None else others
        spread_lists = others.new_zeros((*mask.shape, others.shape[1]))
        spread_lists[mask] = others
    spread = picked.new_zeros(mask.shape)
    return Replay(
        logp=spread.masked_scatter(mask, picked),
        entropy=None if bits is None else spread.masked_scatter(mask, bits),
        mask=mask,
        listed_logp=spread_lists,
    )
