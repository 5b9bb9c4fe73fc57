"""Words: with single spaces, without a final full stop, of any case unless that is declared."""

from __future__ import annotations

import re
import unicodedata

from limite.problems.answers.kind import Params
from limite.problems.reading.decoration import bare
from limite.problems.reading.faults import Unreadable

_SPACES = re.compile(r"(?:\s|\\[,;: ]|~)+")


def read(text: str, params: Params) -> str:
    words = _SPACES.sub(" ", unicodedata.normalize("NFC", bare(text))).strip()
    if not words:
        raise Unreadable("nothing is stated")
    return words


def show(value: str, params: Params) -> str:
    return value


def equal(gold: str, given: str, params: Params) -> bool:
    if params.get("case_sensitive") is True:
        return gold == given
    # Folding may take a text out of its normal form.
    return _folded(gold) == _folded(given)


def _folded(words: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", words).casefold())
