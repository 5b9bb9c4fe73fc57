"""The next token of every row, compiled: logits to a token and its log-probability in one pass."""

from __future__ import annotations

import torch
from torch import Tensor

from limite.core.kernels.native.library import parts, run

BLOCK = 512  # ids, as in source/draw.c
WORK = 4
"""Times as long as what ``parts`` counts in, for a logit."""


def draw(
    logits: Tensor, uniform: Tensor, temperature: float, allowed: int, unused: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Tokens ``[R]`` and their log-probabilities ``[R]``, in nats, at a temperature.

    ``logits [R, V]`` float32; ``uniform [R, 1]`` float64, from 0 and below 1, of the whole sum of
    the shares of the first ``allowed`` ids without those in ``unused``. Log-probabilities are of
    all ids.
    """
    if logits.stride(1) != 1:
        logits = logits.contiguous()
    rows, ids = logits.shape
    bounds = parts(rows, rows * ids * WORK)
    count = len(bounds) - 1
    token = logits.new_empty(rows, dtype=torch.int64)
    logprob = logits.new_empty(rows)
    run(
        "draw",
        bounds,
        logits,
        logits.stride(0),
        ids,
        temperature,
        allowed,
        unused,
        0 if unused is None else len(unused),
        uniform.contiguous(),
        logits.new_empty(count * ids),
        logits.new_empty(count * -(-ids // BLOCK), dtype=torch.float64),
        token,
        logprob,
    )
    return token, logprob


def log_probabilities(logits: Tensor, temperature: float) -> Tensor:
    """Of all ids ``[R, V]``, in nats: to the bit what ``draw`` gives of the one it draws."""
    if logits.stride(1) != 1:
        logits = logits.contiguous()
    rows, ids = logits.shape
    bounds = parts(rows, rows * ids * WORK)
    result = logits.new_empty(rows, ids)
    room = logits.new_empty((len(bounds) - 1) * ids)
    stride = logits.stride(0)
    run("log_probabilities", bounds, logits, stride, ids, temperature, room, result)
    return result
