"""The penalty on responses that come near the longest allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limite.core.rollout.shaping import OverlongPenalty

longest_and_buffer = st.integers(1, 40_000).flatmap(
    lambda longest: st.tuples(st.just(longest), st.integers(1, longest))
)


@given(sizes=longest_and_buffer, factor=st.sampled_from((0.0, 0.5, 1.0, 3.0)), tokens=st.data())
def test_it_falls_evenly_over_the_buffer(
    sizes: tuple[int, int], factor: float, tokens: st.DataObject
) -> None:
    longest, buffer = sizes
    penalty = OverlongPenalty(buffer_tokens=buffer, factor=factor)
    assert penalty(longest - buffer, longest) == 0.0
    assert penalty(longest, longest) == penalty(longest + 99, longest) == -factor
    count = tokens.draw(st.integers(0, longest - 1))
    here, after = penalty(count, longest), penalty(count + 1, longest)
    assert -factor <= after <= here <= 0.0
    inside = count >= longest - buffer
    assert here - after == pytest.approx(factor / buffer if inside else 0.0, abs=1e-12)


def test_a_buffer_is_never_empty_nor_longer_than_the_response() -> None:
    for buffer in (0, -1):
        with pytest.raises(ValueError, match="buffer_tokens"):
            OverlongPenalty(buffer_tokens=buffer)
    with pytest.raises(ValueError, match="must be from 1 to 7 tokens"):
        OverlongPenalty(buffer_tokens=8)(3, 7)
    with pytest.raises(ValueError, match="factor"):
        OverlongPenalty(buffer_tokens=8, factor=-0.5)
