"""Which token a uniform number picks: the inverse of the running sum of shares."""

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 512  # ids


def inverse(shares: Tensor, uniform: Tensor) -> Tensor:
    """The id ``[R, 1]`` at which the running sum of ``shares [R, V]`` passes ``uniform [R, 1]``.

    Uniforms are of the whole sum, from 0 and below 1. Sums are in float64, so that over a large
    vocabulary no id's share is lost. An id without a share is never picked.
    """
    if shares.device.type == "cpu":
        reached = running_sum(shares.double())
        threshold = uniform * reached[:, -1:]  # [R, 1]
        token = torch.searchsorted(reached, threshold, right=True)
    else:
        token = inverse_in_blocks(shares, uniform)
    # Only probabilities that are not numbers run off the end; whoever records them reports those.
    return token.clamp_(max=shares.shape[1] - 1)


def inverse_in_blocks(shares: Tensor, uniform: Tensor) -> Tensor:
    """The same by blocks of ids: first the block, then the id within it.

    On a GPU torch has no running sum that repeats itself bit for bit, and one over the vocabulary
    is long; this one is over the blocks, and over one block.
    """
    blocks = -(-shares.shape[1] // BLOCK)
    padded = torch.nn.functional.pad(shares, (0, blocks * BLOCK - shares.shape[1]))
    table = padded.view(-1, blocks, BLOCK).double()  # [R, C, BLOCK]
    totals = table.sum(-1)  # [R, C]
    reached = running_sum(totals)
    threshold = uniform * reached[:, -1:]  # [R, 1]
    block = first_beyond(totals, reached, threshold)
    before = torch.where(block > 0, reached.gather(1, (block - 1).clamp(min=0)), 0.0)
    inside = table.gather(1, block[..., None].expand(-1, 1, BLOCK)).squeeze(1)  # [R, BLOCK]
    return block * BLOCK + first_beyond(inside, running_sum(inside), threshold - before)


def first_beyond(shares: Tensor, reached: Tensor, threshold: Tensor) -> Tensor:
    """The first place ``[R, 1]`` with a share where ``reached [R, N]`` is above ``threshold``.

    By rounding there may be none; then it is the last place with a share.
    """
    places = torch.arange(shares.shape[1], device=shares.device)
    there = shares > 0
    last = torch.where(there, places, 0).amax(-1, keepdim=True)
    beyond = torch.where(there & (reached > threshold), places, shares.shape[1])
    return torch.minimum(beyond.amin(-1, keepdim=True), last)


def running_sum(numbers: Tensor) -> Tensor:
    """``numbers [R, N]`` summed from the left, to the same bits every time.

    Off the host by doubling, since torch has no such sum there that repeats itself.
    """
    if numbers.device.type == "cpu":
        return numbers.cumsum(-1)
    return running_sum_by_doubling(numbers)


def running_sum_by_doubling(numbers: Tensor) -> Tensor:
    """The same, with sums of 2, 4, 8, ... neighbours: as many steps as that takes."""
    reach = 1
    while reach < numbers.shape[1]:
        moved = torch.nn.functional.pad(numbers[:, :-reach], (reach, 0))
        numbers = numbers + moved
        reach *= 2
    return numbers
