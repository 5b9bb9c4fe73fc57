"""Linear recurrences."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class LinearRecurrence(Family):
    """A term of a sequence whose terms are made from those before, also to a modulus."""

    name = "linear-recurrence"
    tag = "sequences/recurrences"
    wordings = Wordings(
        first=(
            "A sequence has $a_1 = <start>$ and $a_{n+1} = <p>a_n <plus:text> <q>$ for "
            "$n \\ge 1$. Find $a_{<place>}$.",
            "The first term of a sequence is $a_1 = <start>$, and $a_{n+1} = <p>a_n <plus:text> "
            "<q>$ for all $n \\ge 1$. What is $a_{<place>}$?",
        ),
        second=(
            "A sequence has $a_1 = <start>$, $a_2 = <next>$ and "
            "$a_{n+2} = <p>a_{n+1} <plus:text> <q>a_n$ for $n \\ge 1$. Find $a_{<place>}$.",
            "Let $a_1 = <start>$ and $a_2 = <next>$, and let $a_{n+2} = <p>a_{n+1} <plus:text> "
            "<q>a_n$ for all $n \\ge 1$. What is $a_{<place>}$?",
        ),
        residue=(
            "A sequence has $a_1 = <start>$, $a_2 = <next>$ and "
            "$a_{n+2} = <p>a_{n+1} <plus:text> <q>a_n$ for $n \\ge 1$. What is $a_{<place>}$ "
            "modulo $<modulus>$?",
            "Let $a_1 = <start>$ and $a_2 = <next>$, and let $a_{n+2} = <p>a_{n+1} <plus:text> "
            "<q>a_n$ for all $n \\ge 1$. To which residue modulo $<modulus>$ is $a_{<place>}$ "
            "congruent?",
        ),
    )

    place: Ends = dial(5, 11, "largest place in the sequence", least=5, most=30)
    size: Ends = dial(2, 6, "largest coefficient", least=2, most=20)
    second: Ends = dial(0.3, 1, "share that need two terms before", least=0, most=1)
    modulus: Ends = dial(4, 9, "largest modulus", least=4, most=30)
    far: Ends = dial(100, 2000, "largest place with a modulus", least=60)
    residues: Ends = dial(0, 0.5, "share of these with a far place and a modulus", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        second = rng.random() < base.steady(self.second, difficulty)
        residue = second and rng.random() < base.steady(self.residues, difficulty)
        size = base.steady(self.size, difficulty)
        place = base.whole(rng, 5, base.steady(self.place, difficulty))
        start, following = base.whole(rng, 1, 5), base.whole(rng, 2, 7)
        if following == start:  # might stay the same
            following += 1
        p, q = base.whole(rng, 2, size), base.whole(rng, 2, size)
        sign = -1 if rng.random() < 0.4 else 1
        values = {"start": start, "p": p, "q": q, "plus": "-" if sign < 0 else "+", "place": place}
        if not second:
            if start * (p - 1) == q and sign < 0:  # would stay the same
                values["start"] = start = start + 2
            terms = [start]
            rows = []
            for index in range(2, place + 1):
                terms.append(p * terms[-1] + sign * q)
                rows.append(
                    f"$a_{{{index}}} = {p} \\cdot {_bracketed(terms[-2])} {values['plus']} {q} = "
                    f"{terms[-1]}$"
                )
            return Drawn(
                ask="first",
                values=values,
                gold=gold.integer(terms[-1]),
                steps=f"One term after the other: {', '.join(rows)}.",
            )
        values["next"] = following
        terms = [start, following]
        if residue:
            return self._residue(rng, values, sign * q, difficulty)
        rows = []
        for index in range(3, place + 1):
            terms.append(p * terms[-1] + sign * q * terms[-2])
            rows.append(
                f"$a_{{{index}}} = {p} \\cdot {_bracketed(terms[-2])} {values['plus']} {q} \\cdot "
                f"{_bracketed(terms[-3])} = {terms[-1]}$"
            )
        return Drawn(
            ask="second",
            values=values,
            gold=gold.integer(terms[-1]),
            steps=f"One term after the other: {', '.join(rows)}.",
        )

    def _residue(
        self, rng: random.Random, values: dict[str, Any], q: int, difficulty: float
    ) -> Drawn:
        modulus = base.whole(rng, 3, base.steady(self.modulus, difficulty))
        place = base.whole(rng, 50, base.slow_start(self.far, difficulty))
        apart = values["next"] - values["start"]
        while math.gcd(q, modulus) > 1 or apart % modulus == 0:
            modulus += 1  # all terms come again, and they are not all alike
        residues, before = _until_repeated(values, q, modulus)
        period = len(residues) - before
        same = place
        if place > len(residues):
            same = before + 1 + (place - 1 - before) % period
        return Drawn(
            ask="residue",
            values=values | {"modulus": modulus, "place": place},
            gold=gold.modular(residues[same - 1], modulus),
            steps=f"Modulo ${modulus}$ the terms are ${', '.join(map(str, residues))}$, and then "
            f"they repeat from term number ${before + 1}$ on with period ${period}$. Since "
            f"${place - same}$ is a multiple of ${period}$, term ${place}$ is the same as term "
            f"${same}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The power of a matrix, by squaring.
        if values["plus"] not in ("+", "-"):
            return None
        start, p, modulus = values["start"], values["p"], values.get("modulus", 0)
        q = values["q"] if values["plus"] == "+" else -values["q"]
        if ask == "first":  # on (a, 1)
            state, matrix = (start, 1), (p, q, 0, 1)
        else:  # on (next, before)
            state, matrix = (values["next"], start), (p, q, 1, 0)
        steps = values["place"] - (1 if ask == "first" else 2)
        while steps:
            if steps % 2:
                state = (
                    matrix[0] * state[0] + matrix[1] * state[1],
                    matrix[2] * state[0] + matrix[3] * state[1],
                )
            a, b, c, d = matrix
            matrix = (a * a + b * c, b * (a + d), c * (a + d), b * c + d * d)
            if modulus:
                state = (state[0] % modulus, state[1] % modulus)
                matrix = tuple(each % modulus for each in matrix)
            steps //= 2
        return gold.modular(state[0], modulus) if modulus else gold.integer(state[0])


def _bracketed(value: int) -> str:
    return f"({value})" if value < 0 else str(value)


def _until_repeated(values: Mapping[str, Any], q: int, modulus: int) -> tuple[list[int], int]:
    """The terms modulo a number until a pair of neighbours comes again, and the place of the
    first one of that pair."""
    seen: dict[tuple[int, int], int] = {}
    state = (values["start"] % modulus, values["next"] % modulus)
    residues: list[int] = []
    while state not in seen:
        seen[state] = len(residues)
        residues.append(state[0])
        state = (state[1], (values["p"] * state[1] + q * state[0]) % modulus)
    return residues, seen[state]
