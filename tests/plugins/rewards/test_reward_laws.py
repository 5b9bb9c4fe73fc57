from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, settings

from limite.plugins.conformance.reward import reward_laws
from limite.plugins.rewards.accuracy import Accuracy

LAWS = reward_laws(Accuracy())
FIRST_FAILURE = settings(phases=[Phase.generate])  # no time is spent on a smaller one


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_accuracy_obeys(law: Callable[[], None]) -> None:
    law()


def test_a_reward_that_draws_lots_breaks_a_law() -> None:
    values = iter(range(10**6))
    with pytest.raises(AssertionError):
        FIRST_FAILURE(reward_laws(lambda *_: float(next(values)))["is_deterministic"])()
    with pytest.raises(AssertionError):
        FIRST_FAILURE(reward_laws(lambda *_: float("nan"))["is_total"])()
