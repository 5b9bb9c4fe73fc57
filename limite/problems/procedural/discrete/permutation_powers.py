"""Permutations in cycles: orders, products, inverses and powers."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class Permutations(Family):
    """The order, a power, the inverse or a product of permutations."""

    name = "permutation-powers"
    tag = "discrete/permutations"
    wordings = Wordings(
        order=(
            "The permutation $\\sigma$ sends $<elements:integers>$ to $<images:integers>$, in "
            "this order. What is the smallest $k \\ge 1$ for which $\\sigma^k$ moves nothing?",
            "A shuffle puts the cards in the places $<elements:integers>$ into the places "
            "$<images:integers>$, in this order. After how many such shuffles, at least one, are "
            "all cards back in their places for the first time?",
        ),
        power=(
            "The permutation $\\sigma$ sends $<elements:integers>$ to $<images:integers>$, in "
            "this order. Find $(\\sigma^{<times>}(1), \\sigma^{<times>}(2), \\dots, "
            "\\sigma^{<times>}(<size>))$, where $\\sigma^{<times>}$ is $\\sigma$ applied "
            "$<times>$ times.",
        ),
        inverse=(
            "The permutation $\\sigma$ sends $<elements:integers>$ to $<images:integers>$, in "
            "this order. Find its inverse as $(\\sigma^{-1}(1), \\sigma^{-1}(2), \\dots, "
            "\\sigma^{-1}(<size>))$.",
        ),
        product=(
            "The permutations $\\sigma$ and $\\tau$ send $<elements:integers>$ to "
            "$<images:integers>$ and to $<others:integers>$, in this order. First $\\sigma$ is "
            "applied, then $\\tau$. Find the images of these elements under both together, "
            "as a tuple in this order.",
        ),
        even=(
            "Is the permutation that sends $<elements:integers>$ to $<images:integers>$, in this "
            "order, even?",
        ),
    )

    size: Ends = dial(5, 12, "how many elements", least=4, most=30)
    times: Ends = dial(2, 60, "largest power", least=2, most=10_000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        images = base.shuffled(rng, range(1, size + 1))
        if images == sorted(images):
            images[:2] = images[1::-1]
        cycles = _cycles(images)
        shown = "".join(f"({_apart(cycle)})" for cycle in cycles if len(cycle) > 1)
        elements = list(range(1, size + 1))
        values: dict[str, Any] = {"size": size, "elements": elements, "images": images}
        ask = base.chosen(rng, ("order", "order", "power", "power", "inverse", "product", "even"))
        begin = f"In cycles, $\\sigma = {shown}$"
        if ask in ("order", "even"):
            lengths = [len(cycle) for cycle in cycles if len(cycle) > 1]
            listed = ", ".join(map(str, lengths))
            begin = f"In cycles the permutation is ${shown}$"
            if ask == "order":
                answer = gold.integer(math.lcm(*lengths))
                steps = f"{begin}, with the lengths ${listed}$. The order is their least common "
                steps += "multiple."
            else:
                swaps = sum(lengths) - len(lengths)
                answer = gold.boolean(swaps % 2 == 0)
                steps = f"{begin}, with the lengths ${listed}$. A cycle of length $n$ is a product "
                steps += f"of $n - 1$ swaps, so the number of swaps is ${swaps}$."
            return Drawn(ask=ask, values=values, gold=answer, steps=steps)
        found = [0] * size
        if ask == "product":
            values["others"] = others = base.shuffled(rng, range(1, size + 1))
            found = [others[image - 1] for image in images]
            steps = "Follow each element: " + ", ".join(
                f"${element} \\to {image} \\to {found[element - 1]}$"
                for element, image in enumerate(images, 1)
            )
            return Drawn(ask=ask, values=values, gold=gold.ordered(found), steps=f"{steps}.")
        times = -1
        if ask == "power":
            values["times"] = times = base.whole(rng, 2, base.slow_start(self.times, difficulty))
        for cycle in cycles:
            for place, element in enumerate(cycle):
                found[element - 1] = cycle[(place + times) % len(cycle)]
        moved = f"${times}$ steps on" if ask == "power" else "one step back"
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.ordered(found),
            steps=f"{begin}. Every element goes {moved} in its cycle"
            f"{', where whole rounds change nothing' if ask == 'power' else ''}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        images = [image - 1 for image in values["images"]]
        start = list(range(len(values["elements"])))
        if sorted(images) != start:
            return None
        if ask == "even":
            pairs = itertools.combinations(images, 2)
            return gold.boolean(sum(one > other for one, other in pairs) % 2 == 0)
        if ask == "order":
            # One application after the other.
            now, count = images, 1
            while now != start:
                now, count = [images[place] for place in now], count + 1
            return gold.integer(count)
        if ask == "product":
            after = {image: values["others"][image] for image in images}
            return gold.ordered([after[image] for image in images])
        if ask == "inverse":
            return gold.ordered([images.index(place) + 1 for place in start])
        # By squaring: the power as a product of powers to 1, 2, 4, 8 and so on.
        found, square, times = start, images, values["times"]
        while times:
            if times % 2:
                found = [square[place] for place in found]
            square, times = [square[place] for place in square], times // 2
        return gold.ordered([place + 1 for place in found])


def _apart(cycle: Sequence[int]) -> str:
    return "\\ ".join(map(str, cycle))


def _cycles(images: Sequence[int]) -> list[list[int]]:
    left, cycles = set(images), []
    for first in range(1, len(images) + 1):
        if first in left:
            cycle = [first]
            while images[cycle[-1] - 1] != first:
                cycle.append(images[cycle[-1] - 1])
            left.difference_update(cycle)
            cycles.append(cycle)
    return cycles
