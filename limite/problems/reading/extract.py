"""Finds the final answer in a response: the last box, and nothing that was only thought."""

from __future__ import annotations

import re
from collections.abc import Collection

THINKING = ("<think>", "</think>")

FALLBACKS = ("hash", "answer")
"""What else may mark an answer: a last line ``#### x``; ``Answer: x`` or ``answer is x`` there."""

_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s{0,20}\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_HASH = re.compile(r"####\s*(\S.*)")
_SAID = re.compile(r"(?:^|.*\b)(?:final\s+)?answer(?:\s+is\b|\s*:)\s*:?\s*(\S.*)", re.IGNORECASE)
_NEAR = 100_000  # characters that are searched at a time, and the longest box
_LINE = 2_000  # a last line that is longer states no answer


def extract(
    text: str, *, fallbacks: Collection[str] = (), thinking: tuple[str, str] = THINKING
) -> str | None:
    """The final answer as it is written; None where the response states none."""
    begin, end = thinking
    ended = text.rfind(end)
    if ended >= 0:
        text = text[ended + len(end) :]
    if begin in text:
        return None  # a thought that was never ended, or begun anew
    last = _last_start(text)
    if last is not None:
        # What is further away is in no answer that would be read.
        text = text[max(last - _NEAR, 0) : last + _NEAR]
        return _last_box(text, [match.span() for match in _BOX.finditer(text)])
    if fallbacks:
        return _last_line(text, fallbacks)
    return None


def _last_start(text: str) -> int | None:
    """Where the last box begins: looked for from the end, so that only the tail is searched."""
    end = len(text)
    while end > 0:
        start = max(end - _NEAR, 0)
        found = [match.start() for match in _BOX.finditer(text, start, end)]
        if found:
            return found[-1]
        # One that lies across the border is found in the next stretch.
        end = start + 30 if start else 0
    return None


def _last_box(text: str, boxes: list[tuple[int, int]]) -> str | None:
    """What the last box holds that stands in no other. It must be closed, and not be empty."""
    outer = -1
    starts = {opened - 1 for _, opened in boxes}
    contents: tuple[int, int] | None = None
    depth = 0
    for match in _BRACE.finditer(text, boxes[0][0] + 1):
        if match[0] == "{":
            if outer < 0 and match.start() in starts:
                outer, depth = match.end(), 0
            elif outer >= 0:
                depth += 1
        elif match[0] == "}" and outer >= 0:
            if depth:
                depth -= 1
            else:
                contents, outer = (outer, match.start()), -1
    if outer >= 0 or contents is None:
        return None
    return text[contents[0] : contents[1]].strip() or None


def _last_line(text: str, fallbacks: Collection[str]) -> str | None:
    lines = text.rstrip().rsplit("\n", 1)
    line = lines[-1].strip().strip("*").strip()
    if len(line) > _LINE:
        return None
    patterns = [_HASH] * ("hash" in fallbacks) + [_SAID] * ("answer" in fallbacks)
    for pattern in patterns:
        match = pattern.fullmatch(line)
        if match is not None:
            return match[1].strip().strip("*").strip() or None
    return None
