"""What a teacher expects at the tokens of given texts: its likeliest tokens, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from limite.core.train.replay import Row, pack

if TYPE_CHECKING:
    from limite.core.model.decoder import Decoder

LOGITS_AT_ONCE = 1 << 24  # numbers: 64 MiB of float32


@torch.no_grad()
def likeliest(
    decoder: Decoder,
    rows: Sequence[Row],
    count: int,
    *,
    among: int,
    temperature: float = 1.0,
    logits_at_once: int = LOGITS_AT_ONCE,
) -> tuple[Tensor, Tensor]:
    """The likeliest ``count`` of the first ``among`` ids before every completion token of ``rows``.

    Ids and nats, ``[M, count]`` each, row by row, the likeliest first. Log-probabilities are over
    every column of the head. Logits exist for a few positions at a time.
    """
    packed = pack(rows, decoder.device, ragged=decoder.ragged, share=decoder.shares_prompts)
    hidden = decoder(packed.tokens, packed.layout)[packed.predictors]  # [M, width]
    count = min(count, among)
    ids = torch.empty((len(hidden), count), dtype=torch.int64, device=hidden.device)
    nats = torch.empty((len(hidden), count), dtype=torch.float32, device=hidden.device)
    step = max(1, logits_at_once // len(decoder.head_weight))
    for start in range(0, len(hidden), step):
        place = slice(start, start + step)
        logits = decoder.logits(hidden[place]) / temperature  # [step, V]
        best = logits[:, :among].topk(count)
        ids[place] = best.indices
        nats[place] = best.values - logits.logsumexp(-1, keepdim=True)
    return ids, nats
