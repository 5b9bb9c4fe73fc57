"""Odds and probabilities."""

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

_ODDS = (
    "(The odds $a : b$ in favour of an event mean that the probabilities that it happens and that "
    "it does not are as $a$ to $b$.)"
)


@attrs.frozen(kw_only=True)
class Odds(Family):
    """From odds to probabilities and back, also for several events."""

    name = "odds"
    tag = "probability/odds"
    wordings = Wordings(
        words={
            "what": ("rain tomorrow", "a late train", "a win of the home team", "frost tonight")
        },
        chance=(
            f"The odds in favour of <what> are $<a> : <b>$. What is the probability of it? {_ODDS}",
            f"An event has the odds $<a> : <b>$ in its favour. Find its probability. {_ODDS}",
        ),
        odds=(
            "The probability of <what> is $<p:ratio>$. What are the odds in favour of it? Give "
            "them as a tuple $(a, b)$ of whole numbers without a common divisor above $1$. "
            f"{_ODDS}",
        ),
        against=(
            "The odds against <what> are $<a> : <b>$, that is, it does not happen and happens with "
            "probabilities as $<a>$ to $<b>$. What is the probability of it?",
        ),
        both=(
            "Two independent events have the odds $<a> : <b>$ and $<c> : <d>$ in their favour. "
            "What "
            f"is the probability that both happen? {_ODDS}",
        ),
        either=(
            "Two independent events have the odds $<a> : <b>$ and $<c> : <d>$ in their favour. "
            "What "
            f"is the probability that at least one happens? {_ODDS}",
        ),
        third=(
            "One of three teams will win. The odds in favour of the first are $<a> : <b>$, those "
            "in "
            "favour of the second $<c> : <d>$. What is the probability that the third one wins? "
            f"{_ODDS}",
        ),
        updated=(
            "The odds in favour of a guess are $<a> : <b>$. Then something is seen that is "
            "$<times:ratio>$ times as probable if the guess is right as if it is wrong. What is "
            f"the probability then that the guess is right? {_ODDS}",
        ),
    )

    most: Ends = dial(9, 30, "largest number in the odds", least=6, most=200)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.most, difficulty)
        ask = base.rising(
            rng, ("chance", "against", "odds", "both", "either", "third", "updated"), difficulty
        )
        a, b = _pair(rng, most)
        c, d = _pair(rng, most)
        p, q = Fraction(a, a + b), Fraction(c, c + d)
        values: dict[str, Any] = {"a": a, "b": b, "c": c, "d": d, "p": p}
        first = f"\\frac{{{a}}}{{{a} + {b}}} = {ratio_text(p)}"
        second = f"\\frac{{{c}}}{{{c} + {d}}} = {ratio_text(q)}"
        if ask == "chance":
            return _drawn(ask, values, p, f"Of ${a} + {b} = {a + b}$ equal parts ${a}$ are for it.")
        if ask == "against":
            steps = f"Of ${a} + {b} = {a + b}$ equal parts, ${b}$ are for it."
            return _drawn(ask, values, 1 - p, steps)
        if ask == "odds":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.ordered([a, b]),
                steps=f"The probability that it does not happen is $1 - {ratio_text(p)} = "
                f"{ratio_text(1 - p)}$, and ${ratio_text(p)}$ is to ${ratio_text(1 - p)}$ as ${a}$ "
                f"to ${b}$.",
            )
        if ask == "updated":
            times = Fraction(base.whole(rng, 2, 9), base.whole(rng, 1, 2 + difficulty))
            if times == 1:
                times = Fraction(2)
            values["times"] = times
            odds = times * a / b
            return _drawn(
                ask,
                values,
                odds / (1 + odds),
                f"The odds are multiplied by ${ratio_text(times)}$: "
                f"${ratio_text(times)} \\cdot {ratio_text(Fraction(a, b))} = {ratio_text(odds)}$, "
                f"that is ${odds.numerator} : {odds.denominator}$. Of "
                f"${odds.numerator + odds.denominator}$ parts ${odds.numerator}$ are for it.",
            )
        if ask == "third":
            while p + q >= 1:  # fewer chances until something is left
                b, d = b + _half(a), d + _half(c)
                b, d = _coprime(a, b), _coprime(c, d)
                p, q = Fraction(a, a + b), Fraction(c, c + d)
            first = f"\\frac{{{a}}}{{{a} + {b}}} = {ratio_text(p)}"
            second = f"\\frac{{{c}}}{{{c} + {d}}} = {ratio_text(q)}"
            values = {"a": a, "b": b, "c": c, "d": d}
            return _drawn(
                ask,
                values,
                1 - p - q,
                f"The first wins with probability ${first}$, the second with probability "
                f"${second}$. What is left is $1 - {ratio_text(p)} - {ratio_text(q)}$.",
            )
        steps = f"The probabilities are ${first}$ and ${second}$. "
        if ask == "both":
            steps += f"Their product is ${ratio_text(p)} \\cdot {ratio_text(q)}$."
            return _drawn(ask, values, p * q, steps)
        none = (1 - p) * (1 - q)
        steps += (
            f"Neither happens with probability ${ratio_text(1 - p)} \\cdot {ratio_text(1 - q)} = "
            f"{ratio_text(none)}$, so at least one with probability $1 - {ratio_text(none)}$."
        )
        return _drawn(ask, values, 1 - none, steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By equal parts of a whole, counted.
        if ask == "odds":
            p = values["p"]
            return gold.ordered([p.numerator, p.denominator - p.numerator])
        a, b = values["a"], values["b"]
        if ask == "chance":
            return gold.rational(1 - Fraction(b, a + b))
        if ask == "against":
            return gold.rational(1 - Fraction(a, a + b))
        if ask == "updated":
            right = values["times"].numerator * a
            wrong = values["times"].denominator * b
            return gold.rational(Fraction(right, right + wrong))
        c, d = values["c"], values["d"]
        cells = (a + b) * (c + d)
        counted = {
            "both": a * c,
            "either": a * (c + d) + b * c,
            "third": cells - a * (c + d) - c * (a + b),
        }[ask]
        return gold.rational(Fraction(counted, cells)) if counted > 0 else None


def _drawn(ask: str, values: Mapping[str, Any], found: Fraction, steps: str) -> Drawn:
    return Drawn(ask=ask, values=values, gold=gold.rational(found), steps=steps)


def _pair(rng: random.Random, most: float) -> tuple[int, int]:
    a = base.whole(rng, 1, most)
    return a, _coprime(a, base.whole(rng, 2, most))


def _coprime(a: int, b: int) -> int:
    """``b`` or the next number that has no divisor in common with ``a`` and differs from it."""
    while math.gcd(a, b) > 1 or a == b:
        b += 1
    return b


def _half(number: int) -> int:
    return number // 2 + 1
