"""Geometric sequences."""

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


@attrs.frozen(kw_only=True)
class GeometricSequence(Family):
    """Terms, sums and ratios of geometric sequences, also as growth and decay."""

    name = "geometric-sequence"
    tag = "sequences/geometric"
    wordings = Wordings(
        words={
            "cells": ("bacteria", "yeast cells", "algae"),
            "news": ("a rumour", "a joke", "a recipe", "a song"),
        },
        term=(
            "A geometric sequence has the first term $<first:ratio>$ and the common ratio "
            "$<ratio:ratio>$. Find its term number $<count>$.",
            "The terms of a sequence are each $<ratio:ratio>$ times the one before, and the first "
            "is $<first:ratio>$. What is term number $<count>$?",
        ),
        sum=(
            "A geometric sequence has the first term $<first:ratio>$ and the common ratio "
            "$<ratio:ratio>$. Find the sum of its first $<count>$ terms.",
            "Add up the first $<count>$ terms of the geometric sequence that begins with "
            "$<first:ratio>$ and has the common ratio $<ratio:ratio>$. What is the sum?",
        ),
        growth=(
            "A dish holds $<first>$ <cells> at first. Their number is multiplied by $<factor>$ in "
            "every hour. How many are there after $<count>$ hours?",
            "On day 0, $<first>$ people know <news>. On every later day, the number of people who "
            "know it is $<factor>$ times that of the day before. How many know it on day "
            "$<count>$?",
        ),
        index=(
            "Which term of the geometric sequence $<first>, <second>, \\dots$ equals $<last>$? "
            "Give its number; the first term has number 1.",
            "The geometric sequence $<first>, <second>, \\dots, <last>$ is finite. How many terms "
            "does it have?",
        ),
        between=(
            "All terms of a geometric sequence are positive. Term number $<low>$ is "
            "$<left:ratio>$ and term number $<high>$ is $<right:ratio>$. Find term number "
            "$<count>$.",
            "A geometric sequence of positive numbers has $a_{<low>} = <left:ratio>$ and "
            "$a_{<high>} = <right:ratio>$. What is $a_{<count>}$?",
        ),
    )

    count: Ends = dial(5, 9, "largest number of terms", least=4, most=20)
    ratio: Ends = dial(3, 6, "largest number in a ratio", least=2, most=20)
    fractions: Ends = dial(0, 0.8, "share of ratios that are fractions", least=0, most=1)
    kinds: Ends = dial(3, 5, "how many kinds of question are asked", most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("term", "growth", "sum", "index", "between")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        count = base.whole(rng, 4, base.steady(self.count, difficulty))
        top = base.whole(rng, 2, base.steady(self.ratio, difficulty))
        first = base.whole(rng, 2, 12)
        if ask in ("growth", "index"):
            last = first * top**count
            steps = f"Multiply by ${top}$ again and again: ${_chain(first, top, count)}$."
            if ask == "growth":
                return Drawn(
                    ask=ask,
                    values={"first": first, "factor": top, "count": count},
                    gold=gold.integer(last),
                    steps=steps,
                )
            sign = -1 if rng.random() < 0.3 else 1
            factor = sign * top
            last = first * factor**count
            return Drawn(
                ask=ask,
                values={"first": first, "second": first * factor, "last": last},
                gold=gold.integer(count + 1),
                steps=f"The ratio is ${factor}$. The terms are ${_chain(first, factor, count)}$, "
                f"so the ratio is applied ${count}$ times.",
            )
        below = 1
        if rng.random() < base.steady(self.fractions, difficulty):
            below = base.whole(rng, 2, base.steady(self.ratio, difficulty))
            if below == top:
                below += 1
        ratio = Fraction(top, below)
        if ratio == 1 or (ratio.denominator == 1 and ratio < 2):
            ratio = Fraction(3, 2)
        start = first * ratio.denominator ** base.whole(rng, 0, 3)
        if ask == "between":
            low, high, count = base.distinct(rng, 3, 1, 8)
            low, high = sorted((low, high))
            left, right, found = (start * ratio ** (place - 1) for place in (low, high, count))
            away = count - high
            return Drawn(
                ask=ask,
                values={"low": low, "high": high, "count": count, "left": left, "right": right},
                gold=gold.rational(found),
                steps=f"${ratio_text(right)} : {ratio_text(Fraction(left))} = "
                f"{ratio_text(right / left)}$ is the power of the ratio with the exponent "
                f"${high - low}$, so the positive ratio is ${ratio_text(ratio)}$. From term "
                f"${high}$ it is ${abs(away)}$ {'step' if abs(away) == 1 else 'steps'} "
                f"{'forward' if away > 0 else 'back'}: {'multiply' if away > 0 else 'divide'} "
                f"${ratio_text(right)}$ by ${ratio_text(ratio ** abs(away))}$.",
            )
        if rng.random() < 0.3:
            ratio = -ratio
        terms = [start * ratio**place for place in range(count)]
        listing = ", ".join(ratio_text(each) for each in terms)
        if ask == "term":
            power = ratio ** (count - 1)
            return Drawn(
                ask=ask,
                values={"first": start, "ratio": ratio, "count": count},
                gold=gold.rational(terms[-1]),
                steps=f"The ratio is applied ${count - 1}$ times, and its power with the exponent "
                f"${count - 1}$ is ${ratio_text(power)}$. The term is ${start} \\cdot "
                f"{_bracketed(power)}$.",
            )
        power = ratio**count
        total = start * (1 - power) / (1 - ratio)
        return Drawn(
            ask=ask,
            values={"first": start, "ratio": ratio, "count": count},
            gold=gold.rational(total),
            steps=f"The terms are ${listing}$. Multiplying the sum $S$ by ${ratio_text(ratio)}$ "
            f"shifts them by one place, so ${_factor(ratio)}S - S = "
            f"{ratio_text(start * power)} - {start}$, that is, ${_factor(ratio - 1)}S = "
            f"{ratio_text(start * power - start)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask == "between":
            return _between(values)
        if ask == "index":
            first, second, last = values["first"], values["second"], values["last"]
            number, term = 1, first
            while abs(term) <= abs(last) and number < 100:
                if term == last:
                    return gold.integer(number)
                term, rest = divmod(term * second, first)
                number += 1
                if rest:
                    return None
            return None
        if ask == "growth":
            cells = values["first"]
            for _ in range(values["count"]):
                cells += (values["factor"] - 1) * cells
            return gold.integer(cells)
        # Over one denominator, term by term.
        first, ratio, count = Fraction(values["first"]), Fraction(values["ratio"]), values["count"]
        above, below = ratio.numerator, ratio.denominator
        term = first.numerator * below ** (count - 1)
        total = term
        for _ in range(count - 1):
            term = term * above // below
            total += term
        whole = first.denominator * below ** (count - 1)
        return gold.rational(Fraction(term if ask == "term" else total, whole))


def _chain(first: int, ratio: int, count: int) -> str:
    return ", ".join(str(first * ratio**place) for place in range(count + 1))


def _factor(value: Fraction | int) -> str:
    """As it stands before a letter."""
    if abs(value) == 1:
        return "" if value > 0 else "-"
    return ratio_text(value)


def _bracketed(value: Fraction) -> str:
    text = ratio_text(value)
    return f"\\left({text}\\right)" if value < 0 else text


def _between(values: Mapping[str, Any]) -> Gold | None:
    """By trying ratios: numerator and denominator are roots of those of the quotient."""
    low, high, count = values["low"], values["high"], values["count"]
    quotient = Fraction(values["right"]) / Fraction(values["left"])
    roots = []
    for number in (quotient.numerator, quotient.denominator):
        root = 1
        while root ** (high - low) < number:
            root += 1
        if root ** (high - low) != number:
            return None
        roots.append(root)
    term = Fraction(values["left"])
    for _ in range(abs(count - low)):
        term *= Fraction(*roots) if count > low else Fraction(*roots[::-1])
    return gold.rational(term)
