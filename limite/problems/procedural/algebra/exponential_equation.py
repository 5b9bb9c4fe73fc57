"""Exponential equations whose bases are powers of one number."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.algebra.writing import linear, nonzero, read_linear
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_PRIMES = (2, 3, 5, 7)
_HIGHEST = {2: 6, 3: 4, 5: 3, 7: 2}


@attrs.frozen(kw_only=True)
class ExponentialEquation(Family):
    """An equation with the unknown in exponents, one solution or a set of them."""

    name = "exponential-equation"
    tag = "algebra/exponentials-and-logarithms"
    wordings = Wordings(
        number=(
            "Solve $<left>^{<upper:text>} = <value>$ for real $x$.",
            "For which real number $x$ is $<left>^{<upper:text>} = <value>$?",
        ),
        powers=(
            "Solve $<left>^{<upper:text>} = <right>^{<lower:text>}$ for real $x$.",
            "Find the real number $x$ with $<left>^{<upper:text>} = <right>^{<lower:text>}$.",
        ),
        quadratic=(
            "Find the set of all real solutions of $<square>^x - <middle> \\cdot <root>^x + <last> "
            "= 0$.",
            "Which real numbers $x$ satisfy $<square>^x + <last> = <middle> \\cdot <root>^x$? "
            "Answer with the set of all solutions.",
        ),
    )

    exponent: Ends = dial(1, 4, "largest power that a base is of a prime", most=6)
    coefficient: Ends = dial(3, 9, "largest coefficient in an exponent", least=2, most=50)
    quadratic: Ends = dial(0, 0.4, "share that is quadratic in a power", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        prime = base.chosen(rng, _PRIMES)
        largest = base.steady(self.coefficient, difficulty)
        if rng.random() < base.steady(self.quadratic, difficulty):
            return _quadratic(rng, prime)
        most = min(base.steady(self.exponent, difficulty), _HIGHEST[prime])
        first, second = base.whole(rng, 1, most), base.whole(rng, 1, most)
        a, b = base.whole(rng, 1, largest), nonzero(rng, largest)
        c = base.whole(rng, 0, difficulty * largest / 2)
        if first * a == second * c:
            c += 1
        d = nonzero(rng, largest)
        if not c:
            second, d = 1, base.whole(rng, 2, 5)
        top, bottom = second * d - first * b, first * a - second * c
        upper, lower = linear([a], "x", b), linear([c], "x", d)
        left, right = prime**first, prime**second
        as_powers = [
            f"${prime**each} = {prime}^{each}$"
            for each in dict.fromkeys((first, second if c else d))
            if each > 1
        ]
        scaled = [
            linear([times * each], "x", times * other)
            for times, each, other in ((first, a, b), (second, c, d))
        ]
        values = {"left": left, "upper": upper, "right": right, "lower": lower}
        return Drawn(
            ask="powers" if c else "number",
            values=values if c else {"left": left, "upper": upper, "value": prime**d},
            gold=gold.rational(Fraction(top, bottom)),
            steps=(f"Since {' and '.join(as_powers)}, t" if as_powers else "T")
            + f"he exponents of ${prime}$ on both sides must agree: ${scaled[0]} = {scaled[1]}$. "
            f"Collecting the terms gives ${linear([bottom], 'x')} = {top}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "quadratic":
            # Each integer is tried: an equation that is quadratic in a power has no third solution.
            square, root, middle, last = (
                values[name] for name in ("square", "root", "middle", "last")
            )
            found = [
                x
                for x in range(-8, 13)
                if Fraction(square) ** x - middle * Fraction(root) ** x + last == 0
            ]
            return gold.finite_set(found) if len(found) == 2 else None
        # Trying two points: the exponents of the prime differ by a linear function.
        prime = next(each for each in _PRIMES if values["left"] % each == 0)
        sizes = []
        for name in ("left", "right" if ask == "powers" else "value"):
            number, count = values[name], 0
            while number % prime == 0:
                number //= prime
                count += 1
            if number != 1:
                return None
            sizes.append(count)
        (a,), b = read_linear(values["upper"], "x")
        (c,), d = read_linear(values.get("lower", "1"), "x")
        at = [sizes[0] * (a * x + b) - sizes[1] * (c * x + d) for x in (0, 1)]
        return gold.rational(Fraction(at[0], at[0] - at[1])) if at[0] != at[1] else None


def _quadratic(rng: random.Random, prime: int) -> Drawn:
    """u^2 - (p^s + p^t) u + p^(s+t) = 0 with u = p^x."""
    power = base.whole(rng, 1, 2 if prime < 5 else 1)
    root = prime**power
    low = base.whole(rng, 0, 2 if prime < 5 else 1)
    high = low + base.whole(rng, 1, 3 if prime == 2 else 2)
    first, second = root**low, root**high
    return Drawn(
        ask="quadratic",
        values={"square": root**2, "root": root, "middle": first + second, "last": first * second},
        gold=gold.finite_set([low, high]),
        steps=f"With $u = {root}^x$ this is $u^2 - {first + second}u + {first * second} = 0$, that "
        f"is $(u - {first})(u - {second}) = 0$. So ${root}^x = {first}$ or ${root}^x = {second}$.",
    )
