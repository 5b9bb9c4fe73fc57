"""Amounts that coins cannot pay."""

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
class FrobeniusCoin(Family):
    """The largest amount that cannot be paid with given coins, and how many cannot be paid."""

    name = "frobenius-coin"
    tag = "number-theory/diophantine"
    wordings = Wordings(
        words={
            "thing": ("coins", "stamps", "tokens", "vouchers"),
            "pack": ("boxes", "bags", "packs"),
            "item": ("nuggets", "eggs", "bulbs", "tiles", "tennis balls"),
        },
        largest=(
            "A country has <thing> of <coins:integers> crowns, as many of each as are wanted. What "
            "is the largest whole number of crowns that cannot be paid exactly with them?",
            "Find the largest positive integer that is not a sum of the numbers "
            "<coins:integers>, each of which may be used any number of times or not at all.",
            "A shop sells <item> in <pack> of <coins:integers>. What is the largest number of "
            "<item> that cannot be bought exactly?",
        ),
        count=(
            "A country has <thing> of <coins:integers> crowns, as many of each as are wanted. How "
            "many positive whole numbers of crowns cannot be paid exactly with them?",
            "How many positive integers are not a sum of the numbers <coins:integers>, each of "
            "which may be used any number of times or not at all?",
        ),
    )

    size: Ends = dial(8, 45, "largest coin", least=7, most=100)
    three: Ends = dial(0, 0.6, "share with three coins", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        three = rng.random() < base.steady(self.three, difficulty)
        top = base.whole(rng, 7, base.steady(self.size, difficulty))
        low, high = sorted(base.distinct(rng, 2, 3, top))
        while math.gcd(low, high) > 1:  # ends at high = low + 1 at the latest
            high -= 1
        ask = base.chosen(rng, ("largest", "count"))
        coins = [low, high]
        if three:
            third = base.whole(rng, low + 1, top + 3)
            for _ in range(top + 3):
                if third % low and third != high:
                    break
                third = third + 1 if third < top + 3 else low + 1
            if third % low and third != high:
                coins.append(third)
        if len(coins) == 2:
            if ask == "largest":
                answer = low * high - low - high
                steps = (
                    f"Every amount $n$ has the remainder of exactly one of $0, {high}, \\dots, "
                    f"{low - 1} \\cdot {high}$ on division by ${low}$, and can be paid when it is "
                    f"at least that one. The largest that cannot be paid is therefore "
                    f"${low - 1} \\cdot {high} - {low} = {answer}$."
                )
            else:
                answer = (low - 1) * (high - 1) // 2
                steps = (
                    f"The largest amount that cannot be paid is ${low} \\cdot {high} - {low} - "
                    f"{high} = {low * high - low - high}$. Of the amounts $n$ and "
                    f"${low * high - low - high} - n$ from $0$ on exactly one can be paid, so half "
                    f"of the ${low * high - low - high + 1}$ amounts cannot."
                )
        else:
            first = _first_of_each_remainder(low, coins[1:])
            listing = ", ".join(map(str, first))
            steps = (
                f"Sort the amounts by their remainders from $0$ to ${low - 1}$ on division by "
                f"${low}$. The smallest that can be paid are, in this order, ${listing}$, and each "
                f"of them may be raised by ${low}$. "
            )
            if ask == "largest":
                answer = max(first) - low
                steps += f"The largest of them is ${max(first)}$, and ${low}$ less cannot be paid."
            else:
                gaps = [each // low for each in first]
                answer = sum(gaps)
                steps += (
                    "Below each of them, with the same remainder, there are "
                    f"${', '.join(map(str, gaps))}$ positive amounts that cannot be paid: "
                    f"together ${answer}$."
                )
        return Drawn(
            ask=ask,
            values={"coins": base.shuffled(rng, coins)},
            gold=gold.integer(answer),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        coins = sorted(values["coins"])
        if math.gcd(*coins) != 1 or coins[0] < 2:
            return None
        top = coins[0] * coins[-1]
        payable = 1  # bit n: whether n can be paid
        for coin in coins:
            width = coin
            while width <= top:  # one more coin, two more, four more, ...
                payable |= payable << width
                width *= 2
            payable &= (1 << (top + 1)) - 1
        missing = ~payable & ((1 << (top + 1)) - 1)
        if ask == "largest":
            return gold.integer(missing.bit_length() - 1)
        return gold.integer(missing.bit_count())


def _first_of_each_remainder(low: int, others: list[int]) -> list[int]:
    """The smallest payable amount for each remainder modulo the smallest coin."""
    top = low * max(others)
    best = [top] * low
    best[0] = 0
    changed = True
    while changed:
        changed = False
        for rest in range(low):
            for coin in others:
                amount = best[rest] + coin
                if amount < best[amount % low]:
                    best[amount % low] = amount
                    changed = True
    return best
