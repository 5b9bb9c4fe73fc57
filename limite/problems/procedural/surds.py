"""Numbers a + b sqrt(n) with rational a and b: simplified, written and put in sets."""

from __future__ import annotations

import math
from fractions import Fraction

from limite.core.types import Answer
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number, plain_number
from limite.problems.procedural.wording import ratio_text


def split(number: int) -> tuple[int, int]:
    """(s, n) with ``number`` = s^2 n, where no square but 1 divides n."""
    outside, inside, prime = 1, number, 2
    while prime * prime <= inside:
        while inside % (prime * prime) == 0:
            inside //= prime * prime
            outside *= prime
        prime += 1
    return outside, inside


def plain(whole: Number, times: Number, root: int) -> str:
    """``-1/2*sqrt(5)+1/2``: the canonical notation of answers."""
    times, whole = plain_number(times), plain_number(whole)
    size = {1: "", -1: "-"}.get(times, f"{times}*") if isinstance(times, int) else f"{times}*"
    tail = f"{whole}" if whole < 0 else f"+{whole}" if whole else ""
    return f"{size}sqrt({root}){tail}"


def latex(whole: Number, times: Number, root: int) -> str:
    """``\\frac{1 - \\sqrt{5}}{2}``."""
    below = math.lcm(Fraction(whole).denominator, Fraction(times).denominator)
    first, second = int(whole * below), int(times * below)
    size = "" if abs(second) == 1 else str(abs(second))
    if first:
        text = f"{first} {'-' if second < 0 else '+'} {size}\\sqrt{{{root}}}"
        return text if below == 1 else f"\\frac{{{text}}}{{{below}}}"
    sign = "-" if second < 0 else ""
    text = f"{size}\\sqrt{{{root}}}"
    return sign + (text if below == 1 else f"\\frac{{{text}}}{{{below}}}")


def both_signs(whole: Number, times: Number, root: int) -> str:
    """``2 \\pm 3\\sqrt{5}``."""
    size = "" if times == 1 else ratio_text(times)
    middle = f"{size}\\sqrt{{{root}}}" if root > 1 else ratio_text(times)
    return f"{ratio_text(whole)} \\pm {middle}" if whole else f"\\pm {middle}"


def pair(whole: Number, times: Number, root: int) -> Gold:
    """The set of ``whole`` minus and plus ``times`` (above 0) square roots of ``root``, which is
    no square."""
    return Gold(
        Answer(type="set", value=f"{{{plain(whole, -times, root)},{plain(whole, times, root)}}}"),
        f"\\left\\{{{latex(whole, -times, root)}, {latex(whole, times, root)}\\right\\}}",
    )
