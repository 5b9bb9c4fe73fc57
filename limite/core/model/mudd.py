"""Mixtures of earlier states, with weights that depend on the token (MUDD, arXiv 2502.12170)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

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
        self, layer: int, stream: Tensor, normal: Tensor, states: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The mixture for the attention and the residual base, both ``[N, width]``.

        ``normal`` is the norm of ``stream``.
        """
        kind = stream.dtype
        hidden = F.gelu(F.linear(normal, self.dense1.to(kind)))  # [N, inner]
        dense, bias = self.weights(layer)
        weights = F.linear(hidden, dense.to(kind), bias.to(kind))
        mixtures = mix(weights, states)
        return mixtures[0], mixtures[1] if self.residual else stream

    def weights(self, layer: int) -> tuple[Tensor, Tensor]:
        """Both ways in one product: ``[ways * taps, inner]``, and the bias."""
        dense, bias = self.dense2[layer], self.bias[layer]
        if not self.residual:
            return dense, bias
        return (
            torch.cat((dense, self.dense2_mlp[layer])),
            torch.cat((bias, self.bias_mlp[layer])),
        )


class _Mix(torch.autograd.Function):
    """``weights [N, ways * taps]`` and the states ``[N, width]`` to ``ways`` mixtures."""

    @staticmethod
    def forward(ctx: Any, weights: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(weights, *states)
        columns = weights.unsqueeze(-1).unbind(1)  # [N, 1] each
        taps = len(states)
        mixtures = []
        for first in range(0, len(columns), taps):
            mixture = columns[first] * states[0]
            for column, state in zip(columns[first + 1 :], states[1:], strict=False):
                mixture.addcmul_(column, state)
            mixtures.append(mixture)
        return tuple(mixtures)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        weights, *states = ctx.saved_tensors
        columns = weights.unsqueeze(-1).unbind(1)
        taps = len(states)
        together = torch.stack(gradients, 1)  # [N, ways, width]
        d_weights = [(together * state[:, None]).sum(-1) for state in states]  # [N, ways] each
        d_states = []
        for tap in range(taps):
            change = columns[tap] * gradients[0]
            for way, gradient in enumerate(gradients[1:], 1):
                change.addcmul_(columns[way * taps + tap], gradient)
            d_states.append(change)
        return torch.stack(d_weights, -1).flatten(1), *d_states


def mix(weights: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """``weights [N, ways * taps]`` times the states, summed from left to right: ``ways`` sums.

    In half precision every product and every sum is rounded, as the published function is defined.
    """
    if weights.dtype.itemsize >= 4:
        mixtures: tuple[Tensor, ...] = _Mix.apply(weights, *states)  # type: ignore[no-untyped-call]
        return mixtures
    return tuple(_plain_mix(way, states) for way in weights.split(len(states), dim=-1))


def _plain_mix(weights: Tensor, states: Sequence[Tensor]) -> Tensor:
    columns = weights.unsqueeze(-1).unbind(1)
    total = columns[0] * states[0]
    for column, state in zip(columns[1:], states[1:], strict=True):
        total = total + column * state
    return total
