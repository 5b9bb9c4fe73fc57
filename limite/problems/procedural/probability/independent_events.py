"""Whether two events are independent, and what follows if they are."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text

_NUMBER = "A number is chosen from $1, 2, \\dots, <top>$, each with the same probability."


@attrs.frozen(kw_only=True)
class IndependentEvents(Family):
    """Whether two events are independent, and the probabilities of both or of one of them."""

    name = "independent-events"
    tag = "probability/independence"
    wordings = Wordings(
        words={"group": ("club", "school", "village", "firm")},
        table=(
            "In a <group>, $<both>$ people swim and sing, $<first>$ swim but do not sing, "
            "$<second>$ sing but do not swim, and $<neither>$ do neither. One of them all is "
            "chosen at random. Are the events that this person swims and that this person sings "
            "independent? Answer yes or no.",
        ),
        numbers=(
            f"{_NUMBER} Are the events that it is divisible by $<divisor>$ and that it is at most "
            "$<bound>$ independent? Answer yes or no.",
        ),
        given=(
            "For two events, $P(A) = <a:ratio>$, $P(B) = <b:ratio>$ and $P(A \\cup B) = "
            "<union:ratio>$. Are $A$ and $B$ independent? Answer yes or no.",
        ),
        both=(
            "Two independent events have the probabilities $<a:ratio>$ and $<b:ratio>$. What is "
            "the "
            "probability that both happen?",
        ),
        exactly_one=(
            "Two independent events have the probabilities $<a:ratio>$ and $<b:ratio>$. What is "
            "the "
            "probability that exactly one of them happens?",
            "Two archers hit a target with the probabilities $<a:ratio>$ and $<b:ratio>$, "
            "independently. Each shoots once. What is the probability that exactly one of them "
            "hits?",
        ),
        union=(
            "Two independent events have the probabilities $<a:ratio>$ and $<b:ratio>$. What is "
            "the "
            "probability that at least one of them happens?",
            "Two alarms work with the probabilities $<a:ratio>$ and $<b:ratio>$, independently. "
            "What is the probability that at least one of them works?",
        ),
        missing=(
            "Two independent events $A$ and $B$ have $P(A) = <a:ratio>$ and $P(A \\cup B) = "
            "<union:ratio>$. What is $P(B)$?",
        ),
    )

    size: Ends = dial(5, 16, "largest denominators and counts", least=4, most=100)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.size, difficulty)
        ask = base.rising(
            rng,
            ("both", "table", "union", "exactly_one", "numbers", "given", "missing"),
            difficulty,
        )
        if ask == "table":
            return _table(rng, most)
        if ask == "numbers":
            return _numbers(rng, most)
        a, b = _chance(rng, most), _chance(rng, most)
        union = a + b - a * b
        if ask == "given":
            yes = rng.random() < 0.5
            if not yes:
                shift = Fraction(1, 2 * a.denominator * b.denominator)
                union += shift if rng.random() < 0.5 else -shift
            common = a + b - union
            return Drawn(
                ask=ask,
                values={"a": a, "b": b, "union": union},
                gold=gold.boolean(yes),
                steps=f"$P(A \\cap B) = {ratio_text(a)} + {ratio_text(b)} - {ratio_text(union)} = "
                f"{ratio_text(common)}$, and $P(A) \\cdot P(B) = {ratio_text(a)} \\cdot "
                f"{ratio_text(b)} = {ratio_text(a * b)}$: the two are {'' if yes else 'not '}"
                f"equal.",
            )
        values = {"a": a, "b": b, "union": union}
        if ask == "both":
            found, steps = a * b, f"Multiply: ${ratio_text(a)} \\cdot {ratio_text(b)}$."
        elif ask == "exactly_one":
            one, other = a * (1 - b), b * (1 - a)
            found = one + other
            steps = (
                f"Only the first: ${ratio_text(a)} \\cdot {ratio_text(1 - b)} = "
                f"{ratio_text(one)}$. "
                f"Only the second: ${ratio_text(1 - a)} \\cdot {ratio_text(b)} = "
                f"{ratio_text(other)}$. The sum is ${ratio_text(one)} + {ratio_text(other)}$."
            )
        elif ask == "union":
            found = union
            steps = (
                f"Neither of them: ${ratio_text(1 - a)} \\cdot {ratio_text(1 - b)} = "
                f"{ratio_text((1 - a) * (1 - b))}$. So at least one: "
                f"$1 - {ratio_text((1 - a) * (1 - b))}$."
            )
        else:
            found = b
            steps = (
                f"Neither happens with probability $1 - {ratio_text(union)} = "
                f"{ratio_text(1 - union)}$, and this is the product of $1 - {ratio_text(a)} = "
                f"{ratio_text(1 - a)}$ and $1 - P(B)$. So $1 - P(B) = {ratio_text(1 - b)}$."
            )
        return Drawn(ask=ask, values=values, gold=gold.rational(found), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "table":
            # Independent: the share of singers is the same among swimmers and the others.
            swimmers = Fraction(values["both"], values["both"] + values["first"])
            others = Fraction(values["second"], values["second"] + values["neither"])
            return gold.boolean(swimmers == others)
        if ask == "numbers":
            top, bound = values["top"], values["bound"]
            numbers = range(values["divisor"], top + 1, values["divisor"])
            among = sum(each <= bound for each in numbers)
            return gold.boolean(among * top == len(numbers) * min(bound, top))
        a = values["a"]
        if ask == "given":
            # P(B) alone against P(B) where A does not happen.
            return gold.boolean((values["union"] - a) == values["b"] * (1 - a))
        if ask == "missing":
            return gold.rational((values["union"] - a) / (1 - a))
        # All four cases in a square of equally likely small cells.
        b = values["b"]
        wide, high = a.denominator, b.denominator
        cells = {"both": 0, "exactly_one": 0, "union": 0}
        for column in range(wide):
            for row in range(high):
                hits = (column < a.numerator) + (row < b.numerator)
                cells["both"] += hits == 2
                cells["exactly_one"] += hits == 1
                cells["union"] += hits > 0
        return gold.rational(Fraction(cells[ask], wide * high))


def _chance(rng: random.Random, most: float) -> Fraction:
    parts = base.whole(rng, 3, most)
    return Fraction(base.whole(rng, 1, parts - 1), parts)


def _table(rng: random.Random, most: float) -> Drawn:
    p, q = base.whole(rng, 1, 4), base.whole(rng, 1, 5)
    times, other = base.whole(rng, 2, most), base.whole(rng, 2, most)
    both, first, second, neither = p * times, q * times, p * other, q * other
    yes = rng.random() < 0.5
    if not yes:
        change = base.whole(rng, 1, 3)
        if rng.random() < 0.5:
            neither += change
        else:
            first += change
    total = both + first + second + neither
    swim, sing = both + first, both + second
    return Drawn(
        ask="table",
        values={"both": both, "first": first, "second": second, "neither": neither},
        gold=gold.boolean(yes),
        steps=f"There are ${total}$ people; ${swim}$ swim, ${sing}$ sing and ${both}$ do both. "
        "They "
        f"are independent if $\\frac{{{swim}}}{{{total}}} \\cdot \\frac{{{sing}}}{{{total}}} = "
        f"\\frac{{{both}}}{{{total}}}$, that is if ${swim} \\cdot {sing} = {swim * sing}$ equals "
        f"${both} \\cdot {total} = {both * total}$.",
    )


def _numbers(rng: random.Random, most: float) -> Drawn:
    divisor = base.whole(rng, 2, 5)
    times = base.whole(rng, 3, most)
    top = divisor * times
    bound = divisor * base.whole(rng, 1, times - 1)
    if rng.random() < 0.5:
        bound += base.whole(rng, 1, divisor - 1)
    among = bound // divisor
    return Drawn(
        ask="numbers",
        values={"top": top, "divisor": divisor, "bound": bound},
        gold=gold.boolean(among * divisor == bound),
        steps=f"${times}$ of the ${top}$ numbers are divisible by ${divisor}$, ${bound}$ are at "
        f"most ${bound}$, and ${among}$ {'is' if among == 1 else 'are'} both. The product of the "
        f"probabilities is $\\frac{{{times}}}{{{top}}} \\cdot \\frac{{{bound}}}{{{top}}} = "
        f"{ratio_text(Fraction(bound, divisor * top))}$, the probability of both "
        f"${ratio_text(Fraction(among, top))}$.",
    )
