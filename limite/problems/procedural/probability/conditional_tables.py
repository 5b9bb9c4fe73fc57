"""Conditional probabilities from counts of two groups."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_COUNTS = (
    "Of $<first>$ <people> from the town, $<yes_a>$ <do>, and of $<second>$ <people> from the "
    "country, $<yes_b>$ <do>."
)
_SHARES = (
    "$<share>\\%$ of the <people> in a group are from the town, the others from the country. Of "
    "those from the town $<rate_a>\\%$ <do>, of those from the country $<rate_b>\\%$."
)
_ONE = "One of all these <people> is chosen at random."


@attrs.frozen(kw_only=True)
class ConditionalTables(Family):
    """Probabilities and conditional probabilities from counts or shares of two groups."""

    name = "conditional-tables"
    tag = "probability/conditional"
    wordings = Wordings(
        words={
            "people": ("pupils", "students", "employees", "athletes"),
            "do": ("swim", "read novels", "play chess", "own a bicycle", "sing"),
        },
        whole=(
            f"{_COUNTS} {_ONE} What is the probability that this person is one of those who <do>?",
        ),
        forward=(
            f"{_COUNTS} {_ONE} Given that the person chosen is from the town, what is the "
            "probability that this person is one of those who <do>?",
        ),
        backward=(
            f"{_COUNTS} {_ONE} The person chosen is one of those who <do>. What is the "
            "probability that this person is from the town?",
            f"{_COUNTS} Of all those who <do>, one is chosen at random. What is the probability "
            "that this person is from the town?",
        ),
        without=(
            f"{_COUNTS} {_ONE} The person chosen is not one of those who <do>. What is "
            "the probability that this person is from the country?",
        ),
        two=(
            f"{_COUNTS} Two different ones of all these <people> are chosen at random. What is the "
            "probability that both are among those who <do>?",
        ),
        shares=(
            f"{_SHARES} One of them is chosen at random and is one of those who <do>. What is the "
            "probability that this person is from the town?",
        ),
    )

    most: Ends = dial(15, 60, "largest size of a group", least=10, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.most, difficulty)
        ask = base.rising(
            rng, ("forward", "whole", "backward", "without", "two", "shares"), difficulty
        )
        if ask == "shares":
            share = 5 * base.whole(rng, 2, 18)
            rate_a, rate_b = (5 * each for each in base.distinct(rng, 2, 1, 19))
            town, country = share * rate_a, (100 - share) * rate_b
            return Drawn(
                ask=ask,
                values={"share": share, "rate_a": rate_a, "rate_b": rate_b},
                gold=gold.rational(Fraction(town, town + country)),
                steps=f"Of $10000$ people, ${share} \\cdot {rate_a} = {town}$ are counted from the "
                f"town and ${100 - share} \\cdot {rate_b} = {country}$ from the country. So the "
                f"probability is ${town}$ in ${town + country}$.",
            )
        first, second = base.whole(rng, 8, most), base.whole(rng, 8, most)
        yes_a, yes_b = base.whole(rng, 2, first - 2), base.whole(rng, 2, second - 2)
        total, yes = first + second, yes_a + yes_b
        no_b = second - yes_b
        found, steps = {
            "whole": (
                Fraction(yes, total),
                f"There are ${first} + {second} = {total}$ people, and ${yes_a} + {yes_b} = {yes}$ "
                f"of them are counted.",
            ),
            "forward": (
                Fraction(yes_a, first),
                f"Only the ${first}$ from the town are possible, and ${yes_a}$ of them are "
                "counted.",
            ),
            "backward": (
                Fraction(yes_a, yes),
                f"Only ${yes_a} + {yes_b} = {yes}$ people are possible, and ${yes_a}$ of them are "
                f"from the town.",
            ),
            "without": (
                Fraction(no_b, total - yes),
                f"Possible are ${first} - {yes_a} = {first - yes_a}$ people from the town and "
                f"${second} - {yes_b} = {no_b}$ from the country, together ${total - yes}$.",
            ),
            "two": (
                Fraction(yes * (yes - 1), total * (total - 1)),
                f"Of ${total}$ people ${yes}$ are counted. The first one is among them with "
                f"probability $\\frac{{{yes}}}{{{total}}}$, then the second one with probability "
                f"$\\frac{{{yes - 1}}}{{{total - 1}}}$: $\\frac{{{yes}}}{{{total}}} \\cdot "
                f"\\frac{{{yes - 1}}}{{{total - 1}}}$.",
            ),
        }[ask]
        return Drawn(
            ask=ask,
            values={"first": first, "second": second, "yes_a": yes_a, "yes_b": yes_b},
            gold=gold.rational(found),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the rule of Bayes and total probability from the shares of the groups.
        if ask == "shares":
            share = Fraction(values["share"], 100)
            rates = Fraction(values["rate_a"], 100), Fraction(values["rate_b"], 100)
        else:
            first, second = values["first"], values["second"]
            share = Fraction(first, first + second)
            rates = Fraction(values["yes_a"], first), Fraction(values["yes_b"], second)
        whole = share * rates[0] + (1 - share) * rates[1]
        if ask == "whole":
            return gold.rational(whole)
        if ask == "forward":
            return gold.rational(rates[0])
        if ask == "without":
            return gold.rational((1 - share) * (1 - rates[1]) / (1 - whole))
        if ask == "two":  # pairs among all pairs
            total = first + second
            yes = int(whole * total)
            return gold.rational(Fraction(sum(range(yes)), sum(range(total))))
        return gold.rational(share * rates[0] / whole)
