"""Problems that are there already, and problems of benchmarks: neither is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from limite.core.separation import normalise, text_hash
from limite.problems import files
from limite.problems.near import Near, numbers, template

WINDOW = 13
SHARE = 0.5
"""Of the runs of words of the shorter of two texts, those that make the other a copy."""


class Known:
    """Problems by what they say: those of files, and those that were accepted."""

    def __init__(self, *, per_template: int) -> None:
        self._per_template = per_template
        self._texts: dict[str, str] = {}
        self._near = Near()
        self._templates: Counter[str] = Counter()

    def add(self, text: str, place: str, *, made: bool = True) -> None:
        """Keeps a problem; only ``made`` ones count for the cap of templates."""
        self._texts.setdefault(text_hash(text), place)
        masked = template(text)
        self._near.add(masked, numbers(text), place)
        if made:
            self._templates[masked] += 1

    def find(self, text: str, *, capped: bool = True) -> tuple[str, str] | None:
        """The reason for which a problem is not new, and the place of the other one.

        Not ``capped``, as many may differ in numbers alone as there are.
        """
        if (place := self._texts.get(text_hash(text))) is not None:
            return "duplicate", place
        masked = template(text)
        if (place := next(self._near.find(masked, numbers(text)), None)) is not None:
            return "near-duplicate", place
        if capped and self._templates[masked] >= self._per_template:
            return "template", f"{self._templates[masked]} differ in numbers alone"
        return None


class Benchmarks:
    """The questions that must not be made: whole, in long runs of words, with other numbers."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._whole: dict[str, str] = {}
        self._templates: dict[str, str] = {}
        self._windows: dict[str, tuple[str, int]] = {}
        self._near = Near()
        self.count = 0
        for path in paths:
            for row, problem in enumerate(files.iterate(path), start=1):
                self._add(problem.problem, f"{path.name}, row {row}")

    def _add(self, text: str, place: str) -> None:
        self.count += 1
        plain = normalise(text)
        self._whole.setdefault(plain, place)
        self._templates.setdefault(template(text), place)
        self._near.add(template(text), numbers(text), place)
        windows = _windows(plain)
        for window in windows:
            self._windows.setdefault(window, (place, len(windows)))

    def find(self, text: str) -> str:
        """Which question it is, and the words that tell; nothing where it is none of them."""
        plain = normalise(text)
        if plain in self._whole:
            return f"{self._whole[plain]}: the same question"
        own = _windows(plain)
        shared = [window for window in own if window in self._windows]
        places = Counter(self._windows[window][0] for window in shared)
        for window in shared:
            place, other = self._windows[window]
            if places[place] >= SHARE * min(len(own), other):
                return f"{place}: {window}"
        for place in self._near.find(template(text), numbers(text)):
            return f"{place}: nearly the same words and the same numbers"
        masked = template(text)
        if len(masked.split()) >= 5 and masked in self._templates:
            return f"{self._templates[masked]}: the same but for numbers"
        return ""


def _windows(plain: str) -> Sequence[str]:
    words = plain.split()
    return [" ".join(words[at : at + WINDOW]) for at in range(len(words) - WINDOW + 1)]
