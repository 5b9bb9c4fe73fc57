"""From an effect back to its cause."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_TEST = (
    "$<share>\\%$ of the people in a town have a disease. A test is positive for $<hit>\\%$ of "
    "those who have it and for $<false>\\%$ of those who do not."
)
_MACHINES = (
    "Machines number $1, 2, \\dots$ of a factory make these percentages of all parts: "
    "<shares:integers>. Of what each makes, these percentages are faulty, in the same order: "
    "<rates:integers>."
)


@attrs.frozen(kw_only=True)
class BayesTests(Family):
    """The probability of a cause when its effect is seen: tests, machines and urns."""

    name = "bayes-tests"
    tag = "probability/conditional"
    wordings = Wordings(
        test=(
            f"{_TEST} Someone chosen at random tests positive. What is the probability that this "
            "person has the disease?",
        ),
        negative=(
            f"{_TEST} Someone chosen at random tests negative. What is the probability that this "
            "person has the disease all the same?",
        ),
        faulty=(f"{_MACHINES} What is the probability that a part chosen at random is faulty?",),
        machine=(
            f"{_MACHINES} A part chosen at random is faulty. What is the probability that machine "
            "number $<number>$ made it?",
        ),
        urns=(
            "Urns stand in a row, and their numbers of red balls are, in order, <reds:integers>, "
            "their numbers of blue balls <blues:integers>. One of the urns is chosen at random, "
            "each with the same probability, and a ball is drawn from it at random. It is red. "
            "What is the probability that it comes from urn number $<number>$?",
        ),
    )

    causes: Ends = dial(2, 4, "how many machines or urns", least=2, most=5)
    back: Ends = dial(0.4, 1, "share that asks for a cause", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        if rng.random() >= base.steady(self.back, difficulty):
            shares, rates = self._machines(rng, difficulty)
            total = sum(share * rate for share, rate in zip(shares, rates, strict=True))
            terms = " + ".join(
                f"{share} \\cdot {rate}" for share, rate in zip(shares, rates, strict=True)
            )
            return Drawn(
                ask="faulty",
                values={"shares": shares, "rates": rates},
                gold=gold.rational(Fraction(total, 10_000)),
                steps=f"Of $10000$ parts, ${terms} = {total}$ are faulty on average.",
            )
        ask = base.chosen(rng, ("test", "negative", "machine", "machine", "urns"))
        if ask in ("test", "negative"):
            share, hit = base.whole(rng, 1, 30), base.whole(rng, 70, 99)
            false = base.whole(rng, 1, 20)
            ill, well = hit, false
            if ask == "negative":
                ill, well = 100 - hit, 100 - false
            return self._drawn(
                ask,
                {"share": share, "hit": hit, "false": false},
                [share, 100 - share],
                [ill, well],
                1,
            )
        if ask == "machine":
            shares, rates = self._machines(rng, difficulty)
            number = base.whole(rng, 1, len(shares))
            values = {"shares": shares, "rates": rates, "number": number}
            return self._drawn(ask, values, shares, rates, number)
        count = base.whole_near(rng, base.steady(self.causes, difficulty))
        reds = [base.whole(rng, 1, 6) for _ in range(count)]
        blues = [base.whole(rng, 1, 6) for _ in range(count)]
        number = base.whole(rng, 1, count)
        chances = [Fraction(red, red + blue) for red, blue in zip(reds, blues, strict=True)]
        found = chances[number - 1] / sum(chances)
        shown = " + ".join(map(ratio_text, chances))
        return Drawn(
            ask=ask,
            values={"reds": reds, "blues": blues, "number": number},
            gold=gold.rational(found),
            steps=f"Red comes from the urns with probabilities in the ratio of "
            f"${', '.join(map(ratio_text, chances))}$, since each urn is chosen equally often. "
            f"Their sum is ${shown} = {ratio_text(sum(chances))}$, and the part of urn ${number}$ "
            f"in it is ${ratio_text(chances[number - 1])} : {ratio_text(sum(chances))}$.",
        )

    def _machines(self, rng: random.Random, difficulty: float) -> tuple[list[int], list[int]]:
        count = base.whole_near(rng, base.steady(self.causes, difficulty))
        cuts = sorted(base.distinct(rng, count - 1, 1, 19))
        shares = [5 * (b - a) for a, b in zip([0, *cuts], [*cuts, 20], strict=True)]
        return shares, base.distinct(rng, count, 1, 9)

    def _drawn(
        self,
        ask: str,
        values: Mapping[str, Any],
        shares: Sequence[int],
        rates: Sequence[int],
        number: int,
    ) -> Drawn:
        products = [share * rate for share, rate in zip(shares, rates, strict=True)]
        cases = {"test": "positive", "negative": "negative", "machine": "faulty"}[ask]
        which = "machines" if ask == "machine" else "ill and from the healthy people"
        terms = ", ".join(
            f"{share} \\cdot {rate} = {product}"
            for share, rate, product in zip(shares, rates, products, strict=True)
        )
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.rational(Fraction(products[number - 1], sum(products))),
            steps=f"Imagine $10000$ cases. From the {which}, in order, come on average ${terms}$ "
            f"{cases} ones, together ${sum(products)}$. The part asked for is "
            f"${products[number - 1]}$ of ${sum(products)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By odds: how much likelier or less likely each other cause is than the one asked for.
        if ask in ("test", "negative"):
            prior = Fraction(100 - values["share"], values["share"])
            if ask == "test":
                against = prior * Fraction(values["false"], values["hit"])
            else:
                if values["hit"] == 100:
                    return gold.rational(0)
                against = prior * Fraction(100 - values["false"], 100 - values["hit"])
            return gold.rational(1 / (1 + against))
        if ask == "urns":
            reds, number = values["reds"], values["number"] - 1
            sizes = [red + blue for red, blue in zip(reds, values["blues"], strict=True)]
            odds = sum(
                (
                    Fraction(red * sizes[number], size * reds[number])
                    for red, size in zip(reds, sizes, strict=True)
                ),
                Fraction(0),
            )
            return gold.rational(1 / odds)
        shares, rates = values["shares"], values["rates"]
        if len(shares) != len(rates) or sum(shares) != 100:
            return None
        if ask == "faulty":  # what is not faulty, taken from the whole
            good = sum(share * (100 - rate) for share, rate in zip(shares, rates, strict=True))
            return gold.rational(1 - Fraction(good, 10_000))
        number = values["number"] - 1
        odds = sum(
            (
                Fraction(share, shares[number]) * Fraction(rate, rates[number])
                for share, rate in zip(shares, rates, strict=True)
            ),
            Fraction(0),
        )
        return gold.rational(1 / odds)
