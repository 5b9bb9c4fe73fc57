"""Health of a batch's importance weights: does the learner still see what was sampled?"""

from __future__ import annotations

import math

import attrs
import torch
from torch import Tensor

LOW, HIGH = 0.8, 1.2  # importance weights within count as unclipped


@attrs.frozen(kw_only=True)
class RatioHealth:
    """Statistics of ``w = exp(logp - behavior_logp)`` over all active tokens, not truncated.

    All are None when there is no token.
    """

    tokens: int
    clipped_token_fraction: float | None
    effective_sample_fraction: float | None
    mean_weight: float | None
    min_ratio: float | None
    max_ratio: float | None


@attrs.frozen(kw_only=True)
class RatioSums:
    """What must be kept of a part of a batch so that parts add up, in log space.

    One weight of ``exp(700)`` cannot overflow the sums.
    """

    tokens: int = 0
    clipped: int = 0
    log_sum: float = -math.inf  # ln sum w
    log_square_sum: float = -math.inf  # ln sum w^2
    low: float = math.inf  # smallest ln w
    high: float = -math.inf

    @classmethod
    def of(cls, logp: Tensor, behavior_logp: Tensor, mask: Tensor) -> RatioSums:
        """The sums of tokens where ``mask`` holds; all three of one shape, in nats."""
        active = mask.bool()
        # Select before subtracting: whatever stands at inactive positions stays out.
        log_weight = logp.detach()[active].double() - behavior_logp.detach()[active].double()  # [N]
        tokens = log_weight.numel()
        if not tokens:
            return cls()
        weight = log_weight.exp()
        figures = torch.stack(
            [
                ((weight < LOW) | (weight > HIGH)).sum().double(),
                log_weight.logsumexp(0),
                (2.0 * log_weight).logsumexp(0),
                log_weight.min(),
                log_weight.max(),
            ]
        ).tolist()
        clipped, log_sum, log_square_sum, low, high = figures
        return cls(
            tokens=tokens,
            clipped=int(clipped),
            log_sum=log_sum,
            log_square_sum=log_square_sum,
            low=low,
            high=high,
        )

    def __add__(self, other: RatioSums) -> RatioSums:
        return RatioSums(
            tokens=self.tokens + other.tokens,
            clipped=self.clipped + other.clipped,
            log_sum=_log_add(self.log_sum, other.log_sum),
            log_square_sum=_log_add(self.log_square_sum, other.log_square_sum),
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )

    def health(self) -> RatioHealth:
        """The statistics of everything summed so far."""
        if not self.tokens:
            return RatioHealth(
                tokens=0,
                clipped_token_fraction=None,
                effective_sample_fraction=None,
                mean_weight=None,
                min_ratio=None,
                max_ratio=None,
            )
        log_tokens = math.log(self.tokens)
        return RatioHealth(
            tokens=self.tokens,
            clipped_token_fraction=self.clipped / self.tokens,
            effective_sample_fraction=_exp(2 * self.log_sum - log_tokens - self.log_square_sum),
            mean_weight=_exp(self.log_sum - log_tokens),
            min_ratio=_exp(self.low),
            max_ratio=_exp(self.high),
        )


def ratio_health(logp: Tensor, behavior_logp: Tensor, mask: Tensor) -> RatioHealth:
    """The importance-weight statistics of one whole batch."""
    return RatioSums.of(logp, behavior_logp, mask).health()


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _log_add(a: float, b: float) -> float:
    high, low = (a, b) if a >= b else (b, a)
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if high == -math.inf or high == math.inf:
        return high
    return high + math.log1p(math.exp(low - high))
