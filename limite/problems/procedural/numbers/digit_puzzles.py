"""Numbers found from what is known about their digits."""

from __future__ import annotations

import functools
import itertools
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_PRODUCT = re.compile(r"the product of the digits is \$(\d+)\$")
_CHANGE = re.compile(r"written backwards, the number becomes (larger|smaller) by \$(\d+)\$")
_DIVISOR = re.compile(r"the number is divisible by \$(\d+)\$")
_RISING = "every digit but the first is larger than the one before it"
_SAME = "written backwards, the number stays the same"
_DIFFERENT = "no two of the digits are equal"
_NUMBER = re.compile("[0-9]+")
Digits = tuple[int, ...]
_SUMS = tuple(sum(map(int, str(number))) for number in range(1000))
"""The digit sum of every number below a thousand."""


@attrs.frozen(kw_only=True)
class DigitPuzzles(Family):
    """All numbers whose digits have several stated properties."""

    name = "digit-puzzles"
    tag = "arithmetic/digits"
    wordings = Wordings(
        "Find all <length>-digit numbers with these properties: the digits add up to $<sum>$; "
        "<facts:text>. Give the set of all such numbers.",
        "The digits of a <length>-digit number add up to $<sum>$. This is known as well: "
        "<facts:text>. Which numbers can it be? Answer with the set of all of them.",
    )

    length: Ends = dial(2, 4, "how many digits", least=2, most=4)
    solutions: Ends = dial(
        2, 6, "how many numbers may fit before no more is said", least=1, most=40
    )

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        length = base.whole_near(rng, base.steady(self.length, difficulty))
        most = base.steady(self.solutions, difficulty)
        for _ in range(20):
            number = base.whole(rng, 10 ** (length - 1) + 2, 10**length - 1)
            digits = tuple(map(int, str(number)))
            said, fitting, steps = _told(rng, digits, most)
            if said and len(fitting) <= 12:
                break
        else:  # the product of these digits can always be told
            digits = tuple(range(1, length + 1))
            said, fitting, steps = _told(rng, digits, most)
        total = sum(digits)
        return Drawn(
            values={"length": length, "sum": total, "facts": "; ".join(said)},
            gold=gold.finite_set(map(_number, fitting)),
            steps=f"Count what is left after each fact: {'; '.join(steps)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        left: Sequence[tuple[int, str]] = _tried(values["length"], values["sum"])
        for fact in values["facts"].split("; "):
            asked = int((_NUMBER.findall(fact) or [0])[0])
            left = [each for each in left if _holds(*each, fact, asked)]
        return gold.finite_set(number for number, _ in left)


@functools.lru_cache(maxsize=64)
def _tried(length: int, total: int) -> tuple[tuple[int, str], ...]:
    """All numbers of this length and digit sum, and their figures, found by trying."""
    # A number and its digit sum leave the same remainder by 9, so every ninth one is tried.
    low, high = 10 ** (length - 1), 10**length
    return tuple(
        (number, str(number))
        for number in range(low + (total - low) % 9, high, 9)
        if _SUMS[number // 1000] + _SUMS[number % 1000] == total
    )


def _told(
    rng: random.Random, digits: Digits, most: float
) -> tuple[list[str], list[Digits], list[str]]:
    """Facts about the digits, all numbers they fit, and how many were left after each."""
    total = sum(digits)
    fitting = list(_with_sum(len(digits), total))
    said: list[str] = []
    steps = [f"${len(fitting)}$ such numbers have the digit sum ${total}$"]
    for kind in base.shuffled(rng, range(5)):
        fact = _fact(rng, kind, digits)
        if not fact or (said and len(fitting) <= most):
            continue
        left = list(filter(_test_of(fact), fitting))
        if "backwards" in fact and not all(each[-1] for each in left):
            continue  # is 021 a number?
        said.append(fact)
        fitting = left
        steps.append(f"with the fact that {fact}, {_kept(fitting)}")
    return said, fitting, steps


@functools.cache
def _with_sum(length: int, total: int) -> tuple[Digits, ...]:
    """The digits of all numbers of this length and digit sum, in order of their last digits."""
    if length == 1:
        return ((total,),) if 0 <= total <= 9 else ()
    return tuple(
        (*start, last)
        for last in range(min(9, total) + 1)
        for start in _with_sum(length - 1, total - last)
        if start[0]
    )


def _fact(rng: random.Random, kind: int, digits: Digits) -> str:
    """Something true of these digits; empty where this kind says nothing."""
    change = _number(digits[::-1]) - _number(digits)
    if kind == 0 and not change:
        return _SAME
    if kind == 0:
        larger = "larger" if change > 0 else "smaller"
        return f"written backwards, the number becomes {larger} by ${abs(change)}$"
    if kind == 1 and all(digits):
        return f"the product of the digits is ${math.prod(digits)}$"
    if kind == 2:
        divisors = [each for each in (4, 5, 7, 8, 11, 13, 17, 19, 23) if not _number(digits) % each]
        return f"the number is divisible by ${base.chosen(rng, divisors)}$" if divisors else ""
    if kind == 3 and all(one < other for one, other in itertools.pairwise(digits)):
        return _RISING
    return _DIFFERENT if kind == 4 and len(set(digits)) == len(digits) else ""


def _test_of(fact: str) -> Callable[[Digits], bool]:
    """What a fact says, as a test of digits."""
    match = _CHANGE.fullmatch(fact)
    if match:
        wanted = int(match[2]) if match[1] == "larger" else -int(match[2])
        return lambda digits: _number(digits[::-1]) - _number(digits) == wanted
    match = _PRODUCT.fullmatch(fact)
    if match:
        product = int(match[1])
        return lambda digits: math.prod(digits) == product
    match = _DIVISOR.fullmatch(fact)
    if match:
        divisor = int(match[1])
        return lambda digits: _number(digits) % divisor == 0
    if fact == _RISING:
        return lambda digits: all(one < other for one, other in itertools.pairwise(digits))
    if fact == _SAME:
        return lambda digits: digits == digits[::-1]
    return lambda digits: len(set(digits)) == len(digits)


def _holds(number: int, text: str, fact: str, asked: int) -> bool:
    """The same of a number in figures; ``asked`` is the number in the fact."""
    if fact == _SAME:
        return text[::-1] == text
    if "backwards" in fact:
        return int(text[::-1]) == (number + asked if "larger" in fact else number - asked)
    if "product" in fact:
        for figure in text:
            if figure == "0" or asked % int(figure):
                return False
            asked //= int(figure)
        return asked == 1
    if "divisible" in fact:
        return number // asked * asked == number
    if fact == _RISING:
        return "".join(sorted(set(text))) == text
    return fact == _DIFFERENT and all(text.count(figure) == 1 for figure in text)


def _kept(fitting: Sequence[Digits]) -> str:
    if len(fitting) > 8:
        return f"${len(fitting)}$ are left"
    return f"what is left is ${', '.join(str(_number(each)) for each in fitting)}$"


def _number(digits: Digits) -> int:
    value = 0
    for digit in digits:
        value = 10 * value + digit
    return value
