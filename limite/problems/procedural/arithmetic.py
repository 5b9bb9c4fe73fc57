"""Reads arithmetic as it stands in problem texts and solutions, exactly and without ``eval``.

The families' ``check`` uses it to find answers from the text alone; nothing here knows how a
problem was made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

Number = Fraction | int
"""Whole numbers stay whole until something is divided: they are much quicker."""

Form = dict[str, Number]
"""A linear expression: letter to coefficient; the constant stands under the empty string."""

MAX_CHARACTERS = 1000
MAX_DEPTH = 40
_TOKEN = re.compile(r" *([0-9]+|mod|[a-z]|[-+*/()])")


class Unreadable(ValueError):
    """The text is not arithmetic of the kind read here."""


def value(text: str) -> Number:
    """The exact value of a text without letters, such as ``(17*5+3) mod 7``."""
    form = linear_form(text)
    if any(letter for letter in form):
        raise Unreadable(f"{text!r} has letters")
    return form.get("", 0)


def linear_form(text: str) -> Form:
    """The coefficients of a linear text such as ``3x-2(y+1)``; zero coefficients are left out."""
    return _Reader(text).whole_text()


def substitute(form: Form, values: Mapping[str, Number]) -> Number:
    """The value of ``form`` where letters have the given values."""
    return sum(size * (values[letter] if letter else 1) for letter, size in form.items())


class _Reader:
    """Recursive descent over ``sum = product (+|- product)*``; all of the text or an error."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise Unreadable("too long")
        self.tokens: list[str] = []
        self.place = 0
        self.depth = 0
        end = 0
        while end < len(text.rstrip()):
            match = _TOKEN.match(text, end)
            if match is None:
                raise Unreadable(f"{text[end]!r} at character {end + 1}")
            self.tokens.append(match[1])
            end = match.end()

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.place += 1
        return token

    def whole_text(self) -> Form:
        form = self.sum()
        if self.peek():
            raise Unreadable(f"{self.peek()!r} is not expected here")
        return form

    def sum(self) -> Form:
        form = self.product()
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            form = _add(form, self.product(), sign)
        return form

    def product(self) -> Form:
        form = self.factor()
        while self.peek() in ("*", "/", "mod"):
            operator, right = self.take(), self.factor()
            if operator == "*":
                form = _multiply(form, right)
            elif operator == "/":
                form = _scale(form, Fraction(1) / _nonzero(right))
            else:
                form = _constant(_number(form) % _nonzero(right))
        return form

    def factor(self) -> Form:
        token = self.take()
        if token == "-":
            return _scale(self.factor(), -1)
        if token == "(":
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise Unreadable("nested too deeply")
            form = self.sum()
            if self.take() != ")":
                raise Unreadable("a parenthesis is not closed")
            self.depth -= 1
            return form
        if token.isdigit():
            form = _constant(int(token))
            # Juxtaposition is a product only between a number and what it multiplies.
            if self.peek() == "(" or (self.peek().isalpha() and self.peek() != "mod"):
                return _multiply(form, self.factor())
            return form
        if token.isalpha() and token != "mod":
            return {token: 1}
        raise Unreadable(f"{token!r} is not expected here" if token else "the text ends too early")


def _constant(size: Number) -> Form:
    return {"": size} if size else {}


def _number(form: Form) -> Number:
    if any(letter for letter in form):
        raise Unreadable("a letter stands where a number must")
    return form.get("", 0)


def _nonzero(form: Form) -> Number:
    size = _number(form)
    if not size:
        raise Unreadable("division by zero")
    return size


def _add(left: Form, right: Form, sign: int) -> Form:
    total = dict(left)
    for letter, size in right.items():
        before = total.pop(letter, None)
        if before is None:
            total[letter] = size if sign > 0 else -size
        elif after := before + size if sign > 0 else before - size:
            total[letter] = after
    return total


def _scale(form: Form, factor: Number) -> Form:
    return {letter: factor * size for letter, size in form.items() if factor}


def _multiply(left: Form, right: Form) -> Form:
    if any(letter for letter in left):
        left, right = right, left
    return _scale(right, _number(left))
