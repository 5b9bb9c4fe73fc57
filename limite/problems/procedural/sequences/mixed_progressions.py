"""Numbers in arithmetic and geometric progression."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class MixedProgressions(Family):
    """Numbers that form an arithmetic progression, and a geometric one after a change."""

    name = "mixed-progressions"
    tag = "sequences/arithmetic-geometric"
    wordings = Wordings(
        changed=(
            "Three integers $a < b < c$ form an arithmetic progression with the sum $<sum>$. When "
            "they are increased by $<x>$, $<y>$ and $<z>$, in this order, they form a geometric "
            "progression of positive numbers. Find $(a, b, c)$.",
            "Find the increasing arithmetic progression $(a, b, c)$ of three integers with the sum "
            "$<sum>$ for which $a + <x>$, $b + <y>$, $c + <z>$ is a geometric progression of "
            "positive numbers.",
        ),
        product=(
            "Three positive integers $a < b < c$ form a geometric progression. Their sum is "
            "$<sum>$ and their product is $<product>$. Find $(a, b, c)$.",
            "Find the increasing geometric progression $(a, b, c)$ of three positive integers with "
            "the sum $<sum>$ and the product $<product>$.",
        ),
        squares=(
            "Three integers $a < b < c$ form an arithmetic progression with the sum $<sum>$, and "
            "the sum of their squares is $<squares>$. Find $(a, b, c)$.",
            "Find the increasing arithmetic progression $(a, b, c)$ of three integers whose sum is "
            "$<sum>$ and whose squares add up to $<squares>$.",
        ),
    )

    size: Ends = dial(4, 40, "largest common difference or factor", least=3, most=300)
    changes: Ends = dial(0.2, 0.8, "share with a change between the progressions", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        changed = rng.random() < base.steady(self.changes, difficulty)
        ask = "changed" if changed else base.chosen(rng, ("product", "squares"))
        size = base.slow_start(self.size, difficulty)
        if ask == "squares":
            middle, step = base.whole(rng, -2, 3 * size), base.whole(rng, 2, size)
            numbers = (middle - step, middle, middle + step)
            squares = sum(each * each for each in numbers)
            values = {"sum": sum(numbers), "squares": squares}
            steps = (
                f"The middle number is $b = {3 * middle} : 3 = {middle}$. With the difference $d$ "
                f"the squares add up to $3b^2 + 2d^2 = {3 * middle * middle} + 2d^2 = {squares}$, "
                f"so $d^2 = {step * step}$."
            )
            return Drawn(
                ask=ask, values=values, gold=gold.ordered(numbers, ("a", "b", "c")), steps=steps
            )
        low = base.whole(rng, 1, 4)
        high = low + base.whole(rng, 1, 3)
        factor = base.whole(rng, 1, size)
        terms = (factor * low * low, factor * low * high, factor * high * high)
        if ask == "product":
            middle = terms[1]
            steps = (
                f"The product is $b^3 = {middle**3}$, so $b = {middle}$. Then $a + c = "
                f"{sum(terms)} - {middle} = {terms[0] + terms[2]}$ and $ac = b^2 = "
                f"{middle * middle}$."
            )
            return Drawn(
                ask=ask,
                values={"sum": sum(terms), "product": middle**3},
                gold=gold.ordered(terms, ("a", "b", "c")),
                steps=steps,
            )
        # A larger change would leave room for a second progression.
        step = base.whole(rng, 2, min(size, terms[2] - terms[0] - 1))
        shift = base.whole(rng, 1, terms[1])
        b = terms[1] - shift
        a, c = b - step, b + step
        x, y, z = terms[0] - a, shift, terms[2] - c
        lower = max(0, 1 - min(x, z))  # so that all changes are increases
        a, b, c = a - lower, b - lower, c - lower
        x, y, z = x + lower, y + lower, z + lower
        product = terms[1] * terms[1]
        steps = (
            f"The middle number is $b = {3 * b} : 3 = {b}$. With the difference $d$ the new "
            f"numbers are ${b + x} - d$, ${terms[1]}$ and ${b + z} + d$, and "
            f"$({b + x} - d)({b + z} + d) = {terms[1]}^2 = {product}$. Its only positive solution "
            f"is $d = {step}$: ${terms[0]} \\cdot {terms[2]} = {product}$."
        )
        return Drawn(
            ask=ask,
            values={"sum": 3 * b, "x": x, "y": y, "z": z},
            gold=gold.ordered((a, b, c), ("a", "b", "c")),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        found = []
        total = values["sum"]
        if ask == "product":
            a = 1
            while 3 * a < total:  # the smallest is below a third
                root = math.isqrt(a * a + 4 * a * (total - a))
                b = (root - a) // 2  # b * b = a * (total - a - b), where the root is whole
                c = total - a - b
                if a < b < c and b * b == a * c and a * b * c == values["product"]:
                    found.append((a, b, c))
                a += 1
        else:
            if total % 3:
                return None
            b, step = total // 3, 1
            limit = 2 * abs(total) + 1000
            x, y, z = (values.get(name, 0) for name in ("x", "y", "z"))
            while step < limit:
                a, c = b - step, b + step
                if ask == "squares":
                    if a * a + b * b + c * c == values["squares"]:
                        found.append((a, b, c))
                        break  # larger steps give larger squares
                elif a + x <= 0:
                    break
                elif (a + x) * (c + z) == (b + y) * (b + y) and b + y > 0:
                    found.append((a, b, c))
                step += 1
        return gold.ordered(found[0], ("a", "b", "c")) if len(found) == 1 else None
