"""The next term of a sequence."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class NextTerm(Family):
    """A term of a sequence that follows a polynomial, found by differences."""

    name = "next-term"
    tag = "sequences/differences"
    wordings = Wordings(
        next=(
            "The terms of a sequence are the values of a polynomial of degree at most $<degree>$ "
            "at $1, 2, 3, \\dots$. It begins with $<terms:integers>$. What is the next term?",
            "The sequence $<terms:integers>, \\dots$ is given by $a_n = f(n)$ with a polynomial "
            "$f$ of degree at most $<degree>$. Find the next term.",
        ),
        later=(
            "The terms of a sequence are the values of a polynomial of degree at most $<degree>$ "
            "at $1, 2, 3, \\dots$. It begins with $<terms:integers>$. Find its term number "
            "$<place>$.",
            "The sequence $<terms:integers>, \\dots$ is given by $a_n = f(n)$ for $n \\ge 1$ with "
            "a polynomial $f$ of degree at most $<degree>$. What is $a_{<place>}$?",
        ),
        missing=(
            "The terms of a sequence are the values of a polynomial of degree at most $<degree>$ "
            "at $1, 2, 3, \\dots$. One term is missing: $<left:integers>, \\square, "
            "<right:integers>$. Find it.",
            "The sequence $<left:integers>, \\square, <right:integers>$ is given by $a_n = f(n)$ "
            "for $n = 1, 2, 3, \\dots$ with a polynomial $f$ of degree at most $<degree>$. Which "
            "number belongs in the place of the square?",
        ),
    )

    degree: Ends = dial(1, 4, "largest degree", least=1, most=5)
    size: Ends = dial(4, 9, "largest coefficient", least=2, most=50)
    later: Ends = dial(0.2, 0.7, "share that asks for another term than the next", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        most = base.steady(self.degree, difficulty)
        degree = base.whole(rng, 1 + (difficulty > 0.5 and most >= 3), most)
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        other = rng.random() < base.steady(self.later, difficulty)
        # By its first differences: the table is built upwards from its last row.
        heads = [base.whole(rng, -size, size) for _ in range(degree)]
        top = base.whole(rng, 1, size)
        heads.append(-top if rng.random() < 0.3 else top)
        count = degree + 2
        place = count + 1
        if other and rng.random() < 0.5:
            place = count + base.whole(rng, 2, 6)
        table = _table(heads, place)
        terms = table[0]
        shown = table[1:]
        rows = "; ".join(
            f"${', '.join(map(str, row[: count - 1 - index]))}$" for index, row in enumerate(shown)
        )
        text = (
            f"The differences of the terms, the differences of these and so on are {rows}. The "
            "last row is constant."
        )
        if other and place == count + 1:
            gap = base.whole(rng, 2, count)
            left, right = terms[: gap - 1], terms[gap : count + 1]
            return Drawn(
                ask="missing",
                values={"left": left, "right": right, "degree": degree},
                gold=gold.integer(terms[gap - 1]),
                steps=_missing_steps(terms[: count + 1], gap, degree),
            )
        added = ", ".join(map(str, terms[count:place]))
        return Drawn(
            ask="next" if place == count + 1 else "later",
            values={"terms": terms[:count], "degree": degree, "place": place},
            gold=gold.integer(terms[place - 1]),
            steps=f"{text} Continuing it and adding upwards gives the next "
            f"{'term' if place == count + 1 else 'terms'} ${added}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # The polynomial itself, through as many points as its degree needs.
        if ask == "missing":
            left, right = values["left"], values["right"]
            place = len(left) + 1
            points = [(n + 1, each) for n, each in enumerate(left)]
            points += [(place + 1 + n, each) for n, each in enumerate(right)]
        else:
            points = [(n + 1, each) for n, each in enumerate(values["terms"])]
            place = values.get("place", len(points) + 1)
        if len(points) <= values["degree"]:
            return None
        found = polynomials.through(points)
        if polynomials.degree(found) > values["degree"]:
            return None
        term = polynomials.value(found, place)
        return gold.integer(term) if isinstance(term, int) else None


def _table(heads: list[int], length: int) -> list[list[int]]:
    """Rows of differences with the given first entries, the last row constant."""
    row = [heads[-1]] * length
    rows = [row]
    for head in reversed(heads[:-1]):
        above = [head]
        for difference in row[: length - 1]:
            above.append(above[-1] + difference)
        row = above
        rows.append(row)
    return rows[::-1]


def _missing_steps(terms: list[int], gap: int, degree: int) -> str:
    """By the vanishing difference of one order more than the degree."""
    order = degree + 1
    start = min(max(0, gap - 1 - order), len(terms) - order - 1)
    window = terms[start : start + order + 1]
    parts, dot = [], " \\cdot "
    for index, term in enumerate(window):
        factor = (-1) ** (order - index) * math.comb(order, index)
        unknown = start + index == gap - 1
        sign = "-" if factor < 0 else "+"
        size = "" if unknown and abs(factor) == 1 else str(abs(factor))
        value = "x" if unknown else f"({term})" if term < 0 else str(term)
        parts.append(f"{sign} {size}{value if unknown else dot + value}")
    text = " ".join(parts)
    text = text.removeprefix("+ ") if text.startswith("+") else "-" + text.removeprefix("- ")
    return (
        f"The differences of order {order} of a polynomial of degree at most {degree} are zero. "
        f"For ${order + 1}$ neighbouring terms, with $x$ for the missing one, this says "
        f"${text} = 0$."
    )
