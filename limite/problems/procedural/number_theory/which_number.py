"""One of several numbers that has a property."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import and_list, factorise, product_text
from limite.problems.procedural.wording import Wordings

_LABELS = "ABCDE"


@attrs.frozen(kw_only=True)
class WhichNumber(Family):
    """Which of five numbers is prime, a square, divisible by another or coprime to it."""

    name = "which-number"
    tag = "number-theory/divisibility"
    wordings = Wordings(
        divisible=(
            "Exactly one of these numbers is divisible by $<divisor>$. Which one? "
            "(A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
            "Which of the following numbers is a multiple of $<divisor>$? "
            "(A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
        ),
        prime=(
            "Exactly one of these numbers is prime. Which one? "
            "(A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
            "Which of the following is a prime number? "
            "(A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
        ),
        square=(
            "Exactly one of these numbers is the square of an integer. Which one? "
            "(A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
            "Which of the following numbers is a perfect square? "
            "(A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
        ),
        coprime=(
            "Exactly one of these numbers has no prime factor in common with $<divisor>$. Which "
            "one? (A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
            "Which of the following numbers is coprime to $<divisor>$? "
            "(A) $<a>$ (B) $<b>$ (C) $<c>$ (D) $<d>$ (E) $<e>$",
        ),
    )

    size: Ends = dial(60, 20_000, "largest number", least=60, most=100_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("divisible", "prime", "square", "coprime"))
        size = base.slow_start(self.size, difficulty)
        low = 20 + int(size / 10)
        values: dict[str, Any] = {}
        if ask == "divisible":
            divisor = base.chosen(rng, (3, 4, 6, 7, 8, 9, 11, 13))
            right = divisor * base.whole(rng, low // divisor + 1, size // divisor)
            wrong = _others(rng, low, size, right, lambda n: n % divisor != 0)
            steps = f"${right} = {divisor} \\cdot {right // divisor}$"
            rest = [f"${n}$ leaves ${n % divisor}$" for n in wrong]
            steps += f". As remainders on division by ${divisor}$, {and_list(rest)}."
            values["divisor"] = divisor
        elif ask == "prime":
            right = base.whole(rng, low, size) | 1
            while len(factorise(right)) > 1 or sum(factorise(right).values()) > 1:
                right += 2
            wrong = _others(
                rng, low, size, right, lambda n: n % 2 * n % 5 != 0 and max(factorise(n)) < n
            )
            rest = [f"${n} = {min(factorise(n))} \\cdot {n // min(factorise(n))}$" for n in wrong]
            steps = f"{and_list(rest)} are products. No prime up to "
            steps += f"${math.isqrt(right)}$ divides ${right}$."
        elif ask == "square":
            root = base.whole(rng, math.isqrt(low) + 1, math.isqrt(int(size)))
            right = root * root
            wrong = _others(
                rng, low, size, right, lambda n: n % 5 in (0, 1, 4) and math.isqrt(n) ** 2 != n
            )
            steps = f"${right} = {root}^2$. The others lie between neighbouring squares: "
            steps += (
                and_list([f"${math.isqrt(n)}^2 < {n} < {math.isqrt(n) + 1}^2$" for n in wrong])
                + "."
            )
        else:
            divisor = base.chosen(rng, (30, 42, 66, 70, 105, 110, 154, 165, 210))
            right = base.whole(rng, low, size)
            while math.gcd(right, divisor) > 1:
                right += 1
            wrong = _others(rng, low, size, right, lambda n: math.gcd(n, divisor) > 1)
            rest = [f"${min(factorise(math.gcd(n, divisor)))}$ divides ${n}$" for n in wrong]
            steps = (
                f"${divisor} = {product_text(factorise(divisor))}$. {and_list(rest)}, but none of "
                f"these primes divides ${right}$."
            )
            values["divisor"] = divisor
        numbers = base.shuffled(rng, [right, *wrong])
        options = {label: str(n) for label, n in zip(_LABELS, numbers, strict=True)}
        return Drawn(
            ask=ask,
            values=values | dict(zip("abcde", numbers, strict=True)),
            gold=gold.choice(_LABELS[numbers.index(right)], options),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        options = {label: values[label.lower()] for label in _LABELS}
        divisor = values.get("divisor", 0)
        found = []
        for label, number in options.items():
            if ask == "divisible":
                rest = 0  # digit by digit
                for digit in str(number):
                    rest = (10 * rest + int(digit)) % divisor
                fits = rest == 0
            elif ask == "prime":
                fits = number > 1 and all(number % d for d in range(2, math.isqrt(number) + 1))
            elif ask == "square":
                digits = {k * k for k in range(math.isqrt(max(options.values())) + 1)}
                fits = number in digits
            else:
                fits = not any(number % d == 0 and divisor % d == 0 for d in range(2, divisor + 1))
            if fits:
                found.append(label)
        if len(found) != 1 or len(set(options.values())) != 5:
            return None
        return gold.choice(found[0], {label: str(n) for label, n in options.items()})


def _others(
    rng: random.Random, low: int, high: float, right: int, fits: Callable[[int], bool]
) -> list[int]:
    """Four different numbers that are wrong."""
    found: list[int] = []
    while len(found) < 4:
        number = base.whole(rng, low, high)
        while number == right or number in found or not fits(number):
            number += 1
        found.append(number)
    return found
