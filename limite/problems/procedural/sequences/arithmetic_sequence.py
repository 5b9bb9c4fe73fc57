"""Arithmetic sequences."""

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
class ArithmeticSequence(Family):
    """Terms, sums and lengths of arithmetic sequences, also as rows of seats and savings."""

    name = "arithmetic-sequence"
    tag = "sequences/arithmetic"
    wordings = Wordings(
        words={
            "who": ("Rosa", "Felix", "Hana", "Oskar", "Zoe", "Ivan", "Priya", "Noel"),
            "place": ("theatre", "stadium", "cinema", "lecture hall", "concert hall"),
        },
        term=(
            "An arithmetic sequence has the first term $<first>$ and the common difference "
            "$<step>$. Find its term number $<count>$.",
            "In the arithmetic sequence with $a_1 = <first>$ and the common difference $<step>$, "
            "what is $a_{<count>}$?",
        ),
        sum=(
            "An arithmetic sequence has the first term $<first>$ and the common difference "
            "$<step>$. Find the sum of its first $<count>$ terms.",
            "Add up the first $<count>$ terms of the arithmetic sequence that begins with "
            "$<first>$ and has the common difference $<step>$. What is the sum?",
        ),
        seats=(
            "The first row of a <place> has $<first>$ seats, and every further row has $<step>$ "
            "seats more than the row in front of it. How many seats are there in $<count>$ rows?",
            "<who> saves $<first>$ crowns in the first week, and in every later week $<step>$ "
            "crowns more than in the week before. How many crowns does <who> save in $<count>$ "
            "weeks altogether?",
        ),
        weeks=(
            "<who> saves $<first>$ crowns in the first week, and in every later week $<step>$ "
            "crowns more than in the week before. After how many weeks are there at least "
            "$<total>$ crowns for the first time?",
            "The first row of a <place> has $<first>$ seats, and every further row has $<step>$ "
            "seats more than the row in front of it. What is the smallest number of rows that "
            "holds $<total>$ people or more?",
        ),
        length=(
            "How many terms does the arithmetic sequence $<first>, <second>, \\dots, <last>$ have?",
            "The numbers $<first>, <second>, \\dots, <last>$ form an arithmetic sequence. How many "
            "numbers are there?",
        ),
        between=(
            "In an arithmetic sequence, term number $<low>$ is $<left>$ and term number $<high>$ "
            "is $<right>$. Find term number $<count>$.",
            "An arithmetic sequence has $a_{<low>} = <left>$ and $a_{<high>} = <right>$. What is "
            "$a_{<count>}$?",
        ),
        means=(
            "Three numbers are put between $<left>$ and $<right>$ so that all five form an "
            "arithmetic sequence. Give the three numbers in order, as $(x, y, z)$.",
            "Find $(x, y, z)$ such that $<left>, x, y, z, <right>$ is an arithmetic sequence.",
        ),
    )

    count: Ends = dial(8, 80, "largest number of terms", least=6, most=500)
    size: Ends = dial(9, 200, "largest difference", least=3, most=10_000)
    kinds: Ends = dial(3, 7, "how many kinds of question are asked", most=7)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("term", "sum", "seats", "length", "between", "means", "weeks")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        count = base.whole(rng, 5, base.steady(self.count, difficulty))
        size = base.slow_start(self.size, difficulty)
        step, first = base.whole(rng, 2, size), base.whole(rng, 2, 3 * size)
        if ask in ("seats", "weeks"):
            total = count * (2 * first + (count - 1) * step) // 2
            if ask == "seats":
                last = first + (count - 1) * step
                return Drawn(
                    ask=ask,
                    values={"first": first, "step": step, "count": count},
                    gold=gold.integer(total),
                    steps=f"The last number is ${first} + {count - 1} \\cdot {step} = {last}$. "
                    f"First and last, second and second to last and so on have the same sum, so "
                    f"the total is $\\frac{{{count}}}{{2}} \\cdot ({first} + {last}) = {total}$.",
                )
            aim = total - base.whole(rng, 0, first + (count - 1) * step - 1)
            before = total - first - (count - 1) * step
            return Drawn(
                ask=ask,
                values={"first": first, "step": step, "total": aim},
                gold=gold.integer(count),
                steps=f"The first $n$ numbers add up to $\\frac{{n}}{{2}}({2 * first} + "
                f"(n - 1) \\cdot {step})$. For $n = {count - 1}$ this is ${before}$, less than "
                f"${aim}$, and for $n = {count}$ it is ${total}$.",
            )
        if rng.random() < 0.5:
            step = -step
        if rng.random() < 0.3:
            first = -first
        last = first + (count - 1) * step
        values = {"first": first, "step": step, "count": count}
        reach = f"{first} {base.signed(step)[0]} {count - 1} \\cdot {abs(step)} = {last}"
        if ask == "term":
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(last),
                steps=f"Term number ${count}$ is ${count - 1}$ steps after the first: ${reach}$.",
            )
        if ask == "sum":
            total = count * (first + last) // 2
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(total),
                steps=f"The last of these terms is ${reach}$. The mean of the terms is the mean "
                f"of the first and the last, so the sum is $\\frac{{{count}}}{{2}} \\cdot "
                f"({first} {'-' if last < 0 else '+'} {abs(last)}) = {total}$.",
            )
        if ask == "length":
            second = first + step
            way = last - first
            return Drawn(
                ask=ask,
                values={"first": first, "second": second, "last": last},
                gold=gold.integer(count),
                steps=f"Each step is ${step}$, and the whole way is ${way}$. That makes "
                f"${way // step}$ steps and one term more.",
            )
        if ask == "between":
            low, high, count = base.distinct(rng, 3, 2, count + 4)
            low, high = sorted((low, high))
            left, right, found = (first + (place - 1) * step for place in (low, high, count))
            away = count - high
            return Drawn(
                ask=ask,
                values={"low": low, "high": high, "count": count, "left": left, "right": right},
                gold=gold.integer(found),
                steps=f"From term ${low}$ to term ${high}$ the change is ${right - left}$ in "
                f"${high - low}$ {'step' if high - low == 1 else 'steps'}, so the common "
                f"difference is ${step}$. Term ${count}$ lies ${abs(away)}$ "
                f"{'step' if abs(away) == 1 else 'steps'} "
                f"{'after' if away > 0 else 'before'} term ${high}$, so it is ${right} "
                f"{'+' if away * step > 0 else '-'} {abs(away)} \\cdot {abs(step)}$.",
            )
        quarter = Fraction(step, base.chosen(rng, (1, 2, 4)))
        end = first + int(4 * quarter)
        inner = [first + k * quarter for k in (1, 2, 3)]
        return Drawn(
            ask=ask,
            values={"left": first, "right": end},
            gold=gold.ordered(inner),
            steps=f"There are four steps from ${first}$ to ${end}$, so each of them is "
            f"${ratio_text(quarter)}$."
            if quarter.denominator == 4
            else f"There are four steps from ${first}$ to ${end}$, a change of ${end - first}$, "
            f"so each of them is ${quarter}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # One term after the other.
        if ask == "means":
            middle = Fraction(values["left"] + values["right"], 2)
            halves = [(middle + end) / 2 for end in (values["left"], values["right"])]
            return gold.ordered([halves[0], middle, halves[1]])
        if ask == "between":
            low, high, count = values["low"], values["high"], values["count"]
            step, rest = divmod(values["right"] - values["left"], high - low)
            if rest:
                return None
            term = values["left"]
            for _ in range(low, count):
                term += step
            for _ in range(count, low):
                term -= step
            return gold.integer(term)
        if ask == "length":
            terms = range(values["first"], values["last"], values["second"] - values["first"])
            fits = (values["last"] - values["first"]) % (values["second"] - values["first"]) == 0
            return gold.integer(len([*terms]) + 1) if fits else None
        term, total = values["first"], values["first"]
        if ask == "weeks":
            number = 1
            while total < values["total"]:
                term += values["step"]
                total += term
                number += 1
            return gold.integer(number)
        for _ in range(values["count"] - 1):
            term += values["step"]
            total += term
        return gold.integer(term if ask == "term" else total)
