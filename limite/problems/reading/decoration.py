"""Takes off what stands around an answer without changing it: delimiters, boxes, units."""

from __future__ import annotations

import re

from limite.problems.reading.faults import TooLarge
from limite.problems.reading.tokens import CHARACTERS

_PAIRS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"))
_WRAPPER = re.compile(
    r"\\(?:boxed|fbox|text|textbf|textit|textrm|mathrm|mathbf|mbox|emph|displaystyle)\s*\{"
)
_LEADING = re.compile(r"\\(?:displaystyle|,|;|!|:| |quad)\s*")
_TRAILING = re.compile(r"(?:\\[,;:! ]|\\quad|\\\\)$")
_OPENS = ("", "\\", "$", "*")
_ENDS = (*",;:!. \\", "d")  # the last of \\quad
"""What decoration begins with, and, where it stands behind an answer alone, what it ends with."""

_UNITS = {
    "degree": ("°", "^\\circ", "^{\\circ}", "\\circ", "\\degree", "degrees", "degree", "deg"),
    "degrees": ("°", "^\\circ", "^{\\circ}", "\\circ", "\\degree", "degrees", "degree", "deg"),
    "%": ("\\%", "%", "percent", "per cent"),
    "$": ("\\$", "$", "dollars", "USD"),
}


def bare(text: str, *, currency: bool = False) -> str:
    """The answer itself. With ``currency`` a dollar sign is no delimiter."""
    if len(text) > 4 * CHARACTERS:
        raise TooLarge(f"an answer of more than {CHARACTERS} characters")
    text = text.strip()
    if text[:1] not in _OPENS and text[-1:] not in _ENDS:
        return text
    for _ in range(12):
        before = text
        text = _LEADING.sub("", text, count=1) if _LEADING.match(text) else text
        text = _TRAILING.sub("", text).strip()
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1].strip()
        for opening, closing in _PAIRS:
            if currency and opening == "$":
                continue
            size = len(opening)
            if (
                len(text) > 2 * size
                and text.startswith(opening)
                and text.endswith(closing)
                and opening not in text[size:-size]
            ):
                text = text[size:-size].strip()
        wrapper = _WRAPPER.match(text)
        if wrapper is not None and _closing(text, wrapper.end()) == len(text) - 1:
            text = text[wrapper.end() : -1].strip()
        if text == before:
            break
    return text


def _closing(text: str, place: int) -> int:
    """Where the brace closes that opens just before ``place``; -1 if nowhere."""
    depth = 1
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, place):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if not depth:
                return match.start()
    return -1


def _plain(text: str) -> str:
    """A unit without what only sets it: macros, braces, spaces; superscripts as carets."""
    text = text.replace("²", "^2").replace("³", "^3")
    text = re.sub(r"\\(?:text|textrm|mathrm|mbox|mathbf)(?![A-Za-z])", "", text)
    return re.sub(r"\\[,;:! ]|[{}\s~]", "", text)


def without_unit(text: str, unit: str | None) -> str:
    """The text without its unit, where it states the one declared; any other unit stays."""
    if not unit:
        return text
    known = _UNITS.get(unit, (unit,))
    if unit == "$":
        for sign in ("\\$", "$"):
            if text.startswith(sign):
                return text[len(sign) :].strip()
    for sign in known:
        if text.endswith(sign) and len(text) > len(sign):
            rest = text[: -len(sign)].rstrip()
            before = rest[-1:]
            # "6 cm" ends with "m" too: letters in front belong to another unit.
            if not (sign[0].isalpha() and before.isalpha()):
                return rest
    wanted = {_plain(sign) for sign in known}
    for place in range(len(text) - 1, max(len(text) - 80, 0), -1):
        if text[place] in "\\ ~{" or text[place].isalpha() or text[place] == "°":
            before = text[place - 1]
            if before.isalpha() or before == "\\" or _plain(text[place:]) not in wanted:
                continue
            if text[:place].count("{") == text[:place].count("}"):
                return text[:place].strip()
    return text
