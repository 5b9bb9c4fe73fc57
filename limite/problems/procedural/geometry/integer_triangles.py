"""How many triangles have whole sides and meet a condition."""

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
class IntegerTriangles(Family):
    """How many triangles with whole sides have two given sides, a perimeter or a longest side."""

    name = "integer-triangles"
    tag = "geometry/triangles"
    wordings = Wordings(
        words={"thing": ("sticks", "rods", "matches", "straws")},
        third=(
            "Two sides of a triangle have lengths $<a>$ and $<b>$. How many different integers "
            "can be the length of the third side?",
            "From two <thing> of $<a>$ cm and $<b>$ cm and a third one whose length is a whole "
            "number of centimetres a triangle with positive area is formed. How many lengths are "
            "possible for the third one?",
        ),
        obtuse=(
            "Two sides of an obtuse triangle have lengths $<a>$ and $<b>$. How many different "
            "integers can be the length of the third side?",
            "For how many integers $c$ is there an obtuse triangle with sides of lengths $<a>$, "
            "$<b>$ and $c$?",
        ),
        longest=(
            "How many triangles with positive area have sides of integer length and a longest "
            "side of exactly $<n>$, if congruent triangles count once?",
            "Count the triples of integers $a \\le b \\le <n>$ for which there is a triangle of "
            "positive area with sides $a$, $b$ and $<n>$.",
        ),
        perimeter=(
            "How many triangles with positive area have sides of integer length and perimeter "
            "$<n>$, if congruent triangles count once?",
            "A closed chain of $<n>$ equal links is pulled tight to a triangle of positive area "
            "with its corners at joints. How many triangles are possible, if congruent ones count "
            "once?",
        ),
    )

    size: Ends = dial(12, 60, "largest number given", least=8, most=400)
    counted: Ends = dial(0, 0.9, "share that fixes fewer than two sides", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        hard = rng.random() < base.steady(self.counted, difficulty)
        if not hard:
            a, b = base.whole(rng, 2, size), base.whole(rng, 2, size)
            low, high = abs(a - b) + 1, a + b - 1
            return Drawn(
                ask="third",
                values={"a": a, "b": b},
                gold=gold.integer(high - low + 1),
                steps=f"The third side must be longer than the difference ${abs(a - b)}$ and "
                f"shorter than the sum ${a + b}$ of the others. It goes from ${low}$ to ${high}$, "
                f"which are ${high} - {low} + 1$ numbers.",
            )
        kind = base.chosen(rng, ("obtuse", "longest", "perimeter"))
        if kind == "obtuse":
            a, b = base.whole(rng, 4, size), base.whole(rng, 4, size)
            square = a * a + b * b
            gap = abs(a * a - b * b)
            over = [c for c in range(max(a, b), a + b) if c * c > square]
            under = [c for c in range(abs(a - b) + 1, max(a, b)) if c * c < gap]
            return Drawn(
                ask=kind,
                values={"a": a, "b": b},
                gold=gold.integer(len(over) + len(under)),
                steps=f"The third side $c$ lies between ${abs(a - b)}$ and ${a + b}$. It is "
                f"opposite an obtuse angle if $c^2 > {square}$, which {_these(over)}. The longer "
                f"of the given sides is opposite an obtuse angle if $c^2 < {gap}$, which "
                f"{_these(under)}.",
            )
        n = base.whole(rng, 6, size)
        if kind == "longest":
            whole = (n + 1) ** 2 // 4
            return Drawn(
                ask=kind,
                values={"n": n},
                gold=gold.integer(whole),
                steps=f"With middle side $b$ the shortest goes from ${n} - b + 1$ to $b$, which "
                f"are $2b - {n}$ numbers, for $b$ from ${n // 2 + 1}$ to ${n}$. These counts are "
                f"${2 - n % 2}, {4 - n % 2}, \\ldots, {n}$, and their sum is ${whole}$.",
            )
        parts = []
        for c in range(-(-n // 3), (n + 1) // 2):  # the longest side
            parts.append(c - -(-(n - c) // 2) + 1)
        whole = sum(parts)
        return Drawn(
            ask=kind,
            values={"n": n},
            gold=gold.integer(whole),
            steps=f"The longest side $c$ goes from ${-(-n // 3)}$ to ${(n - 1) // 2}$, as it is at "
            f"least a third and less than half of the perimeter. The middle side goes from half "
            f"of ${n} - c$, rounded up, to $c$. The counts, in order of $c$, are "
            f"${', '.join(map(str, parts))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By trying all lengths.
        if ask in ("third", "obtuse"):
            a, b = values["a"], values["b"]
            found = 0
            for c in range(1, a + b):
                x, y, z = sorted((a, b, c))
                if x + y > z and (ask == "third" or x * x + y * y < z * z):
                    found += 1
            return gold.integer(found)
        n = values["n"]
        if ask == "longest":
            return gold.integer(
                sum(1 for b in range(1, n + 1) for a in range(1, b + 1) if a + b > n)
            )
        return gold.integer(
            sum(
                1
                for a in range(1, n // 3 + 1)
                for b in range(a, (n - a) // 2 + 1)
                if 2 * (a + b) > n
            )
        )


def _these(found: list[int]) -> str:
    if not found:
        return "no possible length satisfies"
    if len(found) == 1:
        return f"only ${found[0]}$ satisfies"
    return f"the ${len(found)}$ lengths from ${found[0]}$ to ${found[-1]}$ satisfy"
