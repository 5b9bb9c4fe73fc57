"""Estimates of the KL from the policy to a reference, from the policy's own samples."""

from __future__ import annotations

import torch
from torch import Tensor

ESTIMATORS = ("k1", "k2", "k3")
LARGEST = 20.0  # nats
KL_LOSSES = ("k2", "k3")
"""Those that may be minimised. The gradient of k1 does not contain the reference at all."""


def kl_estimate(logp: Tensor, reference_logp: Tensor, estimator: str) -> Tensor:
    """``KL(policy || reference)`` of each sampled token, in nats, of the shape of ``logp``.

    With ``d = logp - reference_logp``: ``k1 = d`` (unbiased, of any sign), ``k2 = d^2 / 2``,
    ``k3 = exp(-d) - 1 + d`` (unbiased, never negative). Its exponent ends at 20 nats, beyond which
    it passes the gradient of ``d`` alone.
    """
    difference = logp - reference_logp  # nats
    if estimator == "k1":
        return difference
    if estimator == "k2":
        return difference.square() / 2
    if estimator == "k3":
        return torch.expm1((-difference).clamp(max=LARGEST)) + difference
    raise ValueError(f"expected one of {', '.join(ESTIMATORS)}, got {estimator!r}")
