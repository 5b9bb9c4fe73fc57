"""Sampled responses through the policy being trained: their log-probabilities, with gradient."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import attrs
import torch
from torch import Tensor

from limite.core.kernels.layout import Layout
from limite.core.model.branches import Branches
from limite.core.train.accumulate import microbatches

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
    """What the learner says of sampled tokens. ``T`` is the longest completion, but at least 1."""

    logp: Tensor  # [B, T] nats, 0 at inactive positions
    entropy: Tensor | None  # [B, T] nats
    mask: Tensor  # [B, T] bool
    listed_logp: Tensor | None = None  # [B, T, K] nats, with gradient where that was asked for


def pad_rows(rows: Sequence[Sequence[float]], width: int, dtype: torch.dtype) -> Tensor:
    """Ragged rows as ``[B, width]``, zeros at the end."""
    flat = [list(row) + [0.0] * (width - len(row)) for row in rows]
    return torch.tensor(flat, dtype=dtype).reshape(len(rows), width)


def once_or_padded(rows: Sequence[Sequence[float]], width: int, dtype: torch.dtype) -> Tensor:
    """``[B]``, 0 for an empty row, where no row holds two different numbers; else ``pad_rows``."""
    if any(len(set(row)) > 1 for row in rows):
        return pad_rows(rows, width, dtype)
    return torch.tensor([row[0] if row else 0.0 for row in rows], dtype=dtype)


@attrs.frozen(kw_only=True, eq=False)
class Packed:
    """Rows end to end, and where what precedes each completion token lies among them."""

    tokens: Tensor  # [N]
    layout: Layout | Branches
    mask: Tensor  # [B, T] bool: which places have a completion token
    predictors: Tensor  # [M] packed positions of the tokens before the completion's, row by row
    ends: Tensor  # [B] packed positions of the rows' last tokens


def pack(
    rows: Sequence[Row],
    device: torch.device,
    *,
    whole: bool = False,
    ragged: bool = True,
    share: bool = False,
) -> Packed:
    """``rows`` without their last tokens, which predict nothing; with them if ``whole``.

    They lie end to end without padding; unless ``ragged``, each is padded at the right to the
    longest. With ``share``, a prompt that several rows begin with stands once, before the
    completion of the first of them.
    """
    left = 0 if whole else 1
    lengths = [len(row.prompt) + len(row.completion) - left for row in rows]
    parents, taken = list(range(len(rows))), [0] * len(rows)
    if share and ragged:
        parents, taken = shared_prompts(rows, lengths)
    filled = 0 if ragged else max(lengths, default=0)
    kept = [
        [*row.prompt, *row.completion][before:length] + [0] * (filled - length)
        for row, before, length in zip(rows, taken, lengths, strict=True)
    ]
    own = Layout.from_lengths([len(each) for each in kept], device=device)
    width = max((len(row.completion) for row in rows), default=0)
    columns = torch.arange(max(width, 1), device=device)
    mask = columns < _column([len(row.completion) for row in rows], device)  # [B, T]
    before = _column([len(row.prompt) - 1 for row in rows], device) + columns  # [B, T]
    places = torch.cat((before, _column([length - 1 for length in lengths], device)), dim=1)
    first = own.starts[:, None] - _column(taken, device)
    if any(taken):
        behind = places >= _column(taken, device)
        first = torch.where(behind, first, own.starts[_column(parents, device)])
    places = places + first  # [B, T + 1]
    return Packed(
        tokens=torch.tensor(list(chain.from_iterable(kept)), dtype=torch.int64, device=device),
        layout=Branches(own, tuple(parents), tuple(taken)) if any(taken) else own,
        mask=mask,
        predictors=places[:, :-1][mask],
        ends=places[:, -1],
    )


def shared_prompts(rows: Sequence[Row], lengths: Sequence[int]) -> tuple[list[int], list[int]]:
    """For each row the one whose prompt it shares, and how many tokens that spares.

    A row that shares none has itself, and 0. ``lengths`` say how many tokens of each are read.
    """
    firsts: dict[tuple[int, ...], int] = {}
    parents, taken = [], []
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        prompt = tuple(row.prompt)
        parent = number
        if len(prompt) <= length:
            parent = firsts.setdefault(prompt, number)
        parents.append(parent)
        taken.append(0 if parent == number else len(prompt))
    return parents, taken


def parts(
    decoder: Decoder, rows: Sequence[Row], microbatch_tokens: int, *, share_prompts: bool = True
) -> list[list[int]]:
    """Indexes of ``rows`` in micro-batches of at most ``microbatch_tokens`` tokens, in order.

    What is counted is what ``pack`` lays out for ``decoder``: padding as well, and a prompt that
    rows share once.
    """
    lengths = [len(row.prompt) + len(row.completion) for row in rows]
    if not decoder.ragged:
        return microbatches([max(lengths, default=0)] * len(rows), microbatch_tokens)
    spared = [0] * len(rows)
    if share_prompts and decoder.shares_prompts:
        for number, (row, following) in enumerate(pairwise(rows), 1):
            if row.completion and following.completion and row.prompt == following.prompt:
                spared[number] = len(row.prompt)
    return microbatches(lengths, microbatch_tokens, spared=spared)


def _column(numbers: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor(numbers, dtype=torch.int64, device=device)[:, None]  # [B, 1]


def replay(
    decoder: Decoder,
    rows: Sequence[Row],
    *,
    temperature: float = 1.0,
    entropy: bool = False,
    listed: Tensor | None = None,
    share_prompts: bool = True,
    pad: bool = False,
) -> Replay:
    """Log-probabilities of every completion token of ``rows`` under ``decoder``.

    Rows travel packed, without padding where the attention takes them so, and with a prompt that
    several have once where it allows that and ``share_prompts`` says so; the output head sees
    completion positions only. Where rows list more ids, those get their log-probabilities too,
    without gradient. ``listed [M, K]`` lists ids at the ``M`` completion tokens in place of the
    rows, row by row, -1 where there is none; their log-probabilities keep their gradient. With
    ``pad`` rows are padded at the right to the longest, whatever the attention takes.
    """
    device = next(decoder.parameters()).device
    packed = pack(
        rows,
        device,
        ragged=decoder.ragged and not pad,
        share=share_prompts and decoder.shares_prompts,
    )
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
