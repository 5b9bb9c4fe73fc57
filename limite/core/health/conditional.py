"""Whether two paths give the same next-token distribution: sampling against the learner's replay.

An admission check on a few complete responses, for every way of sampling.
"""

from __future__ import annotations

import attrs
import torch
from torch import Tensor

from limite.core.health.gates import GateVerdict
from limite.core.health.ratios import HIGH, LOW

LARGEST_MEAN_MASS = 0.05
SMALLEST_SAMPLE_FRACTION = 0.95
LARGEST_SUM_ERROR = 1e-5


@attrs.frozen(kw_only=True, eq=False)
class ConditionalHealth:
    """How far the learner's distributions are from those that were sampled, by position.

    ``mass_behavior`` is the probability, under the sampling path, of tokens whose ratio is outside
    0.8 .. 1.2; ``mass_learner`` the same under the learner. ``effective_sample_fraction`` is
    ``1 / sum_v pi_v^2 / mu_v``.
    """

    mass_behavior: Tensor  # [N] float64
    mass_learner: Tensor  # [N] float64
    effective_sample_fraction: Tensor  # [N] float64
    largest_sum_error: float

    def gates(self) -> tuple[GateVerdict, ...]:
        """The verdicts. The worst position's mass is reported, but the means decide."""
        count = self.mass_behavior.numel()

        def figure(values: Tensor, how: str) -> float | None:
            return float(getattr(values, how)()) if count else None

        return (
            GateVerdict(
                name="conditional/mean_mass_behavior",
                figure=figure(self.mass_behavior, "mean"),
                below=LARGEST_MEAN_MASS,
            ),
            GateVerdict(
                name="conditional/mean_mass_learner",
                figure=figure(self.mass_learner, "mean"),
                below=LARGEST_MEAN_MASS,
            ),
            GateVerdict(
                name="conditional/min_effective_sample_fraction",
                figure=figure(self.effective_sample_fraction, "min"),
                above=SMALLEST_SAMPLE_FRACTION,
            ),
            GateVerdict(
                name="conditional/largest_sum_error",
                figure=self.largest_sum_error if count else None,
                high=LARGEST_SUM_ERROR,
            ),
        )


def conditional_health(behavior: Tensor, learner: Tensor) -> ConditionalHealth:
    """Compare probabilities ``[N, V]`` at ``N`` active positions, in float64.

    A token the learner gives weight and the sampling path gives none counts as outside and makes
    the effective sample fraction of its position 0.
    """
    mu, pi = behavior.detach().double(), learner.detach().double()  # [N, V]
    possible = mu > 0
    ratio = torch.where(possible, pi / mu, torch.where(pi > 0, torch.inf, 1.0))
    outside = (ratio < LOW) | (ratio > HIGH)
    square = torch.where(possible, pi.square() / mu, torch.where(pi > 0, torch.inf, 0.0))
    sums = torch.cat([mu.sum(-1), pi.sum(-1)])
    return ConditionalHealth(
        mass_behavior=(mu * outside).sum(-1),
        mass_learner=(pi * outside).sum(-1),
        effective_sample_fraction=1.0 / square.sum(-1),
        largest_sum_error=float((sums - 1.0).abs().max()) if sums.numel() else 0.0,
    )
