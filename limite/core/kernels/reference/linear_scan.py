"""The linear scan as it is defined, one token after another."""

from __future__ import annotations

import torch
from torch import Tensor


def linear_scan(a: Tensor, b: Tensor, *, reverse: bool, carry: Tensor | None) -> Tensor:
    tokens = a.shape[1]
    state = torch.zeros_like(a[:, :1]).sum(1) if carry is None else carry  # [R]
    found: list[Tensor] = []
    for token in reversed(range(tokens)) if reverse else range(tokens):
        state = a[:, token] * state + b[:, token]
        found.append(state)
    if reverse:
        found.reverse()
    return torch.stack(found, 1) if found else a * b + state[:, None]  # [R, T]
