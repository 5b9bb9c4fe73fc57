"""Judges a text against an answer in this process: bounded by sizes, without a deadline."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from limite.core.types import Answer, Verdict
from limite.problems.answers import CHECKED, type_of
from limite.problems.reading.extract import extract as extracted_from
from limite.problems.reading.faults import TooLarge, Undecided, Unreadable, WrongForm

SHOWN = 2_000
"""The most characters of an answer that a verdict repeats."""


class Standard:
    """An answer that is read once, for any number of texts to be judged against.

    Length, nesting, digits, powers and terms are checked before they cost anything, so reading is
    bounded whatever the text. A proof by computer algebra is not: where that may be asked for, and
    where the text is a stranger's, call ``limite.problems.verify`` instead.
    """

    def __init__(self, answer: Answer) -> None:
        self.value, self.params = answer.value, answer.params
        self.by_program = answer.type in CHECKED
        self.fault = ""  # what is wrong with the answer itself
        try:
            self.kind = type_of(answer.type)
            self.gold: Any = self.kind.read(answer.value, answer.params)
        except (Unreadable, WrongForm) as error:
            self.fault = str(error)

    def judge(self, stated: str | None) -> Verdict:
        """The verdict on a final answer; None is a response that states none."""
        if stated is None or not stated.strip():
            return Verdict(outcome="unreadable", reason="no answer is stated")
        shown = stated[:SHOWN]
        if self.by_program:
            reason = "a checker program is run in the sandbox, by limite.problems.verify"
            return Verdict(outcome="unreadable", extracted=shown, reason=reason)
        if self.fault:
            reason = f"the gold answer is malformed: {self.fault}"
            return Verdict(outcome="unreadable", extracted=shown, reason=reason)
        try:
            # The same text reads the same.
            given = self.gold if stated == self.value else self.kind.read(stated, self.params)
            right = self.kind.equal(self.gold, given, self.params)
        except TooLarge as error:
            return Verdict(outcome="unreadable", extracted=shown, reason=f"limit: {error}")
        except Unreadable as error:
            return Verdict(outcome="unreadable", extracted=shown, reason=str(error))
        except WrongForm as error:
            return Verdict(outcome="wrong", extracted=shown, reason=f"wrong form: {error}")
        except Undecided as error:
            return Verdict(outcome="unreadable", extracted=shown, reason=f"undecided: {error}")
        if right:
            return Verdict(outcome="right", extracted=shown, reason="the same value")
        return Verdict(outcome="wrong", extracted=shown, reason="another value")


def judge(
    answer: Answer, text: str, *, extract: bool = True, fallbacks: Collection[str] = ()
) -> Verdict:
    """The verdict on ``text``, a whole response or, without ``extract``, the final answer itself.

    What ``Standard`` says of strangers' texts holds here too.
    """
    stated: str | None = text
    if extract:
        stated = extracted_from(text, fallbacks=fallbacks)
    if stated is None or not stated.strip():
        return Verdict(outcome="unreadable", reason="no answer is stated")
    return Standard(answer).judge(stated)
