"""Sums and products of Fibonacci numbers."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FibonacciIdentities(Family):
    """Sums of Fibonacci numbers and of their squares, and sums of different Fibonacci numbers."""

    name = "fibonacci-identities"
    tag = "sequences/fibonacci"
    wordings = Wordings(
        sum=(
            "The Fibonacci numbers are $F_1 = F_2 = 1$ and $F_{n+2} = F_{n+1} + F_n$. Compute "
            "$F_1 + F_2 + \\dots + F_{<place>}$.",
            "Find the sum of the first $<place>$ terms of the Fibonacci sequence "
            "$1, 1, 2, 3, 5, \\dots$.",
        ),
        odd=(
            "The Fibonacci numbers are $F_1 = F_2 = 1$ and $F_{n+2} = F_{n+1} + F_n$. Compute "
            "the sum $F_1 + F_3 + F_5 + \\dots$ of the first $<place>$ of them with an odd index.",
            "In the Fibonacci sequence $1, 1, 2, 3, 5, \\dots$ every other term is taken, "
            "beginning with the first. What is the sum of the first $<place>$ terms taken?",
        ),
        squares=(
            "The Fibonacci numbers are $F_1 = F_2 = 1$ and $F_{n+2} = F_{n+1} + F_n$. Compute "
            "$F_1^2 + F_2^2 + \\dots + F_{<place>}^2$.",
            "Find the sum of the squares of the first $<place>$ terms of the Fibonacci sequence "
            "$1, 1, 2, 3, 5, \\dots$.",
        ),
        index=(
            "The Fibonacci numbers are $F_1 = F_2 = 1$ and $F_{n+2} = F_{n+1} + F_n$. For which "
            "$n$ is $F_1 + F_2 + \\dots + F_n = <value>$?",
            "The sum of the first $n$ terms of the Fibonacci sequence $1, 1, 2, 3, 5, \\dots$ is "
            "$<value>$. Find $n$.",
        ),
        parts=(
            "Write $<value>$ as a sum of different numbers of the sequence $1, 2, 3, 5, 8, 13, "
            "\\dots$ (Fibonacci numbers) of which no two are neighbours in the sequence. Give the "
            "set of the summands.",
            "By Zeckendorf's theorem $<value>$ is in exactly one way a sum of different Fibonacci "
            "numbers $1, 2, 3, 5, 8, \\dots$, no two of them consecutive in this list. Find the "
            "set of these numbers.",
        ),
        near=(
            "A sequence has $a_1 = <a>$, $a_2 = <b>$, and every further term is the sum of the two "
            "before. Compute $a_1 + a_2 + \\dots + a_{<place>}$.",
            "Each term of a sequence from the third on is the sum of the two terms before it. The "
            "first two are $<a>$ and $<b>$. What is the sum of the first $<place>$ terms?",
        ),
    )

    place: Ends = dial(10, 40, "largest place in the sequence", least=7, most=90)
    value: Ends = dial(50, 20_000, "largest sum to be split", least=30)
    kinds: Ends = dial(3, 6, "how many kinds of question are asked", most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("sum", "parts", "near", "odd", "squares", "index")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        place = base.whole(rng, 6, base.steady(self.place, difficulty))
        numbers = [0, 1]
        while len(numbers) < 2 * place + 4:
            numbers.append(numbers[-1] + numbers[-2])
        if ask == "parts":
            return _parts(base.whole(rng, 20, base.slow_start(self.value, difficulty)), numbers)
        if ask == "near":
            a, b = base.whole(rng, 2, 9), base.whole(rng, 1, 9)
            terms = [a, b]
            while len(terms) < place + 2:
                terms.append(terms[-1] + terms[-2])
            return Drawn(
                ask=ask,
                values={"a": a, "b": b, "place": place},
                gold=gold.integer(terms[place + 1] - b),
                steps="Each term is the difference of the two after the next, $a_k = a_{k+2} - "
                f"a_{{k+1}}$, so the sum is $a_{{{place + 2}}} - a_2$. The terms up to this one "
                f"are ${', '.join(map(str, terms))}$, and ${terms[-1]} - {b}$ remains.",
            )
        if ask in ("sum", "index"):
            total = numbers[place + 2] - 1
            start = (
                "$F_k = F_{k+2} - F_{k+1}$, so the sum up to $F_n$ is $F_{n+2} - F_2 = "
                "F_{n+2} - 1$. "
            )
            if ask == "sum":
                return Drawn(
                    ask=ask,
                    values={"place": place},
                    gold=gold.integer(total),
                    steps=f"{start}Here $F_{{{place + 2}}} = {numbers[place + 2]}$.",
                )
            return Drawn(
                ask=ask,
                values={"value": total},
                gold=gold.integer(place),
                steps=f"{start}So $F_{{n+2}} = {total + 1}$, which is $F_{{{place + 2}}}$.",
            )
        if ask == "odd":
            return Drawn(
                ask=ask,
                values={"place": place},
                gold=gold.integer(numbers[2 * place]),
                steps="$F_{2k-1} = F_{2k} - F_{2k-2}$, so the sum of the first $n$ of them is "
                f"$F_{{2n}} - F_0 = F_{{2n}}$. Here it is $F_{{{2 * place}}}$, and the sequence "
                f"goes ${', '.join(map(str, numbers[1 : 2 * place + 1]))}$.",
            )
        return Drawn(
            ask=ask,
            values={"place": place},
            gold=gold.integer(numbers[place] * numbers[place + 1]),
            steps="$F_k^2 = F_k(F_{k+1} - F_{k-1}) = F_k F_{k+1} - F_{k-1} F_k$, so the sum is "
            f"$F_n F_{{n+1}}$: here ${numbers[place]} \\cdot {numbers[place + 1]}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "parts":
            return _search(values["value"])
        above, below = values.get("b", 1), values.get("a", 1)
        total, index = 0, 0
        place = values.get("place")
        while index < 200:
            index += 1
            total += below * below if ask == "squares" else below
            if index == place or (place is None and total == values["value"]):
                return gold.integer(total if place else index)
            above, below = above + below, above
            if ask == "odd":
                above, below = above + below, above
        return None


def _parts(value: int, numbers: list[int]) -> Drawn:
    """By taking the largest number that fits, again and again."""
    numbers = [*numbers]
    while numbers[-1] <= value:
        numbers.append(numbers[-1] + numbers[-2])
    if value in numbers:
        value += 1 if value + 1 not in numbers else 2
    left, parts, rows = value, [], []
    while left:
        part = max(number for number in numbers if number <= left)
        parts.append(part)
        rows.append(f"${left} - {part} = {left - part}$")
        left -= part
    return Drawn(
        ask="parts",
        values={"value": value},
        gold=gold.finite_set(parts),
        steps=f"Take away the largest Fibonacci number that fits, again and again: "
        f"{', '.join(rows)}.",
    )


def _search(value: int) -> Gold | None:
    """Every choice without neighbours, from the largest number down."""
    numbers = [1, 2]
    while numbers[-1] <= value:
        numbers.append(numbers[-1] + numbers[-2])
    found: list[list[int]] = []

    def choose(top: int, left: int, taken: list[int]) -> None:
        if left == 0:
            found.append(taken)
            return
        for index in range(top, -1, -1):
            # Without neighbours all numbers from here on stay below the next one.
            if numbers[index] <= left < numbers[index + 1]:
                choose(index - 2, left - numbers[index], [*taken, numbers[index]])

    choose(len(numbers) - 2, value, [])
    return gold.finite_set(found[0]) if len(found) == 1 else None
