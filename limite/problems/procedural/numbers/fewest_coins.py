"""The fewest coins that make an amount."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class FewestCoins(Family):
    """The smallest number of coins that make an amount exactly."""

    name = "fewest-coins"
    tag = "arithmetic/money"
    wordings = Wordings(
        words={"country": ("a far country", "Norland", "the old kingdom", "a game")},
        plain=(
            "In <country> there are coins of these values, each as many as needed: "
            "$<coins:integers>$. What is the smallest number of coins with the total value "
            "$<amount>$?",
            "Coins of the values $<coins:integers>$ may be used as often as needed. How many coins "
            "at least are needed to pay $<amount>$ exactly?",
        ),
        change=(
            "Something costs $<price>$ and is paid with $<paid>$. There are coins of the values "
            "$<coins:integers>$, each as many as needed. What is the smallest number of coins the "
            "change can have?",
        ),
    )

    amount: Ends = dial(30, 300, "largest amount", least=20, most=2000)
    coins: Ends = dial(3, 6, "how many kinds of coins", least=2, most=8)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        amount = base.whole(rng, 14, base.slow_start(self.amount, difficulty))
        kinds = base.whole_near(rng, base.steady(self.coins, difficulty))
        coins = sorted([1, *base.distinct(rng, kinds - 1, 2, max(12, amount // 3))])
        # The fewest for every smaller amount, and the coin that is added last.
        fewest, last = [0], [0]
        for part in range(1, amount + 1):
            best, coin = min((fewest[part - coin], -coin) for coin in coins if coin <= part)
            fewest.append(best + 1)
            last.append(-coin)
        used, rest = [], amount
        while rest:
            used.append(last[rest])
            rest -= last[rest]
        used.sort(reverse=True)
        values: dict[str, Any] = {"coins": coins, "amount": amount}
        ask, begin = "plain", ""
        if rng.random() < 0.4:
            ask = "change"
            values["paid"] = -(-(amount + base.whole(rng, 2, amount)) // 50) * 50
            values["price"] = values["paid"] - amount
            begin = f"The change is ${values['paid']} - {values['price']} = {amount}$. "
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(len(used)),
            steps=f"{begin}Build the fewest coins for $1, 2, \\dots, {amount}$ one after the "
            f"other, each as one coin more than the best of the amounts that are one coin smaller. "
            f"For ${amount}$ this gives ${_grouped(used)} = {amount}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # All amounts that some number of coins can make, as the bits of one number.
        amount = values["amount"] if ask == "plain" else values["paid"] - values["price"]
        if amount < 0:
            return None
        window, reached = (1 << amount + 1) - 1, 1
        for count in range(amount + 1):
            if reached >> amount & 1:
                return gold.integer(count)
            after = 0
            for coin in values["coins"]:
                after |= reached << coin
            reached = after & window
        return None


def _grouped(used: Sequence[int]) -> str:
    groups = [(coin, len(list(group))) for coin, group in itertools.groupby(used)]
    return " + ".join(
        f"{count} \\cdot {coin}" if count > 1 else str(coin) for coin, count in groups
    )
