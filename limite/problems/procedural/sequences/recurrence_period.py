"""Periods of recurrences to a modulus."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.number_theory.factors import factorise
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class RecurrencePeriod(Family):
    """After how many terms a recurrence repeats its remainders."""

    name = "recurrence-period"
    tag = "sequences/recurrences"
    wordings = Wordings(
        fibonacci=(
            "The Fibonacci numbers are $F_0 = 0$, $F_1 = 1$ and $F_{n+2} = F_{n+1} + F_n$. Find "
            "the smallest positive integer $t$ such that $F_{n+t} \\equiv F_n \\pmod{<modulus>}$ "
            "for all $n \\ge 0$.",
            "What is the period of the Fibonacci sequence $0, 1, 1, 2, 3, 5, \\dots$ modulo "
            "$<modulus>$?",
        ),
        general=(
            "A sequence has $a_0 = <start>$, $a_1 = <next>$ and $a_{n+2} = <p>a_{n+1} + <q>a_n$. "
            "Find the smallest positive integer $t$ such that "
            "$a_{n+t} \\equiv a_n \\pmod{<modulus>}$ for all $n \\ge 0$.",
            "Let $a_0 = <start>$, $a_1 = <next>$ and $a_{n+2} = <p>a_{n+1} + <q>a_n$ for all "
            "$n \\ge 0$. What is the period of this sequence modulo $<modulus>$?",
        ),
        zero=(
            "The Fibonacci numbers are $F_1 = F_2 = 1$ and $F_{n+2} = F_{n+1} + F_n$. Find the "
            "smallest positive integer $n$ for which $F_n$ is divisible by $<modulus>$.",
            "Which is the first Fibonacci number $F_n$ with $n \\ge 1$ that is a multiple of "
            "$<modulus>$, if $F_1 = F_2 = 1$? Give its index $n$.",
        ),
    )

    modulus: Ends = dial(7, 60, "largest modulus", least=6, most=150)
    general: Ends = dial(0.4, 0.8, "share of other sequences than Fibonacci's", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        general = rng.random() < base.steady(self.general, difficulty)
        modulus = base.whole(rng, 3, base.slow_start(self.modulus, difficulty))
        if not general:
            ask = base.chosen(rng, ("fibonacci", "zero"))
            terms = [0, 1]
            while terms[-1] != 0 or (ask == "fibonacci" and len(terms) < 3):
                terms.append((terms[-1] + terms[-2]) % modulus)
                if ask == "zero" and terms[-1] == 0:
                    break
            if ask == "zero":
                n = len(terms) - 1
                return Drawn(
                    ask=ask,
                    values={"modulus": modulus},
                    gold=gold.integer(n),
                    steps=f"Modulo ${modulus}$ the Fibonacci numbers are "
                    f"${', '.join(map(str, terms[1:]))}$, and the first zero is number ${n}$.",
                )
            start, following, p, q = 0, 1, 1, 1
            values: dict[str, Any] = {"modulus": modulus}
        else:
            ask = "general"
            start, following = base.whole(rng, 0, 3), base.whole(rng, 1, 5)
            p, q = base.whole(rng, 2, 5), base.whole(rng, 2, 6)
            while math.gcd(q, modulus) > 1 or (p + q - 1) % modulus == 0:
                modulus += 1
            if start == 0 and following % modulus == 0:
                following = 1
            values = {"start": start, "next": following, "p": p, "q": q, "modulus": modulus}
        state = first = (start % modulus, following % modulus)
        period = 0
        residues: list[int] = []
        while period == 0 or state != first:
            if len(residues) < 24:
                residues.append(state[0])
            state = (state[1], (p * state[1] + q * state[0]) % modulus)
            period += 1
        listing = ", ".join(map(str, residues)) + (", \\dots" if period > 24 else "")
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.integer(period),
            steps=f"Modulo ${modulus}$ the terms are ${listing}$. The pair $({first[0]}, "
            f"{first[1]})$ of neighbours with which the sequence begins occurs next at terms "
            f"${period}$ and ${period + 1}$, and from there on everything repeats.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        modulus = values["modulus"]
        if ask == "zero":
            above, below, n = 1, 1, 2  # the numbers themselves
            while above % modulus:
                above, below, n = above + below, above, n + 1
            return gold.integer(1 if modulus == 1 else n)
        p, q = values.get("p", 1), values.get("q", 1)
        start = (values.get("start", 0) % modulus, values.get("next", 1) % modulus)
        if math.gcd(q, modulus) > 1:
            return None
        # An exponent that brings every start back, less the primes that are not needed.
        bound = 1
        for prime, exponent in factorise(modulus).items():
            bound = math.lcm(bound, prime**exponent * (prime * prime - 1))
        if _after(start, p, q, modulus, bound) != start:
            return None
        for prime in factorise(bound):
            while bound % prime == 0 and _after(start, p, q, modulus, bound // prime) == start:
                bound //= prime
        return gold.integer(bound)


def _after(start: tuple[int, int], p: int, q: int, modulus: int, steps: int) -> tuple[int, int]:
    """The pair of neighbours ``steps`` later."""
    u, v = start
    a, b, c, d = 0, 1, q, p
    while steps:
        if steps % 2:
            u, v = (a * u + b * v) % modulus, (c * u + d * v) % modulus
        a, b, c, d = (
            (a * a + b * c) % modulus,
            b * (a + d) % modulus,
            c * (a + d) % modulus,
            (b * c + d * d) % modulus,
        )
        steps //= 2
    return u, v
