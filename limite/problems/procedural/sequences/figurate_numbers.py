"""Figurate numbers."""

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
class FigurateNumbers(Family):
    """Triangular, pentagonal and other figurate numbers, and pyramids of balls."""

    name = "figurate-numbers"
    tag = "sequences/figurate-numbers"
    wordings = Wordings(
        triangular=(
            "The triangular numbers are $1, 3, 6, 10, \\dots$. Find the triangular number with "
            "number $<place>$ (1 has number 1).",
            "Cans are stacked in a flat triangle: $1$ in the top row, $2$ in the next, and so on. "
            "How many cans are in $<place>$ rows?",
        ),
        polygonal=(
            "A sequence begins with $1$, and its differences are $<second>$, $<third>$ and so on, "
            "always growing by $<step>$. What is its term number $<place>$ (1 has number 1)?",
            "Dots are laid in growing figures: one dot at first, then $<second>$ more, then "
            "$<third>$ more, and each time $<step>$ dots more are added than the time before. How "
            "many dots does figure number $<place>$ have, when the single dot is number 1?",
        ),
        index=(
            "The triangular numbers are $1, 3, 6, 10, \\dots$. Which of them is $<value>$? Give "
            "its number (1 has number 1).",
            "For which positive integer $n$ is $1 + 2 + \\dots + n = <value>$?",
        ),
        below=(
            "How many triangular numbers $1, 3, 6, 10, \\dots$ are at most $<value>$?",
            "Rows of $1, 2, 3, \\dots$ stones are laid one after the other as long as the stones "
            "suffice. There are $<value>$ stones. How many full rows are there?",
        ),
        pyramid=(
            "Balls are stacked in a pyramid with a square base: $1$ ball in the top layer, $4$ in "
            "the next, then $9$, and so on. How many balls are in $<place>$ layers?",
            "Find the sum of the squares of the integers from $1$ to $<place>$.",
        ),
        tetrahedron=(
            "Balls are stacked in a pyramid with a triangular base: $1$ ball in the top layer, $3$ "
            "in the next, then $6$, $10$, and so on. How many balls are in $<place>$ layers?",
            "Find the sum of the first $<place>$ triangular numbers $1, 3, 6, 10, \\dots$.",
        ),
    )

    place: Ends = dial(12, 150, "largest place in a sequence", least=8, most=1000)
    kinds: Ends = dial(3, 6, "how many kinds of question are asked", most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("triangular", "index", "polygonal", "below", "pyramid", "tetrahedron")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        n = base.whole(rng, 6, base.steady(self.place, difficulty))
        triangle = n * (n + 1) // 2
        if ask == "triangular":
            return Drawn(
                ask=ask,
                values={"place": n},
                gold=gold.integer(triangle),
                steps=f"It is $1 + 2 + \\dots + {n}$. Twice the sum consists of ${n}$ pairs with "
                f"the sum ${n + 1}$, so it is ${n} \\cdot {n + 1} : 2 = {triangle}$.",
            )
        if ask == "index":
            return Drawn(
                ask=ask,
                values={"value": triangle},
                gold=gold.integer(n),
                steps=f"$\\frac{{n(n+1)}}{{2}} = {triangle}$ means $n(n+1) = {2 * triangle}$. The "
                f"root of ${2 * triangle}$ lies between ${n}$ and ${n + 1}$, and "
                f"${n} \\cdot {n + 1} = {2 * triangle}$.",
            )
        if ask == "below":
            value = triangle + base.whole(rng, 0, n)
            return Drawn(
                ask=ask,
                values={"value": value},
                gold=gold.integer(n),
                steps=f"$1 + 2 + \\dots + {n} = {triangle}$ is not above ${value}$, but one more "
                f"row of ${n + 1}$ gives ${triangle + n + 1}$.",
            )
        if ask == "polygonal":
            step = base.whole(rng, 2, 9)
            second = step + 1 if rng.random() < 0.5 else base.whole(rng, 2, 12)
            total = 1 + (n - 1) * second + (n - 1) * (n - 2) // 2 * step
            return Drawn(
                ask=ask,
                values={"second": second, "third": second + step, "step": step, "place": n},
                gold=gold.integer(total),
                steps=f"There are ${n - 1}$ differences from ${second}$ to "
                f"${second + (n - 2) * step}$, with the sum $\\frac{{{n - 1}}}{{2}} \\cdot "
                f"({second} + {second + (n - 2) * step}) = {total - 1}$, and the first $1$ is "
                "added.",
            )
        if ask == "pyramid":
            total = n * (n + 1) * (2 * n + 1) // 6
            return Drawn(
                ask=ask,
                values={"place": n},
                gold=gold.integer(total),
                steps=f"The sum of the first $n$ squares is $\\frac{{n(n+1)(2n+1)}}{{6}}$: here "
                f"$\\frac{{{n} \\cdot {n + 1} \\cdot {2 * n + 1}}}{{6}} = {total}$.",
            )
        total = n * (n + 1) * (n + 2) // 6
        return Drawn(
            ask=ask,
            values={"place": n},
            gold=gold.integer(total),
            steps=f"The sum of the binomial coefficients $\\binom{{2}}{{2}}, \\binom{{3}}{{2}}, "
            f"\\dots, \\binom{{{n + 1}}}{{2}}$ is $\\binom{{{n + 2}}}{{3}} = \\frac{{{n} \\cdot "
            f"{n + 1} \\cdot {n + 2}}}{{6}} = {total}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask in ("index", "below"):
            total = row = 0
            while total + row + 1 <= values["value"]:
                row += 1
                total += row
            return gold.integer(row) if ask == "below" or total == values["value"] else None
        place = values["place"]
        if ask == "polygonal":
            if values["third"] - values["second"] != values["step"]:
                return None
            total, difference = 1, values["second"]
            for _ in range(place - 1):
                total += difference
                difference += values["step"]
            return gold.integer(total)
        total = layer = 0
        for row in range(1, place + 1):
            layer = row * row if ask == "pyramid" else layer + row
            total += layer
        return gold.integer(layer if ask == "triangular" else total)
