"""Which base a statement is written in."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FindTheBase(Family):
    """The base in which an equation between numbers holds, or in which a number is written."""

    name = "find-the-base"
    tag = "number-theory/bases"
    wordings = Wordings(
        number=(
            "In which base $b$ is the decimal number $<value>$ written as $<digits:word>_b$?",
            "The digits $<digits:word>$ mean the number $<value>$ (in decimal) when they are read "
            "in base $b$. Find $b$.",
        ),
        sum=(
            "In which base $b$ is $<first:word>_b + <second:word>_b = <third:word>_b$ true?",
            "Written in base $b$, the equation $<first:word> + <second:word> = <third:word>$ "
            "holds. Find $b$.",
        ),
        product=(
            "In which base $b$ is $<first:word>_b \\cdot <second:word>_b = <third:word>_b$ true?",
            "Written in base $b$, the equation $<first:word> \\cdot <second:word> = <third:word>$ "
            "holds. Find $b$.",
        ),
        square=(
            "For which integers $b$ with $<low> \\le b \\le <high>$ is the number "
            "$<digits:word>_b$, written in base $b$, a perfect square? Give the set of all of "
            "them.",
            "Find the set of all bases $b$ from $<low>$ to $<high>$, both included, in which the "
            "digits $<digits:word>$ are those of a perfect square.",
        ),
    )

    base: Ends = dial(7, 16, "largest base", least=6, most=30)
    digits: Ends = dial(2, 3.5, "how many digits", least=2, most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("number", "sum", "product", "square"))
        size = base.whole_near(rng, base.steady(self.digits, difficulty))
        top = base.steady(self.base, difficulty)
        if ask == "square":
            return _square(rng, top)
        b = base.whole(rng, 5, top)
        while b == 10:
            b = base.whole(rng, 5, 9)
        top_digit = min(b - 1, 9)
        while True:
            first, second = ([base.whole(rng, 1, top_digit) for _ in range(size)] for _ in "12")
            if ask == "product":
                second = [base.whole(rng, 2, top_digit)]
            left, right = _value(first, b), _value(second, b)
            if ask == "number":
                return _number(first, left, b)
            total = left + right if ask == "sum" else left * right
            third = _digits(total, b)
            carried = third != _digits_freely(first, second, ask)
            if carried and max(third) <= 9:
                break
            b = b - 1 if b > 5 and b != 11 else 9  # smaller bases carry sooner
            top_digit = min(b - 1, 9)
        texts = [_text(each) for each in (first, second, third)]
        sign = "+" if ask == "sum" else "\\cdot"
        least = max(*first, *second, *third) + 1
        last = first[-1] + second[-1] if ask == "sum" else first[-1] * second[-1]
        steps = (
            f"The digits need $b \\ge {least}$. "
            + (
                f"In the last place ${first[-1]} {sign} {second[-1]} = {last}$, but the digit is "
                f"${third[-1]}$, so $b$ divides ${last - third[-1]}$. "
                if last != third[-1]
                else ""
            )
            + f"With $b = {b}$ the numbers are ${left}$, ${right}$ and ${total}$ in decimal, and "
            f"${left} {sign} {right} = {total}$."
        )
        return Drawn(
            ask=ask,
            values=dict(zip(("first", "second", "third"), texts, strict=True)),
            gold=gold.integer(b),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "square":
            found = [
                b
                for b in range(values["low"], values["high"] + 1)
                if math.isqrt(n := _read(values["digits"], b)) ** 2 == n
            ]
            fits = int(max(values["digits"])) < values["low"]
            return gold.finite_set(found) if fits else None
        found = []
        names = ("digits",) if ask == "number" else ("first", "second", "third")
        texts = [values[name] for name in names]
        for b in range(2, 41):
            if int(max("".join(texts))) >= b:
                continue
            numbers = [_read(text, b) for text in texts]
            if ask == "number":
                fits = numbers[0] == values["value"]
            elif ask == "sum":
                fits = numbers[2] == numbers[0] + numbers[1]
            else:
                fits = numbers[2] == numbers[0] * numbers[1]
            if fits:
                found.append(b)
        return gold.integer(found[0]) if len(found) == 1 else None


def _number(digits: list[int], value: int, b: int) -> Drawn:
    powers = " + ".join(
        f"{digit}{['', 'b'][place > 0]}{f'^{place}' if place > 1 else ''}"
        for digit, place in zip(digits, range(len(digits) - 1, -1, -1), strict=True)
    )
    powers = powers.replace("1b", "b")
    return Drawn(
        ask="number",
        values={"digits": _text(digits), "value": value},
        gold=gold.integer(b),
        steps=f"The digits mean ${powers} = {value}$. The left side grows with $b$, and for "
        f"$b = {b}$ both sides are equal.",
    )


def _square(rng: random.Random, top: float) -> Drawn:
    """Digits 1, 2r, r*r + k: squares for few bases; and the digits of a general number."""
    while True:
        digits = [base.whole(rng, 1, 4), base.whole(rng, 0, 6), base.whole(rng, 0, 6)]
        low = max(digits) + 2 + int(rng.random() * 3)
        high = low + int(top) + 4
        values = {b: _value(digits, b) for b in range(low, high + 1)}
        found = [b for b, value in values.items() if math.isqrt(value) ** 2 == value]
        if 0 < len(found) <= 6:
            break
    a, m, c = digits
    terms = [f"{'' if a == 1 else a}b^2"]
    if m:
        terms.append(f"{'' if m == 1 else m}b")
    if c:
        terms.append(str(c))
    shown = ", ".join(f"${values[b]} = {math.isqrt(values[b])}^2$ for $b = {b}$" for b in found)
    return Drawn(
        ask="square",
        values={"digits": _text(digits), "low": low, "high": high},
        gold=gold.finite_set(found),
        steps=f"The number is ${' + '.join(terms)}$. Its values from $b = {low}$ to $b = {high}$ "
        f"are ${', '.join(map(str, values.values()))}$. Squares among them: {shown}.",
    )


def _value(digits: list[int], b: int) -> int:
    value = 0
    for digit in digits:
        value = value * b + digit
    return value


def _digits(value: int, b: int) -> list[int]:
    found = []
    while value:
        value, digit = divmod(value, b)
        found.append(digit)
    return found[::-1]


def _digits_freely(first: list[int], second: list[int], ask: str) -> list[int]:
    """The digits of the result where no place overflows: then every large base would do."""
    if ask == "sum":
        return [left + right for left, right in zip(first, second, strict=True)]
    return [left * second[0] for left in first]


def _text(digits: list[int]) -> str:
    return "".join(map(str, digits))


def _read(text: str, b: int) -> int:
    return sum(int(digit) * b**place for place, digit in enumerate(reversed(text)))
