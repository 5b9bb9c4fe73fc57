"""Two texts laid over each other: nothing is lost, and the most is found that they share."""

from __future__ import annotations

import html
import re
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from limite.core.recipe.report import worddiff
from limite.core.recipe.report.words import visible

few = st.lists(st.sampled_from("abc"), max_size=7)


def longest(ours: list[str], theirs: list[str]) -> int:
    """Every choice of words, tried."""

    def within(chosen: tuple[str, ...]) -> bool:
        rest = iter(theirs)
        return all(word in rest for word in chosen)

    return max(
        size
        for size in range(len(ours) + 1)
        if any(within(chosen) for chosen in combinations(ours, size))
    )


@given(few, few)
def test_the_most_in_common_is_found(ours: list[str], theirs: list[str]) -> None:
    pairs = worddiff.in_common(ours, theirs)
    assert all(ours[a] == theirs[b] for a, b in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert len(pairs) == longest(ours, theirs)


@given(st.text('ab <>&"1\n=', max_size=40), st.text('ab <>&"1\n=', max_size=40))
def test_each_text_is_there_whole(before: str, after: str) -> None:
    said, body = worddiff.compared(before, after)
    if before == after:
        assert (said, body) == ("Both are the same text.", "")
    elif body:
        for gone, whole in (("ins", before), ("del", after)):
            left = re.sub(rf"<{gone}>.*?</{gone}>", "", body, flags=re.DOTALL)
            assert html.unescape(re.sub(r"</?(?:ins|del)>", "", left)) == visible(whole)


def test_long_and_unlike_texts_are_told_and_not_shown() -> None:
    said, body = worddiff.compared("one " * 3000, "one " * 2999 + "two")
    assert "their first 400 words and marks" in said
    assert body.count("one") == 400
    said, body = worddiff.compared("a b c d", "w x y z")
    assert (said, body) == ("They have 0.0% of words and marks in common.", "")
