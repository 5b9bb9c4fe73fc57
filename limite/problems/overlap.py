"""How much of an evaluation set turns up in training texts: whole, in part, or in other words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import attrs

from limite.core.separation import normalise
from limite.problems.near import LONG_WORDS, Near, keys

WINDOW = 13
"""Words of a window."""

NEAR = 0.5
"""The share of a text's windows that makes it a near match."""

Kind = Literal["exact", "near", "reworded", "template"]
COPIES: tuple[Kind, ...] = ("exact", "near", "reworded")
KINDS: tuple[Kind, ...] = (*COPIES, "template")


@attrs.frozen
class Match:
    """An evaluation text that turns up: both places, counted from 1, and the words they share."""

    kind: Kind
    row: int
    text: str
    other_row: int
    span: str


@attrs.frozen(kw_only=True)
class Overlap:
    """The evaluation texts that match, each under the first kind that fits.

    ``exact`` texts are equal to a training text once normalised; ``near`` ones share at least half
    of their windows with the training texts; ``reworded`` ones say nearly the same with the same
    numbers; ``template`` ones are equal to a training text but for the numbers: a problem of the
    same kind, and no copy.
    """

    checked: int
    matches: Sequence[Match]

    def of(self, kind: Kind) -> list[str]:
        """The matching texts of a kind."""
        return [match.text for match in self.matches if match.kind == kind]

    @property
    def exact(self) -> list[str]:
        return self.of("exact")

    @property
    def near(self) -> list[str]:
        return self.of("near")

    @property
    def text(self) -> str:
        """What may be said; nothing is claimed of sources that were not listed."""
        exact, near, reworded = (len(self.of(kind)) for kind in COPIES)
        if not exact + near + reworded:
            return f"no overlap found in the listed sources ({self.checked} checked)"
        more = f", {reworded} reworded," if reworded else ""
        return f"{exact} exact and {near} near matches{more} of {self.checked} checked"


def overlap(
    evaluation: Sequence[str],
    training: Iterable[str],
    *,
    window: int = WINDOW,
    common: int | None = None,
) -> Overlap:
    """Compares every evaluation text with all training texts, in time linear in both.

    A text shorter than ``window`` words has no window, so it can only match whole or by its
    template; so can one of more than ``LONG_WORDS``, whose windows are not kept. A window that more
    than ``common`` training texts have is a phrase of a template, and counts for nothing.
    """
    normal = [normalise(text) for text in evaluation]
    own_windows = [[*_windows(text, window)] if _short(text) else [] for text in normal]
    seen_texts: dict[str, int] = {}
    seen_templates: dict[str, int] = {}
    seen_windows: dict[str, list[int]] = {}  # how many texts have it, and the first of them
    reworded: dict[int, int] = {}
    wanted_texts = set(normal)
    wanted_windows = {each for own in own_windows for each in own}
    own_keys = [keys(text) for text in evaluation]
    templates = [masked for masked, _ in own_keys]
    wanted_templates = set(templates)
    alike = Near()
    for place, (masked, mark) in enumerate(own_keys):
        alike.add(masked, mark, place)
    marks = {mark for _, mark in own_keys}
    # Only what an evaluation text could match is kept: training texts may be many.
    for row, text in enumerate(training, start=1):
        other = normalise(text)
        if other in wanted_texts:
            seen_texts.setdefault(other, row)
        windows = _windows(other, window) if wanted_windows else ()
        for each in {each for each in windows if each in wanted_windows}:
            seen_windows.setdefault(each, [0, row])[0] += 1
        masked, mark = keys(text)
        if masked in wanted_templates:
            seen_templates.setdefault(masked, row)
        if mark in marks:
            for place in alike.find(masked, mark):
                reworded.setdefault(place, row)
    matches = []
    for place, key in enumerate(normal):
        own = own_windows[place]
        there = [
            each in seen_windows and (common is None or seen_windows[each][0] <= common)
            for each in own
        ]
        if key in seen_texts:
            kind, other_row, span = KINDS[0], seen_texts[key], key
        elif own and sum(there) >= NEAR * len(own):
            rows = Counter(
                seen_windows[each][1] for each, seen in zip(own, there, strict=True) if seen
            )
            kind, other_row, span = KINDS[1], rows.most_common(1)[0][0], _span(key, there, window)
        elif place in reworded:
            kind, other_row, span = KINDS[2], reworded[place], key
        elif templates[place] in seen_templates:
            kind, other_row, span = KINDS[3], seen_templates[templates[place]], templates[place]
        else:
            continue
        matches.append(Match(kind, place + 1, evaluation[place], other_row, span))
    return Overlap(checked=len(evaluation), matches=matches)


def _short(text: str) -> bool:
    """Whether a normalised text has few enough words that its windows are kept."""
    return text.count(" ") < LONG_WORDS


def _windows(text: str, size: int) -> Iterator[str]:
    words = text.split()
    return (" ".join(words[at : at + size]) for at in range(len(words) - size + 1))


def _span(text: str, there: Sequence[bool], size: int) -> str:
    """The longest run of words that stands in windows which were seen."""
    best, begun = (0, 0), None
    for place, seen in enumerate([*there, False]):
        if seen and begun is None:
            begun = place
        elif not seen and begun is not None:
            best, begun = max(best, (place - begun, -begun)), None
    words = text.split()
    return " ".join(words[-best[1] : -best[1] + best[0] + size - 1])
