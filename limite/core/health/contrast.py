"""Reward contrast: which groups can teach anything, and how often that is to be expected."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from limite.core.types import Group

FLAT = 1e-12  # relative spread of rewards that is rounding, not signal


def is_flat(rewards: Sequence[float | None]) -> bool:
    """Whether a group's scored rewards are equal to rounding, or fewer than two.

    ``0.1 + 0.2`` against ``0.3`` is flat; ``1.0`` against ``1.00001`` is not.
    """
    scored = [reward for reward in rewards if reward is not None]
    if len(scored) < 2:
        return True
    largest = max(1.0, max(abs(reward) for reward in scored))
    return max(scored) - min(scored) <= FLAT * largest


@attrs.frozen(kw_only=True)
class ContrastShares:
    """Shares of the groups of a batch. ``all_correct`` and ``all_wrong`` go by accuracy alone.

    Shaped rewards differ even where every answer is wrong, so contrast is that of rewards before
    any shaping. Shares of no groups are None.
    """

    groups: int
    reward_contrast_share: float | None
    no_contrast_share: float | None
    all_correct_share: float | None
    all_wrong_share: float | None
    unscored_share: float | None


def contrast_shares(groups: Sequence[Group]) -> ContrastShares:
    """What part of ``groups`` has reward contrast, is all correct, is all wrong, is not scored."""
    contrast = correct = wrong = unscored = responses = 0
    for group in groups:
        contrast += not is_flat(group.unshaped_rewards)
        responses += len(group.rewards)
        outcomes = [
            right
            for right, reward in zip(group.correct, group.rewards, strict=True)
            if reward is not None
        ]
        unscored += len(group.rewards) - len(outcomes)
        correct += bool(outcomes) and all(outcomes)
        wrong += bool(outcomes) and not any(outcomes)

    def share(count: int, of: int) -> float | None:
        return count / of if of else None

    total = len(groups)
    return ContrastShares(
        groups=total,
        reward_contrast_share=share(contrast, total),
        no_contrast_share=share(total - contrast, total),
        all_correct_share=share(correct, total),
        all_wrong_share=share(wrong, total),
        unscored_share=share(unscored, responses),
    )


def mixed_group_probability(pass_rate: float, group_size: int) -> float:
    """The chance that ``group_size`` responses are neither all right nor all wrong."""
    return 1.0 - pass_rate**group_size - (1.0 - pass_rate) ** group_size
