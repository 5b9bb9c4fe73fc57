"""Reads the marked answer of a response and compares it exactly."""

from __future__ import annotations

import re
import unicodedata

import attrs

from limite.core.types import Answer, Verdict

_INTEGER = re.compile(r"([-+\u2212]?)0*([0-9]+)")
_RATIONAL = re.compile(r"([-+\u2212]?)([0-9]+)(?:/([0-9]+))?")

DIGITS = 640
"""The most digits of a numerator or denominator: what Python reads however it is configured."""


def _one_character(_instance: object, attribute: attrs.Attribute[str], value: str) -> None:
    if len(value) != 1 or value.isspace() or value.isalnum() or value in "+-/":
        raise ValueError(
            f"{attribute.name!r} must be one character that no answer contains, got {value!r}"
        )


@attrs.frozen(kw_only=True)
class Exact:
    """Compares the one marked answer of a response exactly: integer, fraction or plain text.

    All after the marker is the answer: ``34+56=90#90`` answers 90. A response with a second marker
    is wrong, so that listing guesses cannot pay; one without a marker is unreadable. An integer is
    written in digits: ``84/2`` does not answer 42, or naming the sum would pay like doing it.

    Runs in the caller's process without a deadline: nothing is evaluated, every step is linear in
    the length of the text or bounded by a cap on digits, so there is nothing to kill. Answers that
    need algebra need a worker that can be killed; this verifier calls them unreadable.
    """

    marker: str = attrs.field(default="#", validator=_one_character)

    def write(self, answer: Answer) -> str:
        """A response that states ``answer`` the way this verifier reads it."""
        return f"{self.marker}{answer.value}"

    def __call__(self, answer: Answer, text: str) -> Verdict:
        markers = text.count(self.marker)
        if markers == 0:
            return Verdict(outcome="unreadable", reason="no answer marker")
        if markers > 1:
            return Verdict(outcome="wrong", reason="more than one answer marker")
        stated = text.rpartition(self.marker)[2].strip()
        if not stated:
            return Verdict(outcome="unreadable", reason="nothing after the answer marker")
        read = _READERS.get(answer.type)
        if read is None:
            return Verdict(
                outcome="unreadable",
                extracted=stated,
                reason=f"answers of type {answer.type!r} are not compared exactly",
            )
        gold, given = read(answer, answer.value), read(answer, stated)
        if gold is None:
            return Verdict(
                outcome="unreadable", extracted=stated, reason="the gold answer is malformed"
            )
        if given is None:
            return Verdict(
                outcome="unreadable",
                extracted=stated,
                reason=f"not an answer of type {answer.type}",
            )
        if gold != given:
            return Verdict(outcome="wrong", extracted=stated, reason="another value")
        return Verdict(outcome="right", extracted=stated, reason="the same value")


def _integer(_answer: Answer, text: str) -> tuple[object, ...] | None:
    """Sign and digits without leading zeros; compared as text, so no length is too long."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    return (match[1] not in ("", "+") and match[2] != "0", match[2])


def _rational(_answer: Answer, text: str) -> tuple[object, ...] | None:
    """Numerator and denominator in lowest terms."""
    from fractions import Fraction

    match = _RATIONAL.fullmatch(text)
    if match is None or max(len(match[2]), len(match[3] or "")) > DIGITS:
        return None
    denominator = int(match[3] or "1")
    if denominator == 0:
        return None
    size = Fraction(int(match[2]), denominator)
    return (size if match[1] in ("", "+") else -size,)


def _string(answer: Answer, text: str) -> tuple[object, ...] | None:
    """Words with single spaces, without a final full stop; case counts only where declared."""
    words = " ".join(unicodedata.normalize("NFC", text).split()).removesuffix(".")
    return (words if answer.params.get("case_sensitive") is True else words.casefold(),)


_READERS = {"integer": _integer, "rational": _rational, "string": _string}
