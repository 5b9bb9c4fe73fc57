"""Mixtures of earlier states, with weights that depend on the token (MUDD, arXiv 2502.12170)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from limite.core.model.norm import rms_norm
from limite.core.model.weights import small_dtype, unset


class Mudd(nn.Module):
    """For some layers: the attention input, and the residual base, mixed from earlier states.

    ``u = gelu(dense1 rms(x))``, then one weight per state, ``dense2[layer] u + bias[layer]``, for
    the attention input, and others (``_mlp``) for the residual base. Rows of layers that do not
    mix are stored, as published checkpoints have them, and not used.
    """

    def __init__(
        self, width: int, layers: int, taps: int, inner: int, residual: bool, dtype: torch.dtype
    ) -> None:
        super().__init__()
        small = small_dtype(dtype)
        self.residual = residual
        self.dense1 = unset(inner, width, dtype=small)
        self.dense2 = unset(layers, taps, inner, dtype=small)
        self.bias = unset(layers, taps, dtype=small)
        if residual:
            self.dense2_mlp = unset(layers, taps, inner, dtype=small)
            self.bias_mlp = unset(layers, taps, dtype=small)

    def forward(
        self, layer: int, stream: Tensor, states: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The mixture for the attention and the residual base, both ``[N, width]``."""
        kind = stream.dtype
        hidden = F.gelu(F.linear(rms_norm(stream), self.dense1.to(kind)))  # [N, inner]
        dense, bias = self.weights(layer)
        weights = F.linear(hidden, dense.to(kind), bias.to(kind))
        if not self.residual:
            return _mix(weights, states), stream
        inputs, base = weights.chunk(2, dim=-1)
        return _mix(inputs, states), _mix(base, states)

    def weights(self, layer: int) -> tuple[Tensor, Tensor]:
        """Both ways in one product: ``[ways * taps, inner]``, and the bias."""
        dense, bias = self.dense2[layer], self.bias[layer]
        if not self.residual:
            return dense, bias
        return (
            torch.cat((dense, self.dense2_mlp[layer])),
            torch.cat((bias, self.bias_mlp[layer])),
        )


def _mix(weights: Tensor, states: Sequence[Tensor]) -> Tensor:
    """``weights [N, taps]`` times the states, summed from left to right."""
    parts = weights.unbind(-1)
    total = parts[0][:, None] * states[0]
    for weight, state in zip(parts[1:], states[1:], strict=True):
        total = total + weight[:, None] * state
    return total
