"""Two sequences that make each other."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, matrix_text


@attrs.frozen(kw_only=True)
class CoupledRecurrences(Family):
    """Two sequences whose next terms are made from both, step by step or by a matrix."""

    name = "coupled-recurrences"
    tag = "sequences/recurrences"
    wordings = Wordings(
        pair=(
            "Two sequences have $a_0 = <u>$, $b_0 = <v>$, $a_{n+1} = <p>a_n <plus:text> <q>b_n$ "
            "and $b_{n+1} = <r>a_n + <s>b_n$. Find $(a_{<place>}, b_{<place>})$.",
            "Let $a_0 = <u>$ and $b_0 = <v>$, and let $a_{n+1} = <p>a_n <plus:text> <q>b_n$ and "
            "$b_{n+1} = <r>a_n + <s>b_n$ for all $n \\ge 0$. Give the pair "
            "$(a_{<place>}, b_{<place>})$.",
        ),
        matrix=(
            "Two sequences satisfy $a_{n+1} = <p>a_n <plus:text> <q>b_n$ and "
            "$b_{n+1} = <r>a_n + <s>b_n$. Find the matrix $M$ with "
            "$\\left(\\begin{smallmatrix} a_{<place>} \\\\ b_{<place>} \\end{smallmatrix}\\right) "
            "= M \\left(\\begin{smallmatrix} a_0 \\\\ b_0 \\end{smallmatrix}\\right)$ for all "
            "starting values.",
            "Whatever $a_0$ and $b_0$ are, let $a_{n+1} = <p>a_n <plus:text> <q>b_n$ and "
            "$b_{n+1} = <r>a_n + <s>b_n$. Find the matrix that takes the column of $a_0$ and $b_0$ "
            "to the column of $a_{<place>}$ and $b_{<place>}$.",
        ),
        single=(
            "Two sequences satisfy $a_{n+1} = <p>a_n <plus:text> <q>b_n$ and "
            "$b_{n+1} = <r>a_n + <s>b_n$. Then $a_{n+2} = ca_{n+1} + da_n$ holds for all $n$ with "
            "numbers $c$ and $d$ that do not depend on the starting values. Find $(c, d)$.",
            "For all starting values, sequences with $a_{n+1} = <p>a_n <plus:text> <q>b_n$ and "
            "$b_{n+1} = <r>a_n + <s>b_n$ satisfy a recurrence $a_{n+2} = ca_{n+1} + da_n$. Which "
            "pair $(c, d)$ of numbers makes it right?",
        ),
    )

    place: Ends = dial(2, 7, "largest place in the sequences", least=2, most=30)
    size: Ends = dial(3, 6, "largest coefficient", least=3, most=30)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        ask = base.chosen(rng, ("pair", "pair", "matrix", "single"))
        size = base.steady(self.size, difficulty)
        place = base.whole(rng, 2, base.steady(self.place, difficulty))
        p, q, r, s = (base.whole(rng, 2, size) for _ in "pqrs")
        sign = -1 if rng.random() < 0.35 else 1
        values: dict[str, Any] = {"p": p, "q": q, "r": r, "s": s, "plus": "-" if sign < 0 else "+"}
        q *= sign
        if ask == "single":
            c, d = p + s, q * r - p * s
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.ordered((c, d), ("c", "d")),
                steps=f"$a_{{n+2}} = {p}a_{{n+1}} {values['plus']} {abs(q)}b_{{n+1}}$ and "
                f"$b_{{n+1}} = {r}a_n + {s}b_n$, where ${values['plus'].replace('+', '')}"
                f"{abs(q)}b_n = a_{{n+1}} - {p}a_n$. So $a_{{n+2}} = {p}a_{{n+1}} "
                f"{values['plus']} {abs(q)} \\cdot {r}a_n + {s}(a_{{n+1}} - {p}a_n)$.",
            )
        if ask == "matrix":
            place = min(place, 4)
            power = ((p, q), (r, s))
            rows = []
            for k in range(2, place + 1):
                power = _product(((p, q), (r, s)), power)
                rows.append(f"$A^{k} = {matrix_text(power)}$")
            return Drawn(
                ask=ask,
                values=values | {"place": place},
                gold=gold.matrix(power),
                steps=f"Each step is multiplication by $A = {matrix_text(((p, q), (r, s)))}$, so "
                f"$M = A^{place}$: {', '.join(rows)}.",
            )
        u, v = base.whole(rng, 1, 5), base.whole(rng, 1, 5)
        a, b, rows = u, v, []
        for _ in range(place):
            a, b = p * a + q * b, r * a + s * b
            rows.append(f"$({a}, {b})$")
        return Drawn(
            ask=ask,
            values=values | {"u": u, "v": v, "place": place},
            gold=gold.ordered((a, b)),
            steps=f"From $({u}, {v})$ the pairs are {', '.join(rows)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By the recurrence that both sequences satisfy, or fitted to a few terms.
        if values["plus"] not in ("+", "-"):
            return None
        p, r, s = values["p"], values["r"], values["s"]
        q = values["q"] if values["plus"] == "+" else -values["q"]
        if ask == "single":
            first, second = (
                [_column(p, q, r, s, start, k)[0] for k in (0, 1, 2)] for start in ((1, 0), (0, 1))
            )
            # c a_1 + d a_0 = a_2 for both starts.
            determinant = first[1] * second[0] - second[1] * first[0]
            if determinant == 0:
                return None
            c, left = divmod(first[2] * second[0] - second[2] * first[0], determinant)
            d, more = divmod(first[1] * second[2] - second[1] * first[2], determinant)
            return None if left or more else gold.ordered((c, d), ("c", "d"))
        place = values["place"]
        if ask == "matrix":
            columns = [_column(p, q, r, s, start, place) for start in ((1, 0), (0, 1))]
            return gold.matrix([[column[row] for column in columns] for row in (0, 1)])
        return gold.ordered(_column(p, q, r, s, (values["u"], values["v"]), place))


def _product(
    left: tuple[tuple[int, int], tuple[int, int]], right: tuple[tuple[int, int], tuple[int, int]]
) -> tuple[tuple[int, int], tuple[int, int]]:
    (a, b), (c, d) = left
    (e, f), (g, h) = right
    return ((a * e + b * g, a * f + b * h), (c * e + d * g, c * f + d * h))


def _column(p: int, q: int, r: int, s: int, start: tuple[int, int], place: int) -> tuple[int, int]:
    """The pair at a place: each sequence by itself, with the trace and the determinant."""
    pairs = [start, (p * start[0] + q * start[1], r * start[0] + s * start[1])]
    while len(pairs) <= place:
        (a, b), (c, d) = pairs[-2:]
        pairs.append(((p + s) * c - (p * s - q * r) * a, (p + s) * d - (p * s - q * r) * b))
    return pairs[place]
