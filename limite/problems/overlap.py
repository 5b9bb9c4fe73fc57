"""How much of an evaluation set turns up, whole or nearly, in training texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from limite.core.separation import normalise

WINDOW = 13
"""Words of a window."""

NEAR = 0.5
"""The share of a text's windows that makes it a near match."""


@attrs.frozen(kw_only=True)
class Overlap:
    """Counts of evaluation texts, and the matching ones themselves.

    ``exact`` texts are equal to a training text once normalised; ``near`` ones are not, but share
    at least half of their 13-word windows with the training texts.
    """

    checked: int
    exact: Sequence[str]
    near: Sequence[str]

    @property
    def text(self) -> str:
        """What may be said; nothing is claimed of sources that were not listed."""
        if not self.exact and not self.near:
            return f"no overlap found in the listed sources ({self.checked} checked)"
        return (
            f"{len(self.exact)} exact and {len(self.near)} near matches of {self.checked} checked"
        )


def overlap(evaluation: Sequence[str], training: Iterable[str]) -> Overlap:
    """Compares every evaluation text with all training texts, in time linear in both.

    A text shorter than 13 words has no window, so it can only match whole.
    """
    normal = [normalise(text) for text in evaluation]
    windows = [_windows(text) for text in normal]
    wanted_texts = set(normal)
    wanted_windows = {window for own in windows for window in own}
    seen_texts: set[str] = set()
    seen_windows: set[str] = set()
    for text in training:
        other = normalise(text)
        if other in wanted_texts:
            seen_texts.add(other)
        # Only what an evaluation text could match is kept: training texts may be many.
        seen_windows.update(window for window in _windows(other) if window in wanted_windows)
    exact, near = [], []
    for text, key, own in zip(evaluation, normal, windows, strict=True):
        if key in seen_texts:
            exact.append(text)
        elif own and sum(window in seen_windows for window in own) >= NEAR * len(own):
            near.append(text)
    return Overlap(checked=len(evaluation), exact=exact, near=near)


def _windows(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + WINDOW]) for at in range(len(words) - WINDOW + 1)]
