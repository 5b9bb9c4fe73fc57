"""Reads a whole answer into a tree, or says why it cannot: a part is never taken for the whole."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

from limite.problems.reading import tree as t
from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.parser_atoms import Atoms
from limite.problems.reading.tokens import Notation, normalised, tokens_of
from limite.problems.reading.tree import Tree

TOKENS = 6_000
KEPT = 300
"""The longest text whose tree is kept for a while: the same text is often read several times."""

RELATIONS = {"=": "=", "<": "<", ">": ">", "le": "<=", "ge": ">=", "ne": "!="}
_RELATION_COMMANDS = {"in": "in", "equiv": "=", "approx": "="}

_NUMBER = re.compile(r"(-?[0-9]{1,600})(?:/([0-9]{1,600}))?")
_FRACTION = re.compile(r"(-?)\\[dt]?frac\{([0-9]{1,600})\}\{([0-9]{1,600})\}")


def plain_number(text: str) -> Fraction | None:
    """A number in the plainest digits, or a fraction of two; None where it takes a parser."""
    match = _NUMBER.fullmatch(text)
    if match is not None:
        if match[2] is None:
            return Fraction(int(match[1]))
        below = int(match[2])
        return Fraction(int(match[1]), below) if below else None
    match = _FRACTION.fullmatch(text)
    if match is None:
        return None
    below = int(match[3])
    return Fraction(int(match[1] + match[2]), below) if below else None


def parse(text: str, notation: Notation) -> Tree:
    """The tree of a text; raises Unreadable where any of it is not understood."""
    number = plain_number(text)
    if number is not None:
        return ("num", number)
    return _parsed(text, notation) if len(text) <= KEPT else _parse(text, notation)


def _parse(text: str, notation: Notation) -> Tree:
    tokens = tokens_of(normalised(text), notation)
    if not tokens:
        raise Unreadable("nothing is stated")
    if len(tokens) > TOKENS:
        raise TooLarge(f"an answer of more than {TOKENS} parts")
    parser = Parser(tokens, notation)
    if parser.at("cmd", "approx"):
        parser.place += 1
    found = parser.statements()
    if parser.place < len(tokens):
        raise Unreadable(f"{parser.here()!r} is left over at the end")
    return found


# One problem's answer is read by whoever draws, solves and judges it.
_parsed = lru_cache(maxsize=512)(_parse)


class Parser(Atoms):
    """Recursive descent over the tokens, from lists of statements down to single numbers."""

    def statements(self) -> Tree:
        """Statements with what joins them: ``("list", items, joints)``; one alone is itself."""
        items, joints = [self.statement()], []
        while True:
            joint = self.joint()
            if joint is None:
                break
            joints.append(joint)
            items.append(self.statement())
        return items[0] if not joints else ("list", tuple(items), tuple(joints))

    def joint(self) -> str | None:
        found = None
        while True:
            if self.at("op", ",") or self.at("op", ";"):
                found = found or ","
            elif self.at("word", "and"):
                found = "and"
            elif self.at("word", "or"):
                found = "or"
            else:
                return found
            self.place += 1
            if found == "or" or found == "and":
                return found

    def statement(self) -> Tree:
        """A value or a chain of relations, with the modulus that may follow."""
        parts: list[Any] = [self.sets()]
        while True:
            kind, value = self.peek()
            if kind == "op" and value in RELATIONS:
                sign = RELATIONS[value]
            elif kind in ("cmd", "word") and value in _RELATION_COMMANDS:
                sign = _RELATION_COMMANDS[value]
            else:
                break
            self.place += 1
            parts += [sign, self.sets()]
        found: Tree = parts[0] if len(parts) == 1 else ("relation", tuple(parts))
        modulus = self.modulus()
        return found if modulus is None else ("modulo", found, modulus)

    def modulus(self) -> Tree | None:
        if self.at("cmd", "pmod") or self.at("cmd", "bmod"):
            self.place += 1
            return self.argument()
        if self.at("word", "mod"):
            self.place += 1
            return self.sum()
        if self.at("op", "(") and self.peek(1) in (("word", "mod"), ("cmd", "bmod")):
            self.place += 2
            found = self.sum()
            self.expect(")")
            return found
        return None

    def sets(self) -> Tree:
        """Unions and differences."""
        found = self.sum()
        while True:
            if self.at("cmd", "cup") or (self.notation.intervals and self.at("name", "U")):
                self.place += 1
                found = ("union", (found, self.sum()))
            elif self.at("cmd", "setminus"):
                self.place += 1
                found = ("minus", found, self.sum())
            else:
                return found

    def sum(self) -> Tree:
        number = self.lone_number()
        if number is not None:
            return number
        terms = [self.term(first=True)]
        while True:
            if self.at("op", "+"):
                sign = t.ONE
            elif self.at("op", "-"):
                sign = t.MINUS_ONE
            elif self.at("cmd", "pm"):
                sign = t.PLUS_MINUS
            else:
                break
            self.place += 1
            term = self.term(first=False)
            terms.append(term if sign == t.ONE else t.mul([sign, self.scalar(term)]))
        return terms[0] if len(terms) == 1 else t.add([self.scalar(term) for term in terms])

    def signs(self, plus_minus: bool) -> Tree:
        """The product of the signs that stand here: a loop, as there may be thousands of them."""
        sign = t.ONE
        while True:
            if self.at("op", "-"):
                sign = t.negative(sign)
            elif plus_minus and self.at("cmd", "pm"):
                sign = t.mul([sign, t.PLUS_MINUS])
                plus_minus = False
            elif not self.at("op", "+"):
                return sign
            self.place += 1

    def term(self, *, first: bool) -> Tree:
        """Products and quotients from left to right; side by side is a product."""
        sign = self.signs(plus_minus=first)
        found = self.factor()
        while True:
            if self.at("op", "*") or self.at("op", "/"):
                divides = self.at("op", "/")
                self.place += 1
                inner = self.signs(plus_minus=False)
                right = t.mul([inner, self.scalar(self.factor())])
                left = self.scalar_or_matrix(found)
                found = t.divide(left, right) if divides else t.mul([left, right])
            elif self.starts_factor(found):
                right = self.scalar_or_matrix(self.factor())
                found = t.mul([self.scalar_or_matrix(found), right])
            else:
                break
        return found if sign == t.ONE else t.mul([sign, self.scalar_or_matrix(found)])

    def starts_factor(self, left: Tree) -> bool:
        """Whether what comes next is multiplied to what stands before it."""
        if left[0] not in t.ARITHMETIC and self.is_many(left):
            return False
        kind, value = self.peek()
        if kind == "num":
            return left == ("const", "i") or self.starts_power()
        if kind == "name":
            return not (self.notation.intervals and value == "U")
        if kind == "op":
            if value == "(":
                return self.peek(1) not in (("word", "mod"), ("cmd", "bmod"))
            if value == "[":
                return not self.notation.intervals
            return value == "{" or (value == "|" and not self.bars)
        return kind == "cmd" and self.is_atom(value)

    def starts_power(self) -> bool:
        """Whether a power of a number stands behind a bracket or a letter: ``(n+1)2^n``."""
        kind, value = self.peek(-1)
        closed = kind == "name" or (kind == "op" and value in (")", "}"))
        return closed and self.peek(1) == ("op", "^")

    def factor(self) -> Tree:
        """An atom with its powers, factorials, per cent and degrees; a mixed number."""
        mixed = self.mixed_number()
        if mixed is not None:
            return mixed
        return self.powers(self.atom())

    def mixed_number(self) -> Tree | None:
        """``1\\frac12`` and ``1 1/2``: a whole number in front of a fraction is added to it."""
        kind, whole = self.peek()
        if kind != "num" or whole.denominator != 1 or not self.tokens[self.place][3].isdigit():
            return None
        if self.peek(1) == ("cmd", "frac"):
            start = self.place
            kept = self.tokens[:]
            self.place += 1
            fraction = self.atom()
            if fraction[0] == "num" and not self.at("op", "^"):
                return t.number(whole + fraction[1])
            self.place, self.tokens = start, kept
            return None
        (above_kind, above), slash, (below_kind, below) = self.peek(1), self.peek(2), self.peek(3)
        if above_kind == "num" and slash == ("op", "/") and below_kind == "num":
            if not self.tokens[self.place + 1][2] or above.denominator != 1 or below == 0:
                raise Unreadable("two numbers side by side")
            self.place += 4
            return t.number(whole + Fraction(above) / below)
        if above_kind == "num":
            raise Unreadable("two numbers side by side")
        return None
