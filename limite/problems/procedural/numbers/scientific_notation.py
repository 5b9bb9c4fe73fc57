"""Numbers in scientific notation multiplied, divided and added."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, decimal_text

_NUMBER = re.compile(r"([0-9.]+) \\cdot 10\^\{(-?[0-9]+)\}")
_FORM = "$a \\cdot 10^n$ with $1 \\le a < 10$ and an integer $n$"


@attrs.frozen(kw_only=True)
class ScientificNotation(Family):
    """Products, quotients and sums of numbers in scientific notation."""

    name = "scientific-notation"
    tag = "arithmetic/powers"
    wordings = Wordings(
        quotient=(
            f"Write $\\dfrac{{<top:text>}}{{<bottom:text>}}$ as {_FORM}. Give the exact pair "
            "$(a, n)$.",
            f"Divide $<top:text>$ by $<bottom:text>$ and write the result as {_FORM}. Answer with "
            "the exact pair $(a, n)$.",
        ),
        sum=(
            f"Add $<one:text>$ and $<two:text>$, and write the sum as {_FORM}. Give the exact pair "
            "$(a, n)$.",
            f"Write the sum of $<one:text>$ and $<two:text>$ as {_FORM}. Answer with the exact "
            "pair $(a, n)$.",
        ),
        product=(
            f"Write $<expression:text>$ as {_FORM}. Give the exact pair $(a, n)$.",
            f"Compute $<expression:text>$ and bring it to the form {_FORM}. Answer with the exact "
            "pair $(a, n)$.",
        ),
    )

    digits: Ends = dial(1.5, 3.5, "digits of every number", most=5)
    factors: Ends = dial(2, 3, "how many factors", least=2, most=6)
    exponent: Ends = dial(6, 30, "largest exponent", least=3, most=300)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        digits = base.steady(self.digits, difficulty)
        largest = base.steady(self.exponent, difficulty)
        count = base.whole_near(rng, base.steady(self.factors, difficulty))
        parts = [_part(rng, digits, largest) for _ in range(count)]
        kind = rng.random()
        if kind < 0.25:
            # Near each other, so that the smaller one counts; the digits are moved, then added.
            one, two = parts[0], attrs.evolve(parts[1], exponent=parts[0].exponent - 1)
            if two.exponent in (0, 1):
                one, two = attrs.evolve(one, exponent=5), attrs.evolve(two, exponent=4)
            total = Fraction(one.mantissa) + two.mantissa / 10
            return Drawn(
                ask="sum",
                values={"one": one.text, "two": two.text},
                gold=_normal(total, one.exponent),
                steps=f"${two.text} = {decimal_text(two.mantissa / 10)} \\cdot "
                f"10^{{{one.exponent}}}$, and ${decimal_text(one.mantissa)} + "
                f"{decimal_text(two.mantissa / 10)} = {decimal_text(total)}$.",
            )
        if kind < 0.5:
            one, two = parts[0], parts[1]
            top, shift = _shifted(one.mantissa * two.mantissa)
            exponent = one.exponent + two.exponent + shift
            if exponent in (0, 1):
                exponent += 2
            above = _Part(top, exponent)
            difference = f"{exponent} - {_bracket(two.exponent)} = {exponent - two.exponent}"
            ratio = top / two.mantissa
            return Drawn(
                ask="quotient",
                values={"top": above.text, "bottom": two.text},
                gold=_normal(ratio, exponent - two.exponent),
                steps=f"${decimal_text(top)} \\div {decimal_text(two.mantissa)} = "
                f"{decimal_text(ratio)}$, and the exponent is ${difference}$.{_moved(ratio)}",
            )
        product = math.prod((part.mantissa for part in parts), start=Fraction(1))
        exponents = [part.exponent for part in parts]
        added = str(exponents[0]) + "".join(f" + {_bracket(each)}" for each in exponents[1:])
        mantissas = " \\cdot ".join(decimal_text(part.mantissa) for part in parts)
        return Drawn(
            ask="product",
            values={"expression": " \\cdot ".join(f"({part.text})" for part in parts)},
            gold=_normal(product, sum(exponents)),
            steps=f"${mantissas} = {decimal_text(product)}$, and the exponents add up to "
            f"${added} = {sum(exponents)}$.{_moved(product)}",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # As fractions, in full length; the power is then counted off in tens.
        found = Fraction(1)
        if ask == "sum":
            found = _value(values["one"]) + _value(values["two"])
        elif ask == "quotient":
            found = _value(values["top"]) / _value(values["bottom"])
        else:
            for part in values["expression"].split(") \\cdot ("):
                found *= _value(part)
        exponent = len(str(found.numerator)) - len(str(found.denominator))
        rest = found / Fraction(10) ** exponent
        return _pair(rest, exponent) if rest >= 1 else _pair(10 * rest, exponent - 1)


@attrs.frozen
class _Part:
    mantissa: Fraction
    exponent: int

    @property
    def text(self) -> str:
        return f"{decimal_text(self.mantissa)} \\cdot 10^{{{self.exponent}}}"


def _part(rng: random.Random, digits: float, largest: float) -> _Part:
    size = base.whole_near(rng, digits)
    number = base.whole(rng, max(2, 10 ** (size - 1) + 1), 10**size - 1)
    exponent = base.whole(rng, 2, largest)
    if rng.random() < 0.4:
        exponent = -exponent
    return _Part(Fraction(number, 10 ** (size - 1)), exponent)


def _value(text: str) -> Fraction:
    mantissa, exponent = _NUMBER.findall(text)[0]
    return Fraction(mantissa) * Fraction(10) ** int(exponent)


def _shifted(mantissa: Fraction) -> tuple[Fraction, int]:
    shift = 0
    while mantissa >= 10:
        mantissa, shift = mantissa / 10, shift + 1
    while mantissa < 1:
        mantissa, shift = mantissa * 10, shift - 1
    return mantissa, shift


def _normal(mantissa: Fraction, exponent: int) -> Gold:
    mantissa, shift = _shifted(mantissa)
    return _pair(mantissa, exponent + shift)


def _pair(mantissa: Fraction, exponent: int) -> Gold:
    pair = gold.ordered([mantissa, exponent], names=("a", "n"))
    return attrs.evolve(pair, latex=f"({decimal_text(mantissa)}, {exponent})")


def _moved(mantissa: Fraction) -> str:
    _, shift = _shifted(mantissa)
    if not shift:
        return ""
    return f" To bring the factor between $1$ and $10$, change the exponent by ${shift}$."


def _bracket(number: int) -> str:
    return f"({number})" if number < 0 else str(number)
