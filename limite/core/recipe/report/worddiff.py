"""What two texts have in common, word by word, as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from limite.core.recipe.report import words
from limite.core.recipe.report.words import escape

MOST_WORDS = 400  # of each text: the time grows with the product of both
ALIKE = 0.3
"""The least share of words in common at which one text is shown as changes of the other."""

# A word, a number, a command or a mark, with the space behind it.
_WORD = re.compile(r"(?:[^\W\d_]+|\d+|\\[A-Za-z]+|\S)\s*|\s+")


def compared(before: str, after: str) -> tuple[str, str]:
    """A sentence on how alike two texts are, and both as one: ``<del>`` and ``<ins>`` in place.

    Texts that have little in common give no HTML, for nothing could be read in it.
    """
    if before == after:
        return "Both are the same text.", ""
    ours, theirs = (_WORD.findall(text) for text in (before, after))
    cut = max(len(ours), len(theirs)) > MOST_WORDS
    ours, theirs = ours[:MOST_WORDS], theirs[:MOST_WORDS]
    common = in_common(ours, theirs)
    share = 2 * len(common) / max(1, len(ours) + len(theirs))
    start = next((at for at, (a, b) in enumerate(common) if (a, b) != (at, at)), len(common))
    said = f"They have {words.percent(share)} of "
    said += f"their first {MOST_WORDS} words and marks" if cut else "words and marks"
    said += f" in common, the first {start} among them." if start else " in common."
    return said, _merged(ours, theirs, common) if share >= ALIKE else ""


def in_common(ours: Sequence[str], theirs: Sequence[str]) -> list[tuple[int, int]]:
    """The places of a longest common subsequence of two lists, in order."""
    head = 0
    while head < min(len(ours), len(theirs)) and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < min(len(ours), len(theirs)) - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    a, b = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    # lengths[i][j]: how many of a[i:] and b[j:] can be paired.
    lengths = [[0] * (len(b) + 1)]
    for word in reversed(a):
        below = lengths[-1]
        row = [0] * (len(b) + 1)
        for j in range(len(b) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if word == b[j] else max(below[j], row[j + 1])
        lengths.append(row)
    lengths.reverse()
    pairs = [(at, at) for at in range(head)]
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((head + i, head + j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    pairs += [(len(ours) - at, len(theirs) - at) for at in range(tail, 0, -1)]
    return pairs


def _merged(ours: Sequence[str], theirs: Sequence[str], common: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    i = j = 0
    for a, b in [*common, (len(ours), len(theirs))]:
        gone, come = "".join(ours[i:a]), "".join(theirs[j:b])
        parts.append(f"<del>{escape(gone)}</del>" if gone else "")
        parts.append(f"<ins>{escape(come)}</ins>" if come else "")
        if a < len(ours):
            parts.append(escape(ours[a]))
        i, j = a + 1, b + 1
    return "".join(parts)
