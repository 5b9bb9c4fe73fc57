"""Maps that are applied again and again."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class IteratedMaps(Family):
    """Where a rule leads that is applied again and again: halving, digits, residues."""

    name = "iterated-maps"
    tag = "sequences/iteration"
    wordings = Wordings(
        collatz=(
            "Start with $<start>$. An even number is halved, an odd number $n$ is replaced by "
            "$3n + 1$, again and again. After how many steps is $1$ reached for the first time?",
            "A number is changed by this rule: if it is even, it is halved; if it is odd, it is "
            "multiplied by 3 and then 1 is added. How many times must the rule be used on "
            "$<start>$ until the result is $1$ for the first time?",
        ),
        peak=(
            "Start with $<start>$. An even number is halved, an odd number $n$ is replaced by "
            "$3n + 1$, again and again until $1$ is reached. What is the largest number that "
            "occurs, the start included?",
            "Beginning with $<start>$, even numbers are halved and odd numbers $n$ become "
            "$3n + 1$, until the result is $1$. Find the largest of all these numbers, the start "
            "among them.",
        ),
        squares=(
            "A positive integer is replaced by the sum of the squares of its decimal digits, again "
            "and again. Starting with $<start>$, which number is there after $<steps>$ steps?",
            "Let $s(n)$ be the sum of the squares of the decimal digits of $n$. Apply $s$ to "
            "$<start>$, then to the result, and so on, $<steps>$ times in all. What is the final "
            "result?",
        ),
        affine=(
            "Let $f(x)$ be the remainder of $<a>x + <b>$ on division by $<modulus>$. Starting with "
            "$x = <start>$, $f$ is applied $<steps>$ times, each time to the result of the time "
            "before. What is the final result?",
            "A sequence has $x_0 = <start>$, and $x_{n+1}$ is the remainder of $<a>x_n + <b>$ on "
            "division by $<modulus>$. Find $x_{<steps>}$.",
        ),
        look=(
            "In a sequence, each term describes the one before by counting equal digits from left "
            "to right: $1211$ is read as one 1, one 2, two 1s and becomes $111221$. The first term "
            "is $<start>$. What is term number $<place>$?",
            "A number is read aloud by counting runs of equal digits, and what is said is written "
            "in digits: $1211$ (one 1, one 2, two 1s) becomes $111221$. Beginning with $<start>$ "
            "as the first term, this is done again and again. Find term number $<place>$.",
        ),
    )

    start: Ends = dial(20, 300, "largest number to start with", least=10, most=500)
    steps: Ends = dial(4, 900, "most steps of a rule that is followed far", least=3, most=100_000)
    terms: Ends = dial(4, 7, "most terms that are read aloud", least=3, most=12)
    modulus: Ends = dial(12, 42, "largest modulus", least=8, most=200)
    kinds: Ends = dial(3, 5, "how many kinds of rule are used", most=5)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("squares", "look", "collatz", "peak", "affine")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        start = base.whole(rng, 5, base.steady(self.start, difficulty))
        far = base.whole(rng, 3, base.slow_start(self.steps, difficulty))
        if ask in ("collatz", "peak"):
            if start & (start - 1) == 0:
                start += 1
            chain = _to_one(start)
            for _ in range(3):
                if ask == "collatz" or max(chain) != 9232:
                    break  # so many ways lead over 9232 that a guess would often be right
                start -= base.whole(rng, 1, start // 4)
                start += start & (start - 1) == 0
                chain = _to_one(start)
            answer = len(chain) - 1 if ask == "collatz" else max(chain)
            return Drawn(
                ask=ask,
                values={"start": start},
                gold=gold.integer(answer),
                steps=f"The numbers are ${', '.join(map(str, chain))}$.",
            )
        if ask == "look":
            start, place = (
                base.whole(rng, 1, 99),
                base.whole(rng, 3 + round(2 * difficulty), base.steady(self.terms, difficulty)),
            )
            rows = [str(start)]
            while len(rows) < place:
                rows.append(_described(rows[-1]))
            return Drawn(
                ask=ask,
                values={"start": start, "place": place},
                gold=gold.integer(int(rows[-1])),
                steps=f"The terms are ${', '.join(rows)}$.",
            )
        if ask == "squares":
            start += 10 * base.whole(rng, 1, 90)
            chain = [start]
            while chain.count(chain[-1]) < 2 and len(chain) <= far:
                chain.append(sum(int(digit) ** 2 for digit in str(chain[-1])))
            values = {"start": start, "steps": far}
            modulus = 0
        else:
            modulus = base.whole(rng, 7, base.steady(self.modulus, difficulty))
            a, b = base.whole(rng, 2, modulus - 2), base.whole(rng, 1, modulus - 1)
            start %= modulus
            if (a * start + b) % modulus == start:  # would stay where it is
                b = b % (modulus - 1) + 1
            far += 5
            chain = [start]
            while chain.count(chain[-1]) < 2 and len(chain) <= far:
                chain.append((a * chain[-1] + b) % modulus)
            values = {"start": start, "steps": far, "a": a, "b": b, "modulus": modulus}
        path = " \\to ".join(map(str, chain))
        if chain.count(chain[-1]) < 2:
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.integer(chain[far]),
                steps=f"Step by step: ${path}$.",
            )
        begin = chain.index(chain[-1])
        period = len(chain) - 1 - begin
        same = begin + (far - begin) % period if far >= begin else far
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(chain[same]),
            steps=f"Step by step: ${path}$. From ${chain[-1]}$ on this repeats with period "
            f"${period}$, and ${far} - {same}$ is a multiple of it, so after ${far}$ steps the "
            f"number is the same as after ${same}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        start = values["start"]
        if ask == "affine":
            # The power of a map by squaring: x -> p x + q.
            a, b, modulus, steps = values["a"], values["b"], values["modulus"], values["steps"]
            p, q = 1, 0
            while steps:
                if steps % 2:
                    p, q = a * p % modulus, (a * q + b) % modulus
                a, b = a * a % modulus, (a * b + b) % modulus
                steps //= 2
            return gold.integer((p * start + q) % modulus)
        if ask == "look":
            term = str(start)
            for _ in range(values["place"] - 1):
                term = "".join(f"{len(each[0])}{each[1]}" for each in _RUNS.findall(term))
            return gold.integer(int(term))
        if ask == "squares":
            for _ in range(values["steps"]):
                total = 0
                while start:
                    start, digit = divmod(start, 10)
                    total += digit * digit
                start = total
            return gold.integer(start)
        # All halvings of an even number at once.
        count, largest = 0, start
        while start > 1:
            twos = (start & -start).bit_length() - 1
            start >>= twos
            count += twos
            if start > 1:
                start, count = 3 * start + 1, count + 1
                largest = max(largest, start)
        return gold.integer(count if ask == "collatz" else largest)


_RUNS = re.compile(r"((\d)\2*)")


def _described(digits: str) -> str:
    text, run = "", 1
    for index, digit in enumerate(digits):
        if digits[index + 1 : index + 2] == digit:
            run += 1
        else:
            text += f"{run}{digit}"
            run = 1
    return text


def _to_one(start: int) -> list[int]:
    chain = [start]
    while chain[-1] != 1:
        last = chain[-1]
        chain.append(3 * last + 1 if last % 2 else last // 2)
    return chain
