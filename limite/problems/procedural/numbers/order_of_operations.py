"""Expressions with all four operations, fractions and parentheses."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_SIGNS = {"+": " + ", "-": " - ", "*": " \\cdot ", "/": " \\div "}
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}
_TOKEN = re.compile(r"\\frac\{([0-9]+)\}\{([0-9]+)\}|([0-9]+)|\\(cdot|div)|([-+()])")


@attrs.frozen
class _Part:
    """A part of the expression: its text, how tightly it holds together, and its value."""

    text: str
    rank: int
    value: Fraction
    divided: bool = False
    """Whether a quotient that is followed by another factor would be read in two ways."""


@attrs.frozen(kw_only=True)
class OrderOfOperations(Family):
    """The value of an expression with several operations, parentheses and fractions."""

    name = "order-of-operations"
    tag = "arithmetic/expressions"
    wordings = Wordings(
        "Compute $<expression:text>$. Give a whole number or a fraction in lowest terms.",
        "What is the exact value of $<expression:text>$, as a whole number or a fraction in "
        "lowest terms?",
        "Evaluate $<expression:text>$ and give the exact result: a whole number, or a fraction in "
        "lowest terms.",
    )

    operations: Ends = dial(2, 7, "how many operations", most=12)
    fractions: Ends = dial(0, 0.5, "share of fractions among the numbers", least=0, most=1)
    largest: Ends = dial(9, 20, "largest number written", least=3, most=99)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        operations = base.whole_near(rng, base.steady(self.operations, difficulty))
        fractions = base.steady(self.fractions, difficulty)
        largest = base.steady(self.largest, difficulty)
        parts = [_leaf(rng, largest, fractions) for _ in range(operations + 1)]
        steps = []
        while len(parts) > 1:
            place = int(rng.random() * (len(parts) - 1))
            joined, step = _joined(rng, parts[place], parts[place + 1])
            parts[place : place + 2] = [joined]
            steps.append(step)
        return Drawn(
            values={"expression": parts[0].text},
            gold=gold.rational(parts[0].value, lowest=True),
            steps=f"Work from the inside out: {', '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Two stacks, one for numbers and one for signs that wait.
        numbers: list[Fraction] = []
        signs: list[str] = []
        begins = True
        for match in _TOKEN.finditer(values["expression"]):
            top, bottom, digits, named, sign = match.groups()
            if top or digits:
                numbers.append(Fraction(int(top or digits), int(bottom or 1)))
            elif sign == "(":
                signs.append(sign)
            elif sign == ")":
                while signs[-1] != "(":
                    _apply(numbers, signs.pop())
                signs.pop()
            else:
                sign = sign or {"cdot": "*", "div": "/"}[named]
                if begins:
                    numbers.append(Fraction(0))
                while signs and signs[-1] != "(" and _RANK[signs[-1]] >= _RANK[sign]:
                    _apply(numbers, signs.pop())
                signs.append(sign)
            begins = sign == "("
        while signs:
            _apply(numbers, signs.pop())
        return gold.rational(numbers[0], lowest=True)


def _apply(numbers: list[Fraction], sign: str) -> None:
    right, left = numbers.pop(), numbers.pop()
    numbers.append(_value(left, sign, right))


def _value(left: Fraction, sign: str, right: Fraction) -> Fraction:
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    return left * right if sign == "*" else left / right


def _leaf(rng: random.Random, largest: float, fractions: float) -> _Part:
    if rng.random() < fractions:
        bottom = base.whole(rng, 2, min(largest, 12))
        top = base.whole(rng, 1, bottom - 1)
        # Not reduced in the text where it is not drawn so: that is part of the work.
        return _Part(f"\\frac{{{top}}}{{{bottom}}}", 3, Fraction(top, bottom))
    number = base.whole(rng, 2, largest)
    if rng.random() < 0.1:
        return _Part(f"(-{number})", 3, Fraction(-number))
    return _Part(str(number), 3, Fraction(number))


def _joined(rng: random.Random, left: _Part, right: _Part) -> tuple[_Part, str]:
    """Two parts with a sign between them that gives neither zero nor an unwieldy number."""
    for sign in base.shuffled(rng, "+-*/"):
        value = _value(left.value, sign, right.value)
        if value and value.denominator <= 150 and abs(value.numerator) <= 3000:
            break
    else:
        sign = "+" if left.value != -right.value else "-"
        value = _value(left.value, sign, right.value)
    rank = _RANK[sign]
    open_left = left.rank > rank or (left.rank == rank and not left.divided)
    first = left.text if open_left else f"({left.text})"
    # On the right of - and \div an equal rank needs parentheses too, and with them everywhere a
    # sum of a sum keeps the order in which it was made.
    second = right.text if right.rank > rank else f"({right.text})"
    step = f"${_bare(left.value)}{_SIGNS[sign]}{_bare(right.value, later=True)} = "
    part = _Part(first + _SIGNS[sign] + second, rank, value, divided=sign == "/")
    return part, f"{step}{ratio_text(value)}$"


def _bare(value: Fraction, *, later: bool = False) -> str:
    return f"({ratio_text(value)})" if later and value < 0 else ratio_text(value)
