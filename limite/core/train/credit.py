"""Credit for every token from a critic's values: generalised advantages, and the critic's targets.

Generalised advantage estimation (GAE, arXiv:1506.02438) mixes what followed a token with what the
critic expects; ``lambda`` says how much of the former. Policy and critic have one each (VC-PPO,
arXiv:2503.01491): a critic fitted at ``lambda = 1`` learns from true returns alone.
"""

from __future__ import annotations

from typing import Protocol

import attrs
import torch
from attrs.validators import and_, ge, gt, le
from torch import Tensor

from limite.core.kernels.scans import gae
from limite.core.train.columns import as_active

WHITEN_EPS = 1e-8


class Lambda(Protocol):
    """``lambda`` of rows that have ``lengths [B]`` active tokens: ``[B]`` float64.

    Never in half precision: what is meant to be a little below 1 is exactly 1 there.
    """

    def __call__(self, lengths: Tensor, /) -> Tensor: ...


@attrs.frozen(kw_only=True)
class FixedLambda:
    """The same for every row."""

    value: float = attrs.field(validator=and_(ge(0.0), le(1.0)))

    def __call__(self, lengths: Tensor) -> Tensor:
        return torch.full_like(lengths, self.value, dtype=torch.float64)


@attrs.frozen(kw_only=True)
class HalfLife:
    """``0.5 ** (1 / L)``: the end weighs a half at the start, however long the row is."""

    def __call__(self, lengths: Tensor) -> Tensor:
        return 0.5 ** (1.0 / lengths.double().clamp(min=1.0))


@attrs.frozen(kw_only=True)
class LengthAdaptive:
    """``1 - 1 / (alpha L)``, and 0 where that is negative (VAPO, arXiv:2504.05118).

    The weights ``lambda^k`` of a long row then sum to ``alpha L``.
    """

    alpha: float = attrs.field(default=0.05, validator=and_(gt(0.0), le(1e6)))

    def __call__(self, lengths: Tensor) -> Tensor:
        return (1.0 - 1.0 / (self.alpha * lengths.double().clamp(min=1.0))).clamp(min=0.0)


@attrs.frozen(kw_only=True, eq=False)
class Credit:
    """What a step's tokens are to be credited with. Float64, without gradient, 0 where inactive."""

    advantages: Tensor  # [B, T] for the policy
    targets: Tensor  # [B, T] for the critic: what its values should have been
    lambda_policy: Tensor  # [B]
    lambda_value: Tensor  # [B]


@torch.no_grad()
def generalised_advantages(
    values: Tensor,
    rewards: Tensor,
    mask: Tensor,
    *,
    gamma: float = 1.0,
    lambda_policy: float | Lambda = 1.0,
    lambda_value: float | Lambda = 1.0,
    after: Tensor | None = None,
) -> Credit:
    """Advantages and targets over the active tokens ``k = 1 .. L`` of each row.

    ``delta_k = R_k + gamma V_{k+1} - V_k`` and ``A_k = delta_k + gamma lambda A_{k+1}``; targets
    are ``A_k + V_k`` with the critic's lambda, which for 1 are the discounted returns, exactly.

    ``values [B, T]`` are of the states before the tokens, ``rewards [B, T]`` what each token earned
    or ``[B]`` what the last active one did, ``mask [B, T]`` says which tokens are active. Inactive
    ones are passed over: what stands there is not read, and they count for no step of ``gamma``.
    ``after [B]`` is the value of the state after a row's last token: 0 where a row has ended, and
    if left out; the critic's where a row was cut short and is to count as going on.

    A number that is not finite at an active token raises ValueError.
    """
    active = as_active(mask)
    if rewards.ndim == 1:
        rewards = at_last_active(rewards, active)
    ends = values.new_zeros(len(values)) if after is None else after
    given = {"values": values, "rewards": rewards}
    for name, column in given.items():
        _require(name, column, active, tuple(active.shape))
    _require("after", ends, active.any(1), (active.shape[0],))
    lengths = active.sum(1)  # [B]
    policy, value = (
        (each if callable(each) else FixedLambda(value=each))(lengths)
        for each in (lambda_policy, lambda_value)
    )
    states = torch.cat((values.double(), ends.double()[:, None]), 1)  # [B, T + 1]
    earned = rewards.double()
    goes_on = torch.ones_like(earned)

    def estimates(of: Tensor, lam: Tensor) -> Tensor:
        return gae(earned, of, goes_on, gamma=gamma, lam=lam, active=active)

    # A return is the advantage over a critic that expects nothing: no value is added and taken off.
    nothing = torch.zeros_like(states)
    nothing[:, -1] = states[:, -1]
    whole = value == 1.0  # [B]
    own = torch.where(active, states[:, :-1], 0.0)
    mixed = estimates(states, value) + own
    return Credit(
        advantages=estimates(states, policy),
        targets=torch.where(whole[:, None], estimates(nothing, torch.ones_like(value)), mixed),
        lambda_policy=policy,
        lambda_value=value,
    )


def at_last_active(rewards: Tensor, mask: Tensor) -> Tensor:
    """One reward for each row, ``[B]``, on its last active token: ``[B, T]``, 0 elsewhere."""
    active = as_active(mask)
    if rewards.shape != active.shape[:1]:
        raise ValueError(f"rewards must be [{active.shape[0]}], got {list(rewards.shape)}")
    # The last active token is the one that no other active one follows.
    following = active.flip(1).cumsum(1).flip(1)  # [B, T] active tokens from here on
    last = active & (following == 1)
    return torch.where(last, rewards[:, None], rewards.new_zeros(()))


@torch.no_grad()
def whitened(advantages: Tensor, mask: Tensor) -> Tensor:
    """Advantages of a whole step to mean 0 and deviation 1 over its active tokens, in float64.

    ``(A - mean) / (std + 1e-8)``, the deviation with ddof 1; all 0 where fewer than two are active.
    """
    active = as_active(mask)
    wide = advantages.double()
    picked = wide[active]
    if picked.numel() < 2:
        return torch.zeros_like(wide)
    scaled = (wide - picked.mean()) / (picked.std(correction=1) + WHITEN_EPS)
    return torch.where(active, scaled, 0.0)


def _require(name: str, column: Tensor, active: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(column.shape) != shape:
        raise ValueError(f"{name} must be {list(shape)}, got {list(column.shape)}")
    if column.device != active.device:
        raise ValueError(f"{name} is on {column.device}, the mask on {active.device}")
    broken = active & ~column.isfinite()
    if bool(broken.any()):
        place = tuple(broken.nonzero()[0].tolist())
        where = "row {}" if len(place) == 1 else "row {}, position {}"
        raise ValueError(
            f"{name} must be finite at active positions: {int(broken.sum())} are not, the first "
            f"at ({where.format(*place)}) is {column[place].item()}"
        )
