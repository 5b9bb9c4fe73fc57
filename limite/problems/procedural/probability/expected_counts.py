"""Expected numbers of things, found part by part."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class ExpectedCounts(Family):
    """The expected number of matches, empty boxes, colour changes and the like."""

    name = "expected-counts"
    tag = "probability/expectation"
    wordings = Wordings(
        words={"things": ("letters", "balls", "guests", "parcels")},
        empty=(
            "Each of $<count>$ <things> goes into one of $<boxes>$ rooms, chosen at random, "
            "independently of the others. What is the expected number of rooms that stay empty?",
        ),
        values=(
            "A fair die with faces numbered from $1$ to $<boxes>$ is rolled $<count>$ times. What "
            "is the expected number of different numbers that it shows?",
        ),
        changes=(
            "$<red>$ red and $<blue>$ blue cards are shuffled and laid in a row. What is the "
            "expected number of places where cards of different colours lie side by side?",
            "$<red>$ boys and $<blue>$ girls stand in a row in random order. What is the expected "
            "number of places where a boy and a girl stand side by side?",
        ),
        runs=(
            "A coin that shows heads with probability $<chance:ratio>$ is tossed $<count>$ times. "
            "A block is a longest possible stretch of equal tosses one right after the other. What "
            "is the expected number of blocks?",
        ),
        same=(
            "A fair die with faces numbered from $1$ to $<boxes>$ is rolled $<count>$ times. What "
            "is the expected number of pairs of rolls, next to each other or not, that show the "
            "same number?",
        ),
        before=(
            "$<red>$ red and $<blue>$ blue cards are shuffled and turned up one by one. What is "
            "the expected number of blue cards that are turned up before the first red one?",
        ),
    )

    count: Ends = dial(2, 6, "how many things", least=2, most=12)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.count, difficulty)
        count = base.whole(rng, max(2, int(most) - 2), most)
        boxes = base.whole(rng, 3, 8 + 12 * difficulty)
        red, blue = base.whole(rng, 2, 2 * most + 2), base.whole(rng, 2, 2 * most + 2)
        parts = base.whole(rng, 2, 6 + 6 * difficulty)
        chance = Fraction(base.whole(rng, 1, parts - 1), parts)
        ask = base.rising(rng, ("same", "empty", "values", "before", "runs", "changes"), difficulty)
        values = {"count": count, "boxes": boxes, "red": red, "blue": blue, "chance": chance}
        if ask in ("empty", "values"):
            missed = Fraction(boxes - 1, boxes) ** count
            found = boxes * missed
            share = f"\\left(\\frac{{{boxes - 1}}}{{{boxes}}}\\right)^{{{count}}}"
            steps = (
                f"Each {'room stays empty' if ask == 'empty' else 'number is missed'} with "
                f"probability ${share} = {ratio_text(missed)}$. Expectations add up, whether or "
                f"not things depend on each other: ${boxes} \\cdot {ratio_text(missed)} = "
                f"{ratio_text(found)}$."
            )
            if ask == "values":
                steps += f" The others appear: ${boxes} - {ratio_text(found)}$."
                found = boxes - found
        elif ask == "changes":
            total = red + blue
            one = Fraction(2 * red * blue, total * (total - 1))
            found = (total - 1) * one
            steps = (
                f"At each of the ${total - 1}$ borders the two differ with probability "
                f"$\\frac{{2 \\cdot {red} \\cdot {blue}}}{{{total} \\cdot {total - 1}}} = "
                f"{ratio_text(one)}$. Expectations add up: "
                f"${total - 1} \\cdot {ratio_text(one)}$."
            )
        elif ask == "runs":
            count = max(count, 3)
            values["count"] = count
            one = 2 * chance * (1 - chance)
            found = 1 + (count - 1) * one
            steps = (
                f"A new block begins at each of the last ${count - 1}$ tosses with probability "
                f"$2 \\cdot {ratio_text(chance)} \\cdot {ratio_text(1 - chance)} = "
                f"{ratio_text(one)}$, and one begins at the first toss: "
                f"$1 + {count - 1} \\cdot {ratio_text(one)}$."
            )
        elif ask == "same":
            count = max(count, 3)
            values["count"] = count
            pairs = math.comb(count, 2)
            found = Fraction(pairs, boxes)
            steps = (
                f"There are $\\binom{{{count}}}{{2}} = {pairs}$ pairs of rolls, and each agrees "
                f"with probability $\\frac{{1}}{{{boxes}}}$. Expectations add up: "
                f"${pairs} \\cdot \\frac{{1}}{{{boxes}}}$."
            )
        else:
            found = Fraction(blue, red + 1)
            steps = (
                f"Each blue card is as likely to lie in any of the ${red + 1}$ gaps that the red "
                f"cards make, so it comes before the first red one with probability "
                f"$\\frac{{1}}{{{red + 1}}}$. Expectations add up: "
                f"${blue} \\cdot \\frac{{1}}{{{red + 1}}}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.rational(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask in ("empty", "values"):
            # The number of rooms in use, thing after thing.
            boxes, count = values["boxes"], values["count"]
            used = [1] + [0] * boxes
            for _ in range(count):
                used = [
                    used[now] * now + (used[now - 1] * (boxes - now + 1) if now else 0)
                    for now in range(boxes + 1)
                ]
            total = sum(now * ways for now, ways in enumerate(used))
            mean = Fraction(total, boxes**count)
            return gold.rational(mean if ask == "values" else boxes - mean)
        if ask == "same":
            # By how often the number shown last has come: all sizes of one group at a time.
            boxes, count = values["boxes"], values["count"]
            found = sum(
                Fraction(
                    math.comb(count, times) * (boxes - 1) ** (count - times) * times * (times - 1),
                    2,
                )
                for times in range(count + 1)
            )
            return gold.rational(boxes * found / boxes**count)
        if ask == "runs":
            # By whether the last toss was heads: probabilities and expected blocks so far.
            top, bottom = values["chance"].numerator, values["chance"].denominator
            heads, tails, blocks_h, blocks_t = top, bottom - top, top, bottom - top
            for _ in range(values["count"] - 1):
                blocks_h, blocks_t = (
                    (blocks_h + blocks_t + tails) * top,
                    (blocks_h + blocks_t + heads) * (bottom - top),
                )
                heads, tails = (heads + tails) * top, (heads + tails) * (bottom - top)
            return gold.rational(Fraction(blocks_h + blocks_t, heads + tails))
        red, blue = values["red"], values["blue"]
        total = math.comb(red + blue, red)
        if ask == "before":
            # By how many come before: all orders of the rest behind the first red one.
            weight = sum(
                many * math.comb(red - 1 + blue - many, red - 1) for many in range(blue + 1)
            )
            return gold.rational(Fraction(weight, total))
        # By the number of blocks of each colour, which take turns.
        weight = 0
        for blocks in range(1, red + 1):
            reds = math.comb(red - 1, blocks - 1)
            for others, orders in ((blocks - 1, 1), (blocks, 2), (blocks + 1, 1)):
                if 1 <= others <= blue:
                    ways = reds * math.comb(blue - 1, others - 1) * orders
                    weight += ways * (blocks + others - 1)
        return gold.rational(Fraction(weight, total))
