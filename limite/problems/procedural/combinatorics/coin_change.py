"""Ways to pay an amount."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_SETS = (
    *((1, 2, 5), (1, 5, 10), (2, 5, 10), (1, 3, 4), (2, 3, 7), (1, 4, 6), (3, 4, 5), (2, 5, 6)),
    *((1, 2, 5, 10), (1, 5, 10, 20), (2, 3, 5, 8), (1, 3, 6, 9), (2, 4, 5, 10), (1, 4, 5, 7)),
)


@attrs.frozen(kw_only=True)
class CoinChange(Family):
    """How many ways there are to pay an amount with coins of certain values."""

    name = "coin-change"
    tag = "combinatorics/partitions"
    wordings = Wordings(
        words={"what": ("coins", "stamps", "tokens", "vouchers")},
        any=(
            "In how many ways can an amount of $<amount>$ be paid with <what> of the values "
            "<values:integers>? There are as many of each as are needed, and the order does not "
            "matter.",
            "There are <what> of the values <values:integers>, as many of each as are needed. How "
            "many different collections of them are worth $<amount>$?",
        ),
        exactly=(
            "In how many ways can an amount of $<amount>$ be paid with exactly $<count>$ <what> of "
            "the values <values:integers>? There are as many of each as are needed, and the order "
            "does not matter.",
        ),
        limited=(
            "In how many ways can an amount of $<amount>$ be paid with <what> of the values "
            "<values:integers>, if at most $<count>$ of each value may be used and the order does "
            "not matter?",
        ),
        every=(
            "In how many ways can an amount of $<amount>$ be paid with <what> of the values "
            "<values:integers>, if at least one of each value must be used and the order does not "
            "matter?",
        ),
    )

    amount: Ends = dial(10, 40, "largest amount", least=10, most=150)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.amount, difficulty)
        kinds = base.chosen(rng, _SETS[: 8 if difficulty < 0.3 else len(_SETS)])
        ask = base.rising(rng, ("any", "any", "every", "limited", "exactly"), difficulty)
        # An amount that can be paid: some coins, and more of the smallest.
        coins = [1 + int(rng.random() * 3) for _ in kinds]
        amount = sum(each * kind for each, kind in zip(coins, kinds, strict=True))
        aim = base.whole(rng, max(8, int(most / 2)), most)
        while amount + kinds[0] <= aim:
            coins[0] += 1
            amount += kinds[0]
        count = max(coins) if ask == "limited" else 0
        if ask == "exactly":  # a number of coins that several ways share, if there is one
            sizes = [sum(each) for each in _payments(amount, kinds)]
            often = sorted({each for each in sizes if sizes.count(each) > 1})
            count = base.chosen(rng, often or sorted(set(sizes)))
        if ask == "limited":
            count = min(count, 4 + base.whole(rng, 0, 2))
        found = [each for each in _payments(amount, kinds) if _fits(each, ask, count)]
        if not found:
            ask, found = "any", list(_payments(amount, kinds))
        values = {"amount": amount, "values": kinds, "count": count}
        ways: dict[int, int] = {}
        for each in found:
            ways[each[-1]] = ways.get(each[-1], 0) + 1
        parts = ", ".join(f"${number}$ with {used} of them" for used, number in ways.items())
        steps = (
            f"Sort the ways by how many of the largest value, ${kinds[-1]}$, are used, and go "
            f"through the others in the same way: {parts}. Together ${len(found)}$."
        )
        if len(found) <= 8:
            shown = "; ".join(
                " + ".join(
                    f"{used} \\cdot {kind}" for used, kind in zip(each, kinds, strict=True) if used
                )
                for each in found
            )
            steps = f"Going through them from few of the largest value to many: ${shown}$."
        return Drawn(ask=ask, values=values, gold=gold.integer(len(found)), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Value after value: ways to reach each amount, and with how many, if that counts.
        amount, count = values["amount"], values.get("count", 0)
        if ask == "exactly":
            table = [[0] * (count + 1) for _ in range(amount + 1)]
            table[0][0] = 1
            for kind in values["values"]:
                for total in range(kind, amount + 1):
                    before, row = table[total - kind], table[total]
                    for used in range(count):
                        row[used + 1] += before[used]
            return gold.integer(table[amount][count])
        if ask == "every":
            amount -= sum(values["values"])
            if amount < 0:
                return gold.integer(0)
        ways = [1] + [0] * amount
        for kind in values["values"]:
            if ask == "limited":
                ways = [
                    sum(ways[total - used * kind] for used in range(min(count, total // kind) + 1))
                    for total in range(amount + 1)
                ]
            else:
                for total in range(kind, amount + 1):
                    ways[total] += ways[total - kind]
        return gold.integer(ways[amount])


def _fits(payment: Sequence[int], ask: str, count: int) -> bool:
    if ask == "exactly":
        return sum(payment) == count
    if ask == "limited":
        return max(payment) <= count
    return ask == "any" or min(payment) > 0


def _payments(amount: int, kinds: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to pay, as the number of each kind, few of the largest first."""
    *others, kind = kinds
    if not others:
        if amount % kind == 0:
            yield (amount // kind,)
        return
    for used in range(amount // kind + 1):
        for rest in _payments(amount - used * kind, others):
            yield (*rest, used)
