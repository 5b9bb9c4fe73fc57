"""Whether a text is in the language that was asked for, told by its commonest words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

LANGUAGES = {
    "de": "der die das und ist ein eine wie viele von mit den dem auf für nicht sich sind hat",
    "en": "the a of is and to in what how many find that are with for on if each from which",
    "es": "el la los las de que y es un una en cuántos cuál con para por del se su cada",
    "fr": "le la les de des et est un une que combien quel dans pour par du sur sont avec chaque",
    "it": "il la lo gli di che e è un una quanti qual con per del sono nel ogni da si",
    "pt": "o a os as de que e é um uma quantos qual com para por do da em cada são",
}
"""The commonest words of problems in each language that can be asked for."""

NAMES = {
    "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian",
    "pt": "Portuguese",
}  # fmt: skip

_COMMON = {name: frozenset(words.split()) for name, words in LANGUAGES.items()}
_FORMULA = re.compile(r"\$[^$]*\$|\\\(.*?\\\)|\\\[.*?\\\]|\\[A-Za-z]+", re.DOTALL)
LATIN = 0.8
"""The least share of letters in the script of these languages."""


def speaks(text: str, language: str) -> str:
    """What the text seems to be in instead, or nothing where it is as asked."""
    plain = _FORMULA.sub(" ", text)
    letters = [each for each in plain if each.isalpha()]
    latin = sum(unicodedata.name(each, "").startswith("LATIN") for each in letters)
    if letters and latin < LATIN * len(letters):
        return "another script"
    words = re.findall(r"[^\W\d_]+", plain.casefold())
    counts = Counter(
        {name: sum(word in known for word in words) for name, known in _COMMON.items()}
    )
    best = max(counts.values())
    if counts[language] * 2 < best + 1 and best >= 3:
        return next(NAMES[name] for name, count in sorted(counts.items()) if count == best)
    return ""
