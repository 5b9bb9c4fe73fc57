"""Questions that say the same in other words: equal numbers, and nearly the same phrases.

Two keys of a text are compared: with its numbers masked it is a template, and the numbers are a
list of their own. The same template with other numbers is another problem; nearly the same template
with the same numbers is the same problem again.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Hashable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from limite.core.separation import normalise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDS = 5
"""Words of a shingle."""

ALIKE = 0.8
"""The share of all shingles of two texts that both must have."""

LONG_WORDS = 20_000
"""A template of more words is one run: it is like no other than itself."""

BANDS, ROWS = 16, 4
"""Of a signature: two texts that are just alike enough are compared with a chance of 0.9998."""

_SPACING = re.compile(r"\\(?:q?quad|left|right|displaystyle|textstyle|[,;:! ])(?![A-Za-z])|~")
_SIGNS = re.compile(r"([-+*/=<>^|])")
_NUMBERS = re.compile(r"[0-9]+")
_MASKS = re.compile(r"0(?: 0)+")


def template(text: str) -> str:
    """The text without case, spacing and punctuation, every number in it as 0."""
    return keys(text)[0]


def numbers(text: str) -> tuple[str, ...]:
    """The numbers that stand in a text, in their order."""
    return keys(text)[1]


def keys(text: str) -> tuple[str, tuple[str, ...]]:
    """The template of a text, and its numbers."""
    plain = _plain(text)
    return _MASKS.sub("0", _NUMBERS.sub("0", plain)), tuple(_NUMBERS.findall(plain))


def _plain(text: str) -> str:
    spaced = _SIGNS.sub(r" \1 ", _SPACING.sub(" ", text).replace("$", " "))
    return normalise(spaced)


def shingles(masked: str) -> frozenset[int]:
    """Hashes of all runs of five words of a template; one of fewer words is one run.

    So is one of more than ``LONG_WORDS``, which keeps what is known of any text small.
    """
    words = masked.split()
    runs: Iterable[str] = (masked,)
    if len(words) <= LONG_WORDS:
        runs = (" ".join(words[at : at + WORDS]) for at in range(max(1, len(words) - WORDS + 1)))
    return frozenset(
        int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest(), "big") for run in runs
    )


class Near:
    """Texts by what they say; finds those that nearly say the same. In time linear in all texts.

    Texts are compared only where ``mark`` is the same: their numbers, and what else must agree.
    """

    def __init__(self) -> None:
        self._bands: dict[Hashable, list[int]] = {}
        self._kept: list[tuple[frozenset[int], Any]] = []

    def add(self, masked: str, mark: Hashable, value: Any) -> None:
        """Keeps a template, with what stands for it."""
        mine = shingles(masked)
        for band in self._keys(mine, mark):
            self._bands.setdefault(band, []).append(len(self._kept))
        self._kept.append((mine, value))

    def find(self, masked: str, mark: Hashable) -> Iterator[Any]:
        """What stands for the kept texts that are alike, each once, in the order of keeping."""
        mine = shingles(masked)
        places = {place for band in self._keys(mine, mark) for place in self._bands.get(band, ())}
        for place in sorted(places):
            other, value = self._kept[place]
            if len(mine & other) >= ALIKE * len(mine | other):
                yield value

    def _keys(self, found: frozenset[int], mark: Hashable) -> Iterator[Hashable]:
        """One key for each band of the signature: alike texts share one of them at least."""
        import numpy as np  # late: the commands begin without it

        factors, terms = _permutations()
        hashes = np.fromiter(found, np.uint64, len(found))
        signature = (factors * hashes + terms).min(axis=1)
        for band in range(BANDS):
            yield mark, band, signature[band * ROWS : (band + 1) * ROWS].tobytes()


@cache
def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Factors (odd) and terms of as many reorderings of all 64-bit numbers, the same ever."""
    import numpy as np

    draws = random.Random(1)
    count = BANDS * ROWS
    factors = [draws.getrandbits(64) | 1 for _ in range(count)]
    terms = [draws.getrandbits(64) for _ in range(count)]
    return np.array(factors, np.uint64)[:, None], np.array(terms, np.uint64)[:, None]
