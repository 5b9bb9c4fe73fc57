"""What games are worth."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_AGAIN = (
    "A fair die with faces numbered from $1$ to $<faces>$ may be rolled up to $<rolls>$ times. "
    "After each roll the player may stop and is paid the number of the last roll in crowns, or "
    "roll again while rolls are left."
)


@attrs.frozen(kw_only=True)
class FairGames(Family):
    """What a game of chance is worth on average, also when it is played as well as possible."""

    name = "fair-games"
    tag = "probability/expectation"
    wordings = Wordings(
        words={"who": ("Ana", "Luc", "Mara", "Tom", "Noor", "Ravi")},
        spinner=(
            "A spinner has fields of these sizes, in parts of the whole circle: "
            "$<shares:ratios>$. They pay, in the same order, these numbers of crowns: "
            "<prizes:integers>. What is the fair price of one spin, in crowns?",
            "A game pays these numbers of crowns: <prizes:integers>, with these probabilities, in "
            "the same order: $<shares:ratios>$. What does it pay on average, in crowns?",
        ),
        raffle=(
            "In a raffle, $<tickets>$ tickets are sold at $<price>$ crowns each. These are the "
            "prizes, in crowns, each for a different ticket: <prizes:integers>. How many crowns "
            "does the owner of one ticket win on average, less its price? (A loss is negative.)",
        ),
        again=(
            f"{_AGAIN} What is the average payment in crowns if the game is played as well as "
            "possible?",
            f"{_AGAIN} <who> stops at the right moments, so that the payment is as large as "
            "possible on average. What is this average, in crowns?",
        ),
        price=(
            "A game is won with probability $<chance:ratio>$. A win pays $<prize>$ crowns, a loss "
            "costs $<loss>$ crowns. What is the average gain of a game in crowns? (A loss is "
            "negative.)",
        ),
        fair=(
            "A game is won with probability $<chance:ratio>$. A loss costs $<loss>$ crowns. How "
            "many crowns must a win pay so that the average gain is $0$?",
        ),
    )

    prizes: Ends = dial(3, 5, "how many prizes", least=2, most=8)
    rolls: Ends = dial(2, 4, "how many rolls are allowed", least=2, most=8)
    faces: Ends = dial(6, 12, "most faces of a die", least=4, most=30)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.rising(rng, ("price", "spinner", "raffle", "fair", "again", "again"), difficulty)
        if ask == "again":
            return self._again(rng, difficulty)
        parts = base.whole(rng, 3, 6 + 6 * difficulty)
        chance = Fraction(base.whole(rng, 1, parts - 1), parts)
        loss = base.whole(rng, 2, 12)
        if ask == "price":
            prize = base.whole(rng, 2, 30)
            gain, cost = chance * prize, (1 - chance) * loss
            return Drawn(
                ask=ask,
                values={"chance": chance, "prize": prize, "loss": loss},
                gold=gold.rational(gain - cost),
                steps=f"On average a win brings ${ratio_text(chance)} \\cdot {prize} = "
                f"{ratio_text(gain)}$ and a loss costs ${ratio_text(1 - chance)} \\cdot {loss} = "
                f"{ratio_text(cost)}$, so the gain is ${ratio_text(gain)} - {ratio_text(cost)}$.",
            )
        if ask == "fair":
            cost = (1 - chance) * loss
            return Drawn(
                ask=ask,
                values={"chance": chance, "loss": loss},
                gold=gold.rational(cost / chance),
                steps=f"A loss costs ${ratio_text(1 - chance)} \\cdot {loss} = {ratio_text(cost)}$ "
                f"on average. With the prize $p$, ${ratio_text(chance)} p = {ratio_text(cost)}$.",
            )
        count = base.whole_near(rng, base.steady(self.prizes, difficulty))
        if ask == "raffle":
            tickets = 10 * base.whole(rng, 3, 10 + 40 * difficulty)
            prizes = sorted((5 * base.whole(rng, 1, 40) for _ in range(count)), reverse=True)
            price = base.whole(rng, 2, 9)
            return Drawn(
                ask=ask,
                values={"tickets": tickets, "price": price, "prizes": prizes},
                gold=gold.rational(Fraction(sum(prizes), tickets) - price),
                steps=f"All the prizes together are ${' + '.join(map(str, prizes))} = "
                f"{sum(prizes)}$ crowns, which is $\\frac{{{sum(prizes)}}}{{{tickets}}}$ for each "
                f"ticket on average. The price is ${price}$: "
                f"$\\frac{{{sum(prizes)}}}{{{tickets}}} - {price}$.",
            )
        whole = base.whole(rng, count + 2, count + 5 + 8 * difficulty)
        cuts = sorted(base.distinct(rng, count - 1, 1, whole - 1))
        weights = [b - a for a, b in zip([0, *cuts], [*cuts, whole], strict=True)]
        prizes = [base.whole(rng, 1, 20) for _ in weights]
        shares = [Fraction(weight, whole) for weight in weights]
        terms = " + ".join(
            f"{ratio_text(share)} \\cdot {prize}"
            for share, prize in zip(shares, prizes, strict=True)
        )
        total = sum(weight * prize for weight, prize in zip(weights, prizes, strict=True))
        return Drawn(
            ask=ask,
            values={"shares": shares, "prizes": prizes},
            gold=gold.rational(Fraction(total, whole)),
            steps=f"The average payment is ${terms} = \\frac{{{total}}}{{{whole}}}$.",
        )

    def _again(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.faces, difficulty)
        faces = base.whole(rng, max(4, int(most / 2)), most)
        rolls = base.whole_near(rng, base.steady(self.rolls, difficulty))
        value = Fraction(faces + 1, 2)
        steps = f"With one roll left it pays ${ratio_text(value)}$ on average."
        for left in range(2, rolls + 1):
            stop = value.numerator // value.denominator + 1  # numbers above the value are kept
            kept = sum(range(stop, faces + 1))
            after = (kept + (stop - 1) * value) / faces
            which = "is only" if stop == faces else f"are ${stop}$ to"
            steps += (
                f" With ${left}$ rolls left, keep the numbers above ${ratio_text(value)}$, which "
                f"{which} ${faces}$ with the sum ${kept}$, and roll again otherwise: "
                f"$\\frac{{1}}{{{faces}}} ({kept} + {stop - 1} \\cdot {ratio_text(value)}) = "
                f"{ratio_text(after)}$."
            )
            value = after
        return Drawn(
            ask="again",
            values={"faces": faces, "rolls": rolls},
            gold=gold.rational(value),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "again":
            # The best of all strategies that stop from some number on, a number for each roll.
            faces, rolls = values["faces"], values["rolls"]
            best = 0
            for stops in itertools.product(range(1, faces + 2), repeat=min(rolls - 1, 1)):
                best = max(best, _paid(stops, faces))
            # One more roll before: the later ones are played as well as possible.
            for roll in range(2, rolls):
                scale = 2 * faces**roll  # what `best` counts in
                best = max(
                    sum(each * scale for each in range(stop, faces + 1)) + (stop - 1) * best
                    for stop in range(1, faces + 2)
                )
            return gold.rational(Fraction(best, 2 * faces**rolls))
        if ask == "raffle":
            # The gain of each ticket, of all that might be one's own.
            prizes, price = values["prizes"], values["price"]
            others = values["tickets"] - len(prizes)
            gains = sum(prize - price for prize in prizes) - others * price
            return gold.rational(Fraction(gains, values["tickets"]))
        if ask == "spinner":
            shares, prizes = values["shares"], values["prizes"]
            if len(shares) != len(prizes) or sum(shares) != 1:
                return None
            # From the first prize, by the differences of the others from it.
            first = prizes[0]
            return gold.rational(
                first
                + sum(
                    (share * (prize - first) for share, prize in zip(shares, prizes, strict=True)),
                    Fraction(0),
                )
            )
        # In as many games as the denominator says, with the average numbers of wins and losses.
        chance, loss = values["chance"], values["loss"]
        games, wins = chance.denominator, chance.numerator
        lost = (games - wins) * loss
        if ask == "fair":
            return gold.rational(Fraction(lost, wins))
        return gold.rational(Fraction(wins * values["prize"] - lost, games))


def _paid(stops: tuple[int, ...], faces: int) -> int:
    """The payment of two rolls, stopping after the first from a number on, in parts of
    ``2 faces^2``: by all outcomes of both."""
    if not stops:
        return sum(range(1, faces + 1)) * 2
    return 2 * sum(
        first if first >= stops[0] else second
        for first in range(1, faces + 1)
        for second in range(1, faces + 1)
    )
