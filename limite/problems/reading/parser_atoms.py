"""The inner half of the parser: numbers, names, brackets, functions, matrices, powers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from limite.problems.reading import tree as t
from limite.problems.reading.faults import TooLarge, Unreadable
from limite.problems.reading.numbers import integer_of
from limite.problems.reading.tokens import FUNCTIONS, Notation, Token
from limite.problems.reading.tree import Tree

DEPTH = 60
"""How deep brackets, powers and functions may be nested."""

_CLOSING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_ENDS = (")", "]", "[")
_ATOMS = FUNCTIONS | {"frac", "binom", "pi", "infty", "langle", "begin", "cbrt", "e"}
_DEGREE = t.mul([t.number(1), t.power(t.number(180), t.MINUS_ONE), ("const", "pi")])
_MATRICES = frozenset(["matrix", "pmatrix", "bmatrix", "Bmatrix", "smallmatrix", "array"])
_END: Token = ("end", None, False, "")
_NONE = (_END, _END, _END)
_LOOKED_AHEAD = 4
_STOPS = frozenset((None, ",", ";", ")", "]", "}", "\\}", "&", "\\\\"))
"""What no arithmetic goes on with: the end of all tokens is None."""


class Atoms:
    """What the tokens say, from ``place`` on."""

    def __init__(self, tokens: list[Token], notation: Notation) -> None:
        # Looking ahead needs no question whether there is anything left.
        self.tokens = tokens + [_END] * _LOOKED_AHEAD
        self.notation = notation
        self.place = 0
        self.depth = 0
        self.bars = 0

    # What an expression is made of is asked of the outer half.
    def statements(self) -> Tree:
        raise NotImplementedError

    def statement(self) -> Tree:
        raise NotImplementedError

    def sum(self) -> Tree:
        raise NotImplementedError

    def starts_factor(self, left: Tree) -> bool:
        raise NotImplementedError

    def peek(self, ahead: int = 0) -> tuple[str, Any]:
        kind, value, _, _ = self.tokens[self.place + ahead]
        return kind, value

    def at(self, kind: str, value: str) -> bool:
        token = self.tokens[self.place]
        return token[0] == kind and token[1] == value

    def lone_number(self) -> Tree | None:
        """A number or a fraction of two that nothing but a sign belongs to, as most numbers are."""
        place = self.place
        negative = self.at("op", "-")
        if negative:
            place += 1
        token, after, below = (
            self.tokens[place : place + 3] if self.tokens[place][0] == "num" else _NONE
        )
        if token[0] != "num":
            return None
        value = token[1]
        if after[0] == "op" and after[1] == "/" and below[0] == "num" and below[1]:
            value /= below[1]
            place += 2
            after = self.tokens[place + 1]
        if after[0] not in ("op", "end") or after[1] not in _STOPS:
            return None
        self.place = place + 1
        return t.number(-value if negative else value)

    def here(self) -> str:
        kind, value = self.peek()
        return "the end" if kind == "end" else str(value)[:40]

    def expect(self, sign: str) -> None:
        if not self.at("op", sign):
            raise Unreadable(f"{sign!r} is missing before {self.here()!r}")
        self.place += 1

    @contextmanager
    def deeper(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > DEPTH:
            raise TooLarge(f"nested more than {DEPTH} deep")
        yield
        self.depth -= 1

    def is_atom(self, command: str) -> bool:
        return command in _ATOMS

    def is_many(self, tree: Tree) -> bool:
        """Whether a tree is no number: several values, or a set."""
        if tree[0] == "group":
            return bool(tree[1] == "\\{" or len(tree[3]) != 1)
        return str(tree[0]) != "matrix"

    def scalar(self, tree: Tree) -> Tree:
        """A bracket around one expression is that expression."""
        while tree[0] == "group" and len(tree[3]) == 1 and tree[1] in ("{", "("):
            tree = tree[3][0]
        if tree[0] not in t.ARITHMETIC:
            raise Unreadable("arithmetic with what is no number")
        return tree

    def scalar_or_matrix(self, tree: Tree) -> Tree:
        if tree[0] == "mul" and any(part[0] == "matrix" for part in tree[1]):
            return tree
        if tree[0] == "group" and len(tree[3]) == 1 and tree[3][0][0] == "matrix":
            return tree[3][0]  # type: ignore[no-any-return]
        return tree if tree[0] == "matrix" else self.scalar(tree)

    def atom(self) -> Tree:
        with self.deeper():
            kind, value = self.peek()
            if kind == "num":
                return self.number(value)
            if kind == "name":
                self.place += 1
                return self.name(value)
            if kind == "cmd":
                self.place += 1
                return self.command(value)
            if kind == "op" and value in _CLOSING:
                return self.bracket(value)
            if kind == "op" and value == "]" and self.notation.intervals:
                return self.bracket(value)
            if kind == "op" and value == "|":
                return self.absolute()
            raise Unreadable(f"{self.here()!r} where a value should be")

    def number(self, value: Any) -> Tree:
        raw = self.tokens[self.place][3]
        self.place += 1
        if not self.at("op", "_"):
            return t.number(value)
        self.place += 1
        base = self.argument()
        if base[0] != "num" or base[1].denominator != 1 or not 2 <= base[1] <= 36:
            raise Unreadable("a subscript that is no base")
        radix = int(base[1])
        if not raw.isdigit() or len(raw) > 4_000 or any(int(digit) >= radix for digit in raw):
            raise Unreadable(f"no number in base {radix}")
        return t.number(int(raw, radix))

    def name(self, name: str) -> Tree:
        if self.at("op", "_"):
            self.place += 1
            kind, value = self.peek()
            if kind in ("num", "name"):
                subscript, self.place = str(value), self.place + 1
            else:
                inner = self.argument()
                if inner[0] not in ("num", "sym"):
                    raise Unreadable("a subscript that is no name")
                subscript = str(inner[1])
            name = f"{name}_{subscript}"
        if name in self.notation.names:
            return ("sym", name)
        return ("const", name) if name in ("e", "i") else ("sym", name)

    def bracket(self, opening: str) -> Tree:
        """What stands in brackets: one expression in round ones is itself, all else is a group."""
        self.place += 1
        closings: tuple[str, ...] = (_CLOSING.get(opening, "]"),)
        if self.notation.intervals and opening in "([]":
            closings = _ENDS
        bars, self.bars = self.bars, 0
        items: tuple[Tree, ...] = ()
        if not self.closes(closings):
            inside = self.statements()
            items = inside[1] if inside[0] == "list" else (inside,)
        if not self.closes(closings):
            raise Unreadable(f"{opening!r} is not closed before {self.here()!r}")
        closing = self.peek()[1]
        self.place += 1
        self.bars = bars
        if len(items) == 1 and (opening, closing) == ("(", ")"):
            return items[0]
        return ("group", opening, closing, items)

    def closes(self, closings: tuple[str, ...]) -> bool:
        kind, value = self.peek()
        return kind == "op" and value in closings

    def absolute(self) -> Tree:
        self.place += 1
        self.bars += 1
        inside = self.scalar(self.sum())
        self.bars -= 1
        self.expect("|")
        return ("call", "abs", (inside,))

    def argument(self) -> Tree:
        """What a LaTeX command takes: braces, one command, or one single digit or letter."""
        kind, value = self.peek()
        if kind == "num":
            raw = self.tokens[self.place][3]
            if len(raw) > 1 and raw.isdigit():
                # TeX takes one digit, and the rest of the number stands after it.
                self.tokens = self.tokens[:]
                rest: Token = ("num", Fraction(integer_of(raw[1:])), False, raw[1:])
                self.tokens[self.place] = rest
                return t.number(int(raw[0]))
        if kind == "op" and value not in ("{", "("):
            raise Unreadable(f"{self.here()!r} where an argument should be")
        return self.scalar(self.atom())

    def command(self, name: str) -> Tree:
        if name == "pi":
            return ("const", "pi")
        if name == "infty":
            return t.INFINITY
        if name in ("emptyset",):
            return ("empty",)
        if name == "mathbb" or name == "reals":
            if name == "mathbb" and self.argument() != ("sym", "R"):
                raise Unreadable("only the real numbers are known by a letter")
            return ("reals",)
        if name == "frac":
            return t.divide(self.argument(), self.argument())
        if name == "binom":
            if self.at("op", "("):
                return t.binomial(*self.arguments(2))
            return t.binomial(self.argument(), self.argument())
        if name == "langle":
            inside = self.statements()
            if not self.at("cmd", "rangle"):
                raise Unreadable("an angle bracket that is not closed")
            self.place += 1
            return ("group", "<", ">", inside[1] if inside[0] == "list" else (inside,))
        if name == "begin":
            return self.matrix()
        if name in ("sqrt", "cbrt"):
            return self.root(t.number(3 if name == "cbrt" else 2))
        if name in FUNCTIONS:
            return self.function(name)
        raise Unreadable(f"\\{name} means nothing here")

    def root(self, degree: Tree) -> Tree:
        if self.at("op", "["):
            self.place += 1
            degree = self.scalar(self.sum())
            self.expect("]")
        if degree[0] != "num" or degree[1].denominator != 1 or degree[1] < 2:
            raise Unreadable("a root of a degree that is no whole number above one")
        inside = self.scalar(self.atom())
        if inside[0] == "num" and inside[1] < 0 and degree[1] % 2:
            return t.negative(t.power(t.negative(inside), t.divide(t.ONE, degree)))
        return t.power(inside, t.divide(t.ONE, degree))

    def arguments(self, count: int) -> list[Tree]:
        self.expect("(")
        inside = self.statements()
        self.expect(")")
        items = list(inside[1]) if inside[0] == "list" else [inside]
        if len(items) != count:
            raise Unreadable(f"{len(items)} arguments where {count} belong")
        return [self.scalar(item) for item in items]

    def function(self, name: str) -> Tree:
        """``\\sin^2 x`` is the square of the sine, ``\\sin x^2`` the sine of the square."""
        exponent, base = None, None
        while self.at("op", "^") or self.at("op", "_"):
            if self.at("op", "^"):
                self.place += 1
                exponent = self.exponent()
            else:
                self.place += 1
                base = self.exponent()
        if exponent is not None and exponent == t.MINUS_ONE:
            if name not in ("sin", "cos", "tan"):
                raise Unreadable(f"the inverse of {name} is not known")
            name, exponent = f"a{name}", None
        found = self.applied(name, base)
        return found if exponent is None else t.power(found, exponent)

    def applied(self, name: str, base: Tree | None) -> Tree:
        if base is not None and name != "log":
            raise Unreadable(f"a base for {name}")
        if name in ("max", "min", "gcd", "lcm", "floor", "ceil"):
            raise Unreadable(f"{name} is not read in answers")
        if self.at("op", "(") or self.at("op", "{") or self.at("op", "|"):
            inside = self.scalar(self.atom())
        else:
            inside = self.side_by_side()
        if name == "exp":
            return t.power(("const", "e"), inside)
        if name == "lg":
            name, base = "log", t.number(10)
        if name == "log" and base is not None:
            return t.divide(("call", "ln", (inside,)), ("call", "ln", (base,)))
        return ("call", "ln" if name == "log" else name, (inside,))

    def side_by_side(self) -> Tree:
        """The product that a function without brackets applies to: ``2x`` in ``\\sin 2x``."""
        if self.at("op", "-"):
            with self.deeper():
                self.place += 1
                return t.negative(self.side_by_side())
        found = self.scalar(self.powers(self.atom()))
        while self.starts_factor(found):
            kind, value = self.peek()
            if kind == "cmd" and value not in ("pi", "frac", "sqrt"):
                break
            if kind == "op":
                break
            found = t.mul([found, self.scalar(self.powers(self.atom()))])
        return found

    def matrix(self) -> Tree:
        environment = self.tokens[self.place - 1][3]
        if environment not in _MATRICES:
            raise Unreadable(f"the environment {environment!r} is no matrix")
        rows: list[tuple[Tree, ...]] = []
        row: list[Tree] = []
        while True:
            if self.at("cmd", "end"):
                break
            row.append(self.scalar(self.sum()))
            if self.at("op", "&"):
                self.place += 1
            elif self.at("op", "\\\\"):
                self.place += 1
                rows.append(tuple(row))
                row = []
            elif not self.at("cmd", "end"):
                raise Unreadable(f"{self.here()!r} in a matrix")
        if row:
            rows.append(tuple(row))
        if self.tokens[self.place][3] != environment:
            raise Unreadable("a matrix that ends as another environment than it began")
        self.place += 1
        if not rows or any(len(each) != len(rows[0]) for each in rows):
            raise Unreadable("a matrix with rows of different lengths")
        return ("matrix", tuple(rows))

    def powers(self, found: Tree) -> Tree:
        """Everything that may stand behind an atom."""
        while True:
            if self.at("op", "!"):
                found = t.factorial(self.scalar(found))
                self.place += 1
            elif self.at("op", "%"):
                found = t.divide(self.scalar(found), t.number(100))
                self.place += 1
            elif self.at("op", "°"):
                found = t.mul([self.scalar(found), _DEGREE])
                self.place += 1
            elif self.at("op", "^"):
                self.place += 1
                found = self.raised(self.scalar(found))
            else:
                return found

    def raised(self, base: Tree) -> Tree:
        if self.at("cmd", "circ") or self.at("op", "°"):
            self.place += 1
            return t.mul([base, _DEGREE])
        if self.at("op", "{") and self.peek(1) in (("cmd", "circ"), ("op", "°")):
            self.place += 2
            self.expect("}")
            return t.mul([base, _DEGREE])
        exponent = self.exponent()
        if self.at("op", "^"):
            self.place += 1
            with self.deeper():
                exponent = self.raised(exponent)
        return t.power(base, exponent)

    def exponent(self) -> Tree:
        """An exponent or a subscript: braces, or one signed number, name or command."""
        if self.at("op", "-"):
            with self.deeper():
                self.place += 1
                return t.negative(self.exponent())
        return self.scalar(self.atom())
