"""Exact numbers from digits and back, whatever their length, with a cap on size."""

from __future__ import annotations

import math
from fractions import Fraction

from limite.problems.reading.faults import TooLarge

BITS = 80_000
"""The most bits of a numerator or denominator: about 24,000 decimal digits."""

_CHUNK = 4_000  # digits that int() and str() take however Python is configured


def integer_of(digits: str) -> int:
    """The value of decimal digits; Python's own limit on their number is not touched."""
    if len(digits) <= _CHUNK:
        return int(digits)
    if len(digits) > BITS // 3:
        raise TooLarge(f"a number of {len(digits)} digits")
    value, scale = 0, 10**_CHUNK
    for start in range(0, len(digits) - len(digits) % _CHUNK, _CHUNK):
        value = value * scale + int(digits[start : start + _CHUNK])
    rest = digits[len(digits) - len(digits) % _CHUNK :]
    return value * 10 ** len(rest) + int(rest) if rest else value


def digits_of(value: int) -> str:
    """The decimal digits of ``value``, with a minus sign where it is negative."""
    if value < 0:
        return "-" + digits_of(-value)
    if value.bit_length() < 3 * _CHUNK:
        return str(value)
    scale, chunks = 10**_CHUNK, []
    while value >= scale:
        value, chunk = divmod(value, scale)
        chunks.append(f"{chunk:0{_CHUNK}d}")
    return str(value) + "".join(reversed(chunks))


def ratio_text(value: Fraction) -> str:
    """``p/q`` in lowest terms, or the integer."""
    if value.denominator == 1:
        return digits_of(value.numerator)
    return f"{digits_of(value.numerator)}/{digits_of(value.denominator)}"


def bits_of(value: Fraction) -> int:
    """The size of a number: bits of the larger of numerator and denominator."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def power_of(base: Fraction, exponent: int) -> Fraction | None:
    """``base ** exponent`` where the result is of bounded size, else None. 0 to -1 is None too."""
    if base == 0 and exponent < 0:
        return None
    if abs(exponent) > BITS and base not in (0, 1, -1):
        return None
    if bits_of(base) * abs(exponent) > BITS and base not in (0, 1, -1):
        return None
    if base in (1, -1):
        exponent %= 2
    return base ** min(exponent, 1) if base == 0 and exponent else base**exponent


def root_of(value: Fraction, degree: int) -> Fraction | None:
    """The exact ``degree``-th root of a number that is not negative, where it is rational."""
    if value < 0 or not 2 <= degree <= 64:
        return None
    top, bottom = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if top is None or bottom is None else Fraction(top, bottom)


def _whole_root(value: int, degree: int) -> int | None:
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    if value < 2:
        return value
    root = 1 << -(-value.bit_length() // degree)  # above the root; Newton falls towards it
    while True:
        lower = ((degree - 1) * root + value // root ** (degree - 1)) // degree
        if lower >= root:
            return root if root**degree == value else None
        root = lower


def prime_powers(value: int, limit: int = 10_000) -> list[tuple[int, int]]:
    """Factors by trial division up to ``limit``; what is left stays one factor, prime or not."""
    found = []
    divisor = 2
    while divisor <= limit and divisor * divisor <= value:
        count = 0
        while value % divisor == 0:
            value //= divisor
            count += 1
        if count:
            found.append((divisor, count))
        divisor += 1 if divisor == 2 else 2
    if value > 1:
        found.append((value, 1))
    return found
