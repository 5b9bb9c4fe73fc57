"""Texts with slots: written with the values of a problem, and read back to those values.

A template is plain text (LaTeX too) with slots ``<name:kind>``; ``<name>`` alone is an integer.
What a family says in a template, its ``solve`` reads from it, so that an answer is found from the
text alone, and a text that says something else than its family meant is found out.

A slot may also take a word from a list, drawn as the text is written and of no meaning for the
answer: ``Wording("<who> has <count> <things>.", words={"who": ("Ana", "Luc"), ...})``. The same
name twice is the same value twice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import attrs

from limite.problems.procedural import polynomials

Values = Mapping[str, Any]


@attrs.frozen
class Kind:
    """How values of a slot are written, what that looks like, and how it is read."""

    write: Callable[[Any], str]
    pattern: str
    read: Callable[[str], Any]


def ratio_text(value: Fraction | int) -> str:
    """A whole number, or a fraction in LaTeX: ``-\\frac{1}{2}``."""
    value = Fraction(value)
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return f"{sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def read_ratio(text: str) -> Fraction:
    if "\\" not in text:
        return Fraction(int(text))
    sign, _, rest = text.partition("\\frac{")
    top, _, bottom = rest.partition("}{")
    return Fraction(int(f"{sign}{top}"), int(bottom[:-1]))


def matrix_text(rows: Sequence[Sequence[Any]]) -> str:
    """Rows of whole numbers or fractions as a LaTeX ``pmatrix``."""
    body = " \\\\ ".join(" & ".join(ratio_text(entry) for entry in row) for row in rows)
    return f"\\begin{{pmatrix}} {body} \\end{{pmatrix}}"


def _read_matrix(text: str) -> list[list[Fraction]]:
    body = text[len("\\begin{pmatrix}") : -len("\\end{pmatrix}")]
    return [[read_ratio(entry.strip()) for entry in row.split("&")] for row in body.split("\\\\")]


def decimal_text(value: Fraction) -> str:
    """A number whose decimals end, written out."""
    places, top, bottom = 0, abs(value.numerator), value.denominator
    while top % bottom:
        top *= 10
        places += 1
        if places > 30:
            raise ValueError(f"the decimals of {value} do not end")
    digits = str(top // bottom).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _integers_text(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


_WHOLE = "-?[0-9]+"
_RATIO = rf"-?\\frac\{{[0-9]+\}}\{{[0-9]+\}}|{_WHOLE}"
KINDS: Mapping[str, Kind] = {
    "integer": Kind(str, _WHOLE, int),
    "ratio": Kind(ratio_text, _RATIO, read_ratio),
    "decimal": Kind(decimal_text, rf"{_WHOLE}(?:\.[0-9]+)?", Fraction),
    "integers": Kind(
        _integers_text,
        rf"{_WHOLE}(?:, {_WHOLE})*",
        lambda text: [int(each) for each in text.split(", ")],
    ),
    "ratios": Kind(
        lambda values: ", ".join(map(ratio_text, values)),
        rf"(?:{_RATIO})(?:, (?:{_RATIO}))*",
        lambda text: [read_ratio(each) for each in text.split(", ")],
    ),
    "matrix": Kind(
        matrix_text,
        r"\\begin\{pmatrix\}[-0-9a-z &{}\\]+?\\end\{pmatrix\}",
        _read_matrix,
    ),
    "polynomial": Kind(polynomials.latex, polynomials.PATTERN, polynomials.read),
    "word": Kind(str, r"[^\W_]+", str),
    "text": Kind(str, r".+?", str),
}
_SLOT = re.compile(r"<([a-z][a-z_]*)(?::([a-z]+))?>")


class Wording:
    """One way to say a problem."""

    def __init__(self, template: str, words: Mapping[str, Sequence[str]] | None = None) -> None:
        self.template = template
        self._words = {name: tuple(choices) for name, choices in (words or {}).items()}
        self._parts: list[tuple[str, str, Kind | None]] = []
        self._reads: dict[str, Callable[[str], Any]] = {}
        pattern, end = "", 0
        for match in _SLOT.finditer(template):
            name, kind = match[1], match[2] or "integer"
            before = template[end : match.start()]
            pattern += re.escape(before)
            if name in self._words:
                self._parts.append((before, name, None))
                choices = "|".join(map(re.escape, sorted(self._words[name], key=len)[::-1]))
                shape = choices
            elif kind in KINDS:
                self._parts.append((before, name, KINDS[kind]))
                shape = KINDS[kind].pattern
            else:
                raise ValueError(f"{template!r}: no kind of slot {kind!r}: {', '.join(KINDS)}")
            if f"(?P<{name}>" in pattern:
                pattern += f"(?P={name})"
            else:
                pattern += f"(?P<{name}>{shape})"
                if name not in self._words:
                    self._reads[name] = KINDS[kind].read
            end = match.end()
        self._tail = template[end:]
        self._shape = pattern + re.escape(self._tail)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """What a text of this wording looks like; made when the first text is read."""
        return re.compile(self._shape, re.DOTALL)

    @property
    def slots(self) -> frozenset[str]:
        """The names whose values a problem must bring."""
        return frozenset(self._reads)

    def say(self, rng: random.Random, values: Values) -> str:
        """The text with these values. Words are drawn from ``rng``."""
        text, drawn = "", {}
        for before, name, kind in self._parts:
            text += before
            if kind is not None:
                text += kind.write(values[name])
            else:
                if name not in drawn:
                    choices = self._words[name]
                    drawn[name] = choices[int(rng.random() * len(choices))]
                text += drawn[name]
        return text + self._tail

    def read(self, text: str) -> dict[str, Any] | None:
        """The values a text was written with; None where it was not written by this wording."""
        match = self._pattern.fullmatch(text)
        if match is None:
            return None
        try:
            return {name: read(match[name]) for name, read in self._reads.items()}
        except (ValueError, ZeroDivisionError):
            return None


class Wordings:
    """Every way a family says its problems, by what it asks.

    ``Wordings("What is <a> times <b>?", "Find <a> times <b>.")`` asks one thing in two ways;
    ``Wordings(sum=("Add <a> and <b>.",), product=(...))`` asks two things.
    """

    def __init__(
        self,
        *same: str,
        words: Mapping[str, Sequence[str]] | None = None,
        **by_ask: Sequence[str] | str,
    ) -> None:
        asks: dict[str, Sequence[str]] = {
            ask: (templates,) if isinstance(templates, str) else templates
            for ask, templates in by_ask.items()
        }
        if same:
            asks[""] = same
        self.asks: Mapping[str, tuple[Wording, ...]] = {
            ask: tuple(Wording(template, words) for template in templates)
            for ask, templates in asks.items()
        }

    def say(self, rng: random.Random, values: Values, ask: str = "") -> str:
        """A text with these values, in one of the wordings of ``ask``."""
        choices = self.asks[ask]
        return choices[int(rng.random() * len(choices))].say(rng, values)

    def read(self, text: str) -> tuple[str, dict[str, Any]] | None:
        """What a text asks, and with which values; None where no wording fits."""
        for ask, wordings in self.asks.items():
            for wording in wordings:
                values = wording.read(text)
                if values is not None:
                    return ask, values
        return None
