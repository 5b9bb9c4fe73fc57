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


def typical_pass_rate(contrast_share: float, group_size: int) -> float:
    """The pass rate, at most a half, at which that share of groups would have contrast.

    ``1 - p`` would do as well. Where no rate gives so much contrast it is a half.
    """
    low, high = 0.0, 0.5
    for _ in range(60):  # halves the stretch until floats cannot tell its ends apart
        middle = (low + high) / 2
        if mixed_group_probability(middle, group_size) < contrast_share:
            low = middle
        else:
            high = middle
    return high


LOW_CONTRAST = 1 / 3
"""Below this share of groups with contrast most of what is sampled teaches nothing."""

ONE_SIDE = 4
"""How many times as many groups of one kind make a set of problems too hard, or too easy."""


def contrast_hint(
    contrast_share: float, all_wrong_share: float, all_correct_share: float, group_size: int
) -> str:
    """What to change where few groups have contrast; empty where enough have."""
    if contrast_share >= LOW_CONTRAST or group_size < 2:
        return ""
    rate = typical_pass_rate(contrast_share, group_size)
    if all_wrong_share >= ONE_SIDE * all_correct_share:
        near, change = f"{rate:.2g}", "make problems easier"
    elif all_correct_share >= ONE_SIDE * all_wrong_share:
        near, change = f"{1 - rate:.3g}", "make problems harder"
    else:
        near, change = f"{rate:.2g} or {1 - rate:.3g}", "choose problems between the two"
    return (
        f"{1 - contrast_share:.0%} of groups of {group_size} had no contrast, as with a typical "
        f"pass rate near {near}; {change}, as more samples of these are mostly wasted"
    )
