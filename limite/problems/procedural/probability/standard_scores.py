"""Distances from a mean in standard deviations."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.probability.linear import solved
from limite.problems.procedural.wording import Wordings, ratio_text

_RULE = (
    "Take it that exactly $68\\%$ of them lie within one standard deviation of the mean, $95\\%$ "
    "within two and $99.7\\%$ within three, and the same share above as below."
)
_SHARES = {1: Fraction(68, 100), 2: Fraction(95, 100), 3: Fraction(997, 1000)}


@attrs.frozen(kw_only=True)
class StandardScores(Family):
    """Standard scores of results, the results from their scores, and shares of a normal curve."""

    name = "standard-scores"
    tag = "probability/normal-distribution"
    wordings = Wordings(
        words={
            "what": (
                "weights of many apples",
                "lengths of many screws",
                "times of many runners",
                "heights of many trees",
            )
        },
        score=(
            "A set of results has the mean $<mean>$ and the standard deviation $<deviation>$. What "
            "is the standard score ($z$-score) of the result $<value>$?",
            "How many standard deviations does $<value>$ lie above the mean $<mean>$, if the "
            "standard deviation is $<deviation>$? (Below the mean the number is negative.)",
        ),
        value=(
            "A set of results has the mean $<mean>$ and the standard deviation $<deviation>$. "
            "Which result has the standard score ($z$-score) $<score:ratio>$?",
        ),
        both=(
            "In a set of results, $<value>$ has the standard score ($z$-score) $<score:ratio>$ and "
            "$<other>$ has the standard score $<other_score:ratio>$. Give the mean and the "
            "standard "
            "deviation as a tuple in this order.",
        ),
        share=(
            "The <what> are normally distributed with the mean $<mean>$ and the standard "
            f"deviation $<deviation>$. {_RULE} Which share of them lies between $<low>$ and "
            "$<high>$? Give it as a fraction or a decimal.",
        ),
        best=(
            "Three tests have these means: <means:integers>, and these standard deviations, in the "
            "same order: <deviations:integers>. The results of a pupil in them are, in the same "
            "order, <results:integers>. In which test was the pupil the best by the standard score "
            "(deviation from the mean over standard deviation)? (A) the first (B) the second (C) "
            "the third",
        ),
    )

    most: Ends = dial(40, 200, "largest mean", least=20, most=5000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.most, difficulty)
        mean = base.whole(rng, int(most / 2), most)
        deviation = base.whole(rng, 2, 6 + 14 * difficulty)
        ask = base.rising(rng, ("score", "value", "share", "both", "best"), difficulty)
        halves = base.distinct(rng, 2, -5, 5)
        parts = 2 if deviation % 2 == 0 and rng.random() < 0.6 else 1
        score, other = (Fraction(each, parts) if each else Fraction(1, 1) for each in halves)
        if score == other:
            other -= 1
            other = other or Fraction(-1)
        value = mean + int(score * deviation)
        values: dict[str, Any] = {"mean": mean, "deviation": deviation, "value": value}
        if ask == "score":
            value = mean + base.whole(rng, 1, 3 * deviation) * (1 if rng.random() < 0.5 else -1)
            found = Fraction(value - mean, deviation)
            values["value"] = value
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(found),
                steps=f"The deviation from the mean is ${value} - {mean} = {value - mean}$, and in "
                f"standard deviations this is ${value - mean} : {deviation}$.",
            )
        if ask == "value":
            values["score"] = score
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.rational(value),
                steps=f"The deviation is ${ratio_text(score)} \\cdot {deviation} = "
                f"{value - mean}$, "
                f"so the result is ${mean} {'-' if value < mean else '+'} {abs(value - mean)}$.",
            )
        if ask == "both":
            second = mean + int(other * deviation)
            values |= {"score": score, "other": second, "other_score": other}
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.ordered([mean, deviation]),
                steps=f"The scores differ by ${ratio_text(score)} - {_bracket(other)} = "
                f"{ratio_text(score - other)}$, the results by ${value} - {second} = "
                f"{value - second}$, so the standard deviation is ${value - second} : "
                f"{_bracket(score - other)} = {deviation}$. The mean is ${value} - "
                f"{_bracket(score)} \\cdot {deviation} = {mean}$.",
            )
        if ask == "share":
            return _share(rng, mean, deviation, difficulty)
        return _best(rng, difficulty)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "best":
            # Each against each, without division.
            tests = list(zip(values["results"], values["means"], values["deviations"], strict=True))
            wins = [
                all(
                    (value - mean) * other[2] > (other[0] - other[1]) * deviation
                    for other in tests
                    if other is not test
                )
                for test in tests
                for value, mean, deviation in [test]
            ]
            return gold.choice("ABC"[wins.index(True)], _OPTIONS) if sum(wins) == 1 else None
        if ask == "both":
            scores = values["score"], values["other_score"]
            parts = scores[0].denominator * scores[1].denominator
            rows = [
                [parts, int(score * parts), parts * result]
                for score, result in zip(scores, (values["value"], values["other"]), strict=True)
            ]
            found = solved(rows)
            return gold.ordered(found) if found else None
        mean, deviation = values["mean"], values["deviation"]
        if ask == "score":
            return gold.rational(Fraction(values["value"], deviation) - Fraction(mean, deviation))
        if ask == "value":
            top, parts = values["score"].numerator, values["score"].denominator
            return gold.rational(Fraction(mean * parts + top * deviation, parts))
        # Shares below a place, one standard deviation after the other.
        below = {0: Fraction(1, 2)}
        for steps, share in _SHARES.items():
            below[steps], below[-steps] = (1 + share) / 2, (1 - share) / 2
        low, high = (values[each] - mean for each in ("low", "high"))
        if low % deviation or high % deviation:
            return None
        places = low // deviation, high // deviation
        if not all(place in below for place in places):
            return None
        return gold.rational(below[places[1]] - below[places[0]])


_OPTIONS = {"A": "the first", "B": "the second", "C": "the third"}


def _share(rng: random.Random, mean: int, deviation: int, difficulty: float) -> Drawn:
    low, high = sorted(base.distinct(rng, 2, -3, 3))
    if difficulty < 0.3:
        low, high = -abs(high) if high else -1, abs(high) or 1
    parts = []
    for place in (low, high):
        if place:
            parts.append(
                f"between the mean and ${mean + place * deviation}$ lies half of "
                f"${_percent(abs(place))}\\%$"
            )
    half = {0: Fraction(0)} | {steps: share / 2 for steps, share in _SHARES.items()}
    if low < 0 < high:
        found, how = half[-low] + half[high], "The two parts are added."
    else:
        found = abs(half[abs(high)] - half[abs(low)])
        how = "The smaller part is taken from the larger." if low and high else ""
    text = ", and ".join(parts)
    return Drawn(
        ask="share",
        values={
            "mean": mean,
            "deviation": deviation,
            "low": mean + low * deviation,
            "high": mean + high * deviation,
        },
        gold=gold.rational(found),
        steps=f"By symmetry, {text}. {how}".strip(),
    )


def _percent(steps: int) -> str:
    return {1: "68", 2: "95", 3: "99.7"}[steps]


def _best(rng: random.Random, difficulty: float) -> Drawn:
    means = [base.whole(rng, 40, 70) for _ in range(3)]
    deviations = [base.whole(rng, 3, 6 + 9 * difficulty) for _ in range(3)]
    results = [
        mean + base.whole(rng, 0, 3 * deviation) - deviation
        for mean, deviation in zip(means, deviations, strict=True)
    ]
    scores = [
        Fraction(result - mean, deviation)
        for result, mean, deviation in zip(results, means, deviations, strict=True)
    ]
    best = scores.index(max(scores))
    if scores.count(scores[best]) > 1:
        results[best] += 1
        scores[best] += Fraction(1, deviations[best])
    return Drawn(
        ask="best",
        values={"means": means, "deviations": deviations, "results": results},
        gold=gold.choice("ABC"[best], _OPTIONS),
        steps=f"The standard scores are ${', '.join(map(ratio_text, scores))}$, and the largest of "
        f"them is ${ratio_text(scores[best])}$.",
    )


def _bracket(value: Fraction) -> str:
    text = ratio_text(value)
    return f"\\left({text}\\right)" if value < 0 else text
