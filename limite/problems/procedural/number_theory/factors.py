"""Primes and factorisations that families of number theory share."""

from __future__ import annotations

import math
from collections.abc import Mapping

PRIMES = tuple(n for n in range(2, 400) if all(n % d for d in range(2, math.isqrt(n) + 1)))
"""Every prime below 400, in order."""


def factorise(number: int) -> dict[int, int]:
    """Primes with their exponents, smallest first, by trial division."""
    found: dict[int, int] = {}
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            found[prime] = found.get(prime, 0) + 1
            number //= prime
        prime += 1
    if number > 1:
        found[number] = found.get(number, 0) + 1
    return found


def product_of(factors: Mapping[int, int]) -> int:
    number = 1
    for prime, exponent in factors.items():
        number *= prime**exponent
    return number


def power_text(base: int, exponent: int) -> str:
    """``3^{2}``, or ``3`` alone."""
    return str(base) if exponent == 1 else f"{base}^{{{exponent}}}"


def product_text(factors: Mapping[int, int]) -> str:
    """``2^{3} \\cdot 5`` in LaTeX."""
    return " \\cdot ".join(power_text(*each) for each in factors.items()) or "1"


def times(values: list[int]) -> str:
    """``2 \\cdot 3`` in LaTeX."""
    return " \\cdot ".join(map(str, values))


def and_list(items: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def phi(number: int) -> int:
    """How many of 1 to ``number`` are coprime to it, by its primes."""
    count = number
    for prime in factorise(number):
        count -= count // prime
    return count


def divisors(number: int) -> list[int]:
    """Every positive divisor, in order, from the factorisation."""
    found = [1]
    for prime, exponent in factorise(number).items():
        found = [each * prime**power for each in found for power in range(exponent + 1)]
    return sorted(found)
