"""Sampling from the likeliest tokens: which are kept, against the plainest way to choose them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limite.core.errors import LimiteError
from limite.core.rollout.budget import completion_budget
from limite.core.rollout.drawing import nucleus

LOGITS = st.lists(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0]), min_size=1, max_size=8)


def plainly(logits: list[float], top_p: float) -> set[int]:
    """The likeliest ids one after the other, until they have the share."""
    shares = torch.tensor(logits).softmax(0, dtype=torch.float64).tolist()
    kept: set[int] = set()
    together = 0.0
    for place in sorted(range(len(logits)), key=lambda each: (-logits[each], each)):
        if together >= top_p - 1e-12:
            break
        kept.add(place)
        together += shares[place]
    return kept


@given(LOGITS, st.sampled_from([0.01, 0.301, 0.501, 0.951, 0.999]))
def test_the_likeliest_that_have_the_share_are_kept(logits: list[float], top_p: float) -> None:
    found = nucleus(torch.tensor([logits]), top_p)[0]
    kept = {place for place, each in enumerate(found.tolist()) if each > float("-inf")}
    assert kept == plainly(logits, top_p)
    assert all(found[place] == logits[place] for place in kept)


def test_by_hand() -> None:
    shares = torch.tensor([[0.5, 0.2, 0.2, 0.1]])
    for top_p, kept in ((0.4, [0]), (0.6, [0, 1]), (0.85, [0, 1, 2]), (0.95, [0, 1, 2, 3])):
        found = nucleus(shares.log(), top_p)[0]
        assert [place for place in range(4) if found[place].isfinite()] == kept


def test_a_budget_that_keeps_room_for_any_prompt() -> None:
    for prompt, most, budget in ((10, 131_072, 126_976), (4096, 131_072, 126_976), (9, 500, 500)):
        assert (
            completion_budget(
                "reserved-prompt", prompt_tokens=prompt, max_tokens=most, context=131_072
            )
            == budget
        )
    for prompt, context in ((4097, 131_072), (10, 4096)):
        with pytest.raises(LimiteError, match="keeps 4096 tokens"):
            completion_budget(
                "reserved-prompt", prompt_tokens=prompt, max_tokens=context, context=context
            )
    with pytest.raises(LimiteError, match="did you mean 'native-context'"):
        completion_budget("native-contxt", prompt_tokens=1, max_tokens=1, context=9)
