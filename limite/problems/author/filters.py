"""Texts that are no problems: each with the reason, before any program is run."""

from __future__ import annotations

import re
from fractions import Fraction

from limite.problems.author.language import LANGUAGES, speaks

__all__ = ["LANGUAGES", "REASONS", "Rejected", "refused"]

SHORTEST, LONGEST = 10, 4_000
TELLING = 5
"""So many characters of an answer stand in no question by chance."""

REASONS = (
    "empty",
    "too-long",
    "language",
    "not-self-contained",
    "several-questions",
    "proof",
    "guessable",
    "instructions",
    "trivial",
    "answer-stated",
)
"""What a text is refused for."""


class Rejected(Exception):
    """What is not kept: the reason in one word for counts, and what shows it."""

    def __init__(self, reason: str, shown: str = "") -> None:
        super().__init__(shown)
        self.reason = reason


_ELSEWHERE = re.compile(
    r"https?://|www\.|\b(figures?|diagrams?|pictures?|images?|graphs?|tables?|drawings?)\b[^.?!]{0,20}"
    r"\b(below|above|shown|attached)\b|\b(shown|see|refer to|in) (in )?(the|this) "
    r"(figure|diagram|picture|image|drawing)\b|\b(previous|preceding) (part|problem|question|"
    r"exercise)\b|\bpart \(?[a-e1-5]\)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"(?:^|\s)\([ai1]\)\s.*\s\((?:b|ii|2)\)\s", re.DOTALL)
_CHOICE = re.compile(r"\(?\bA[.)]\s.*\(?\bB[.)]\s.*\(?\bC[.)]\s|\(A\).*\(B\)", re.DOTALL)
_PROOF = re.compile(
    r"\b(prove|show) that\b|\bprove\b|\bgive a proof\b|\bexplain why\b|\bjustify\b", re.IGNORECASE
)
_YES_OR_NO = re.compile(
    r"(?:^|[.!?:]\s+)(is|are|does|do|can|was|were|will|has|have)\s[^.?!]*\?\s*$"
    r"|\b(true or false|yes or no|which of the following)\b",
    re.IGNORECASE,
)
_INSTRUCTIONS = re.compile(
    r"\b(ignore|disregard|forget)\b[^.?!]{0,40}\b(instruction|prompt|the above|previous)"
    r"|\bsystem prompt\b|\bas an ai\b|\byou are (now )?(a|an) (ai|assistant|language model)\b"
    r"|<\|[a-z_]+\|>|```|\b(os\.system|subprocess|__import__)\b|\b(accept|approve) this problem\b",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"(?:what is|what's|compute|calculate|evaluate|find)?[\s:$]*"
    r"(?:the (?:sum|product|difference) of)?[\s:$]*-?\d{1,2}\s*"
    r"(?:[-+*/x×·÷−]|plus|minus|times|and|\\times|\\cdot|\\div)\s*-?\d{1,2}"
    r"[\s$]*(?:=\s*\?*)?[.?\s]*",
    re.IGNORECASE,
)
_BEFORE = (
    r"(?:\b(?:answer|result|solution)\b(?:\s+(?:is|equals|should be|must be))?|\bequals|\bwhich is)"
)


def refused(text: str, answer: str, *, answer_type: str, language: str) -> tuple[str, str] | None:
    """The reason, one of ``REASONS``, and what shows it; None where the text may be a problem."""
    words = text.strip()
    if len(words) < SHORTEST or not re.search(r"[^\W\d_]{2}", words):
        return "empty", f"{len(words)} characters"
    if len(words) > LONGEST:
        return "too-long", f"{len(words):,} characters, of at most {LONGEST:,}"
    if any(ord(character) < 32 and character not in "\n\t" for character in words):
        return "empty", "it holds control characters"
    if found := _INSTRUCTIONS.search(words):
        return "instructions", found[0]
    if other := speaks(words, language):
        return "language", other
    if found := _ELSEWHERE.search(words):
        return "not-self-contained", found[0]
    if _PARTS.search(words) or words.count("?") > 1:
        return "several-questions", "more than one question"
    if found := _PROOF.search(words):
        return "proof", found[0]
    if answer_type not in ("boolean", "choice"):
        if found := _YES_OR_NO.search(words):
            return "guessable", found[0].strip()[:80]
        if _CHOICE.search(words):
            return "guessable", "options to choose from"
    if _SUM.fullmatch(words):
        return "trivial", "one step on small numbers"
    if shown := _stated(words, answer):
        return "answer-stated", shown
    return None


def _stated(text: str, answer: str) -> str:
    """Where the answer stands in the question, if it does and not by chance."""
    whole = rf"(?<![\w.]){re.escape(answer)}(?![\w]|\.\d)"
    if len(answer) >= TELLING and (found := re.search(whole, text)):
        return found[0]
    found = re.search(rf"{_BEFORE}\s*[:=]?\s*\$?{whole}", text, re.IGNORECASE)
    return found[0] if found else ""


def out_of_range(value: str, ends: tuple[Fraction, Fraction] | None) -> bool:
    """Whether a canonical number lies outside; what is no number has no range."""
    if ends is None:
        return False
    try:
        return not ends[0] <= Fraction(value) <= ends[1]
    except (ValueError, ZeroDivisionError):
        return False
