"""Lines of the settings in a TOML file: tomllib reads the values but does not say where they stood.

The text has been read by tomllib already, so only sound TOML comes here; what is not looked at
closely (numbers, dates) is passed over up to the next separator.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from limite.core.config_faults import Key

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = re.compile(
    r"'''(?:.|\n)*?'''(?:'{0,2})"
    r'|"""(?:\\(?:.|\n)|[^\\])*?"""(?:"{0,2})'
    r"|'[^'\n]*'"
    r'|"(?:\\.|[^"\\\n])*"'
)
_PLAIN = re.compile(r"[^,\]}#\n]+")
_ESCAPES = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))")
_LETTERS = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


class TomlLines:
    """Where each setting of a TOML text stands, by its path."""

    def __init__(self, text: str) -> None:
        self.lines: dict[tuple[Key, ...], int] = {}
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._line = 1
        self._counts: dict[tuple[Key, ...], int] = {}
        self._document()

    def find(self, path: Sequence[Key]) -> int | None:
        """The line of ``path``, or of the nearest table around it."""
        for length in range(len(path), 0, -1):
            line = self.lines.get(tuple(path[:length]))
            if line is not None:
                return line
        return None

    def _document(self) -> None:
        table: tuple[Key, ...] = ()
        while self._skip():
            if self._peek() != "[":
                self._pair(table)
                continue
            array = self._text.startswith("[[", self._at)
            self._move(2 if array else 1)
            line, keys = self._line, self._keys()
            self._skip()
            self._move(2 if array else 1)
            table = self._header(keys, line, array=array)

    def _header(self, keys: list[str], line: int, *, array: bool) -> tuple[Key, ...]:
        """The path a header opens: below an array of tables, its newest element."""
        path: tuple[Key, ...] = ()
        for key in keys[:-1]:
            path = self._newest((*path, key), line)
        path = (*path, keys[-1])
        self.lines.setdefault(path, line)
        if array:
            index = self._counts.get(path, -1) + 1
            self._counts[path] = index
            path = (*path, index)
        self.lines[path] = line
        return path

    def _newest(self, path: tuple[Key, ...], line: int) -> tuple[Key, ...]:
        self.lines.setdefault(path, line)
        return (*path, self._counts[path]) if path in self._counts else path

    def _pair(self, table: tuple[Key, ...]) -> None:
        line, path = self._line, table
        for key in self._keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._skip()
        self._move(1)  # the equals sign
        self._value(path)

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip()
            bare = _BARE.match(self._text, self._at)
            keys.append(bare[0] if bare else self._string())
            if bare:
                self._move(len(bare[0]))
            self._skip()
            if self._peek() != ".":
                return keys
            self._move(1)

    def _value(self, path: tuple[Key, ...]) -> None:
        self._skip()
        start = self._peek()
        if start in "'\"":
            self._string()
        elif start == "[":
            self._move(1)
            index = 0
            while self._skip() and self._peek() != "]":
                self.lines[(*path, index)] = self._line
                self._value((*path, index))
                self._comma()
                index += 1
            self._move(1)
        elif start == "{":
            self._move(1)
            while self._skip() and self._peek() != "}":
                self._pair(path)
                self._comma()
            self._move(1)
        else:
            plain = _PLAIN.match(self._text, self._at)
            self._move(len(plain[0]) if plain else 1)

    def _comma(self) -> None:
        self._skip()
        if self._peek() == ",":
            self._move(1)

    def _string(self) -> str:
        match = _STRINGS.match(self._text, self._at)
        if match is None:
            self._move(1)
            return ""
        self._move(len(match[0]))
        inside = match[0][1:-1]
        return inside if match[0][0] == "'" else _ESCAPES.sub(_unescaped, inside)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self) -> bool:
        """Passes over blanks, line ends and comments; False at the end of the text."""
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "#":
                end = self._text.find("\n", self._at)
                self._move((end if end >= 0 else len(self._text)) - self._at)
            elif character in " \t\r\n":
                self._move(1)
            else:
                return True
        return False

    def _move(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count


def _unescaped(match: re.Match[str]) -> str:
    for digits in match.groups()[:3]:
        if digits:
            return chr(int(digits, 16))
    return _LETTERS.get(match[4], match[4])
