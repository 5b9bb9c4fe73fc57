"""What the procedural families share: sizes that grow with difficulty, and the finished record.

Sizes use only products and sums of doubles, which every platform rounds alike, so that a stream
and a difficulty give the same problem everywhere.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from limite.core.errors import LimiteError
from limite.core.types import Answer, Problem

MARKER = "#"
"""Stands once in every solution, before the final answer."""

Ends = tuple[float, float]
"""A size at difficulty 0 and at difficulty 1."""


def ends(low: float, high: float = 100_000.0) -> Callable[[Any, Any, Any], None]:
    """Validates a size at difficulty 0 and at difficulty 1: finite, in bounds, not falling."""

    def check(_instance: Any, attribute: Any, value: Any) -> None:
        if len(value) != 2 or not all(math.isfinite(size) for size in value):
            raise ValueError(f"{attribute.name!r} must be two numbers, got {value!r}")
        if not low <= value[0] <= value[1] <= high:
            raise ValueError(
                f"{attribute.name!r} must rise from at least {low:g} to at most {high:g}, "
                f"got {list(value)}"
            )

    return check


def steady(size: Ends, difficulty: float) -> float:
    """The size at ``difficulty``, growing evenly: right for counts and shares."""
    if not 0.0 <= difficulty <= 1.0:
        raise LimiteError(f"the difficulty of a problem lies in 0 to 1, got {difficulty}")
    return size[0] + (size[1] - size[0]) * difficulty


def slow_start(size: Ends, difficulty: float) -> float:
    """The size at ``difficulty``, growing with its square: right for the largest number drawn,
    where digits matter more than units."""
    return steady(size, steady((0.0, 1.0), difficulty) * difficulty)


def whole(rng: random.Random, low: int, high: float) -> int:
    """A whole number from ``low`` to ``high``. Between two whole values of ``high`` the chance of
    the top number grows evenly, so that difficulty has no steps."""
    return min(int(low + rng.random() * (high + 1 - low)), math.ceil(high))


def whole_near(rng: random.Random, size: float) -> int:
    """``size`` rounded up or down at random, so that its mean is ``size``."""
    return math.floor(size) + (rng.random() < size - math.floor(size))


Item = TypeVar("Item")


def chosen(rng: random.Random, items: Sequence[Item]) -> Item:
    """One of ``items``, each as likely as the others."""
    return items[int(rng.random() * len(items))]


def rising(rng: random.Random, items: Sequence[Item], difficulty: float) -> Item:
    """One of ``items``, which stand from easy to hard: of their first half at difficulty 0, of
    their last two thirds at 1."""
    place = 0.35 * difficulty + rng.random() * (0.45 + 0.2 * difficulty)
    return items[min(int(place * len(items)), len(items) - 1)]


def shuffled(rng: random.Random, items: Sequence[Item]) -> list[Item]:
    """The same items in an order drawn at random."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def distinct(rng: random.Random, count: int, low: int, high: int) -> list[int]:
    """``count`` different whole numbers from ``low`` to ``high``, in the order they were drawn."""
    drawn: list[int] = []
    for last in range(high - count + 1, high + 1):  # as many steps as numbers, however close
        number = low + int(rng.random() * (last + 1 - low))
        drawn.append(last if number in drawn else number)
    return shuffled(rng, drawn)


def places(number: int) -> list[int]:
    """``345`` as ``[300, 40, 5]``: its digits with their places, without zeros."""
    digits = str(number)
    return [
        int(digit) * 10 ** (len(digits) - 1 - place)
        for place, digit in enumerate(digits)
        if digit != "0"
    ]


def signed(value: int) -> str:
    """``+5`` or ``-5``: a number as a later term of a sum."""
    return f"{value:+d}"


def term(coefficient: int, letter: str, *, first: bool) -> str:
    """``3x``, ``-x``, ``+2y``: one term of a linear expression; never ``0x`` or ``1x``."""
    sign = "-" if coefficient < 0 else "" if first else "+"
    size = "" if abs(coefficient) == 1 else str(abs(coefficient))
    return f"{sign}{size}{letter}"


def solution(steps: list[str], answer: int) -> str:
    """Steps parted by semicolons, then the marked answer."""
    return ";".join(steps) + f"{MARKER}{answer}"


def record(
    *,
    generator: str,
    version: int,
    text: str,
    answer: int,
    solutions: Mapping[str, list[str]],
    difficulty: float,
    tags: tuple[str, ...],
) -> Problem:
    """The finished problem: an integer answer, a solution in each style, and where it came from."""
    return Problem(
        problem=text,
        answer=Answer(type="integer", value=str(answer)),
        solutions={style: solution(steps, answer) for style, steps in solutions.items()},
        source={"kind": "procedural", "generator": generator, "version": version},
        difficulty={"level": round(100 * difficulty)},
        tags=tags,
    )


def integer_answer(problem: Problem) -> int | None:
    """The gold answer as a number; None when it is not a canonical integer."""
    value = problem.answer.value
    if problem.answer.type != "integer" or len(value) > 100:
        return None
    try:
        number = int(value)
    except ValueError:
        return None
    return number if str(number) == value else None
