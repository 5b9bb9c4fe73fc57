"""The rotary turns of Llama's family."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from limite.core.kernels.rotation import Rotation
from limite.core.model.llama.scaling import (
    LinearScaling,
    Llama3Scaling,
    RopeScaling,
    YarnScaling,
)


def frequencies(head_width: int, base: float, scaling: RopeScaling) -> Tensor:
    """The angle that each pair of channels turns by from token to token: ``[D/2]``, float32.

    In the order of operations of published implementations, so that not a bit differs.
    """
    even = torch.arange(0, head_width, 2, dtype=torch.float32, device="cpu")
    powers = base ** (even / head_width)
    match scaling:
        case LinearScaling():
            return (1.0 / powers) / scaling.factor
        case Llama3Scaling():
            return _llama3(1.0 / powers, scaling)
        case YarnScaling():
            return _yarn(powers, head_width, base, scaling)
        case _:
            return 1.0 / powers


def _llama3(plain: Tensor, scaling: Llama3Scaling) -> Tensor:
    low, high, context = (
        scaling.low_freq_factor,
        scaling.high_freq_factor,
        scaling.original_context,
    )
    length = 2 * math.pi / plain  # tokens to a full turn
    slow, fast = length > context / low, length < context / high
    stretched = torch.where(slow, plain / scaling.factor, plain)
    blend = (context / length - low) / (high - low)
    blended = (1 - blend) * stretched / scaling.factor + blend * stretched
    return torch.where(slow | fast, stretched, blended)


def _yarn(powers: Tensor, head_width: int, base: float, scaling: YarnScaling) -> Tensor:
    def pair_of(turns: float) -> float:
        """The pair, not a whole number, that turns so often in the original context."""
        around = scaling.original_context / (turns * 2 * math.pi)
        return head_width * math.log(around) / (2 * math.log(base))

    first, last = pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)
    if scaling.truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, head_width - 1)
    if first == last:
        last += 0.001  # a step in place of a slope
    numbers = torch.arange(head_width // 2, dtype=torch.float32, device="cpu")
    kept = 1 - ((numbers - first) / (last - first)).clamp(0, 1)
    return (1.0 / (scaling.factor * powers)) * (1 - kept) + (1.0 / powers) * kept


class LlamaRotary(nn.Module):
    """Cosines and sines in float32, worked out for the positions at hand: no table to hold."""

    frequencies: Tensor

    def __init__(self, head_width: int, base: float, scaling: RopeScaling) -> None:
        super().__init__()
        device = torch.empty(0).device  # the one that torch.device(...) chose around this call
        found = frequencies(head_width, base, scaling)
        self.register_buffer("frequencies", found.to(device), persistent=False)  # [D/2]
        self.strength = scaling.strength

    def at(self, positions: Tensor) -> Rotation:
        """The turns of tokens at ``positions [...]``: the head's two halves, by plus theta."""
        angle = positions[..., None].float() * self.frequencies
        cos, sin = angle.cos(), angle.sin()
        if self.strength != 1.0:
            cos, sin = cos * self.strength, sin * self.strength
        return Rotation(cos, sin, "halves")
