"""Credit for every token from a critic's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import torch
from attrs.validators import and_, ge, le
from torch import Tensor

from limite.core.errors import LimiteError
from limite.core.train.credit import (
    Credit,
    FixedLambda,
    HalfLife,
    Lambda,
    LengthAdaptive,
    generalised_advantages,
    whitened,
)
from limite.core.train.replay import pad_rows
from limite.core.types import Group

HALF_LIFE, ADAPTIVE = "half-life", "length-adaptive"


def lambda_of(said: float | str) -> Lambda:
    """The rule that a setting stands for: a number, or one of two words; see the class below."""
    if not isinstance(said, str):
        return FixedLambda(value=float(said))
    name, colon, alpha = said.partition(":")
    if said == HALF_LIFE:
        return HalfLife()
    if name == ADAPTIVE and (alpha or not colon):
        return LengthAdaptive(alpha=float(alpha)) if colon else LengthAdaptive()
    return FixedLambda(value=float(said))


def _lambda(_instance: Any, attribute: Any, value: float | str) -> None:
    try:
        lambda_of(value)
    except ValueError:
        raise ValueError(
            f"{attribute.name!r} must be a number from 0 to 1, {HALF_LIFE!r}, or "
            f"'{ADAPTIVE}:ALPHA' with a number above 0, got {value!r}"
        ) from None


@attrs.frozen(kw_only=True)
class GeneralisedAdvantage:
    """Generalised advantage estimation over a critic's values (GAE, arXiv:1506.02438).

    ``delta_k = R_k + gamma V_{k+1} - V_k`` and ``A_k = delta_k + gamma lambda A_{k+1}`` over the
    tokens of a response, whose reward its last one earns. ``lam`` is a number, ``half-life``
    (``0.5 ** (1 / L)`` for a response of ``L`` tokens: its end weighs a half at its start) or
    ``length-adaptive:ALPHA`` (``1 - 1 / (ALPHA L)``, at least 0: VAPO, arXiv:2504.05118). The
    critic learns from ``lam_value`` and the policy from ``lam`` (VC-PPO, arXiv:2503.01491).

    A response whose reward is None gets 0 and teaches the critic nothing. Everything runs in
    float64.
    """

    needs_values: ClassVar[bool] = True
    centred: ClassVar[bool] = False

    lam: float | str = attrs.field(
        default=0.95,
        validator=_lambda,
        metadata={"help": "of the policy: a number, 'half-life' or 'length-adaptive:ALPHA'"},
    )
    lam_value: float | str = attrs.field(
        default=1.0,
        validator=_lambda,
        metadata={"help": "of the critic's targets; at 1 what was really earned"},
    )
    gamma: float = attrs.field(
        default=1.0, validator=and_(ge(0.0), le(1.0)), metadata={"help": "discount of a token"}
    )
    whiten: bool = attrs.field(
        default=False,
        metadata={
            "help": "to mean 0 and deviation 1 over the tokens of a rollout batch that are learned "
            "from"
        },
    )
    bootstrap_truncated: bool = attrs.field(
        default=False,
        metadata={"help": "a response cut at its budget counts as going on: the critic's value"},
    )

    def __call__(self, group: Group) -> Tensor:
        return self._credit(group).advantages  # [G, T] float64

    def targets(self, group: Group) -> Tensor:
        """``[G, T]``: what the critic's values should have been."""
        return self._credit(group).targets

    def over_batch(self, groups: Sequence[Group], credits: Sequence[Tensor]) -> Sequence[Tensor]:
        """The credits of all groups of a rollout batch, whitened together where that is wanted.

        A response that is not learned from has no part in mean and deviation, and gets 0.
        """
        if not self.whiten:
            return credits
        masks = [_scored(group) & _learned(group) for group in groups]
        flat = [credit[mask] for credit, mask in zip(credits, masks, strict=True)]
        together = torch.cat(flat)[None]  # [1, M]
        scaled = whitened(together, torch.ones_like(together, dtype=torch.bool))[0]
        whole = []
        parts = scaled.split([len(part) for part in flat])
        for credit, mask, part in zip(credits, masks, parts, strict=True):
            whole.append(torch.zeros_like(credit).masked_scatter(mask, part))
        return whole

    def _credit(self, group: Group) -> Credit:
        if group.values is None:
            raise LimiteError("credit by values needs a critic, and this group has no values")
        mask = _scored(group)
        after = None
        if self.bootstrap_truncated:
            if group.values_after is None:
                raise LimiteError("bootstrap_truncated needs the values after the last tokens")
            ends = [
                value if response.finish_reason == "length" else 0.0
                for value, response in zip(group.values_after, group.responses, strict=True)
            ]
            after = torch.tensor(ends, dtype=torch.float64)
        return generalised_advantages(
            pad_rows(group.values, mask.shape[1], torch.float64),
            torch.tensor([reward or 0.0 for reward in group.rewards], dtype=torch.float64),
            mask,
            gamma=self.gamma,
            lambda_policy=lambda_of(self.lam),
            lambda_value=lambda_of(self.lam_value),
            after=after,
        )


def _scored(group: Group) -> Tensor:
    """``[G, T]`` bool: the tokens of responses that have a reward."""
    lengths = torch.tensor(
        [
            0 if reward is None else len(response.completion_ids)
            for reward, response in zip(group.rewards, group.responses, strict=True)
        ]
    )
    longest = max(len(response.completion_ids) for response in group.responses)
    return torch.arange(longest) < lengths[:, None]


def _learned(group: Group) -> Tensor:
    """``[G, 1]`` bool: the responses that are learned from."""
    return torch.tensor([*group.learned] or [True] * len(group.responses))[:, None]
