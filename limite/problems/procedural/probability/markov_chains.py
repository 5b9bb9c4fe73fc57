"""Chains of states with given chances of change."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.probability.linear import solved
from limite.problems.procedural.wording import Wordings, matrix_text, ratio_text

_CHAIN = (
    "A chain moves between states $1, 2, \\dots$ in steps. The entry in row $i$ and column $j$ of "
    "$$<table:matrix>$$ is the probability of going from state $i$ to state $j$ in one step."
)


@attrs.frozen(kw_only=True)
class MarkovChains(Family):
    """Where a chain of states is after some steps, and in the long run."""

    name = "markov-chains"
    tag = "probability/markov-chains"
    wordings = Wordings(
        words={"thing": ("bicycle", "van", "boat", "scooter")},
        after=(
            f"{_CHAIN} It starts in state $<start>$. What is the probability that it is in state "
            "$<end>$ after $<steps>$ steps?",
        ),
        spread=(
            f"{_CHAIN} It starts in state $<start>$. With which probabilities is it in states $1, "
            "2, \\dots$ after $<steps>$ steps? Give them in this order as a tuple.",
        ),
        power=(
            f"{_CHAIN} Find the matrix whose entries are the probabilities of going from state "
            "$i$ to state $j$ in $<steps>$ steps.",
        ),
        lasting=(
            f"{_CHAIN} Find the probabilities of the states $1, 2, \\dots$ that stay the same from "
            "step to step. Give them in this order as a tuple.",
            "Each day a rented <thing> is at one of several stations, numbered $1, 2, \\dots$. The "
            "entry in row $i$ and column $j$ of $$<table:matrix>$$ is the probability that it goes "
            "from station $i$ to station $j$ until the next day. On what share of the days is it "
            "at each station in the long run? Give them in the order of the stations as a tuple.",
        ),
    )

    steps: Ends = dial(2, 4, "how many steps", least=2, most=8)
    states: Ends = dial(2, 3, "how many states", least=2, most=3)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.whole_near(rng, base.steady(self.states, difficulty))
        steps = base.whole_near(rng, base.steady(self.steps, difficulty))
        parts = base.whole(rng, 3, 5)
        if size == 3:
            parts += 1
        rows = []
        for _ in range(size):
            cuts = sorted(base.distinct(rng, size - 1, 1, parts - 1))
            rows.append([b - a for a, b in zip([0, *cuts], [*cuts, parts], strict=True)])
        if all(row == rows[0] for row in rows):
            rows[0] = rows[0][1:] + rows[0][:1] if len(set(rows[0])) > 1 else rows[0]
            if all(row == rows[0] for row in rows):
                rows[0] = [parts - size + 1] + [1] * (size - 1)
                rows[1] = [1] * (size - 1) + [parts - size + 1]
        table = [[Fraction(entry, parts) for entry in row] for row in rows]
        ask = base.rising(
            rng, ("after", "after", "spread", "lasting", "lasting", "power"), difficulty
        )
        if ask == "lasting":
            return _lasting(table, rows)
        start, end = base.whole(rng, 1, size), base.whole(rng, 1, size)
        values = {"table": table, "start": start, "end": end, "steps": steps}
        if ask == "power":
            steps = min(steps, 3 if size == 2 else 2)
            values["steps"] = steps
            power = rows
            for _ in range(steps - 1):
                power = _times(power, rows)
            result = [[Fraction(entry, parts**steps) for entry in row] for row in power]
            return Drawn(
                ask=ask,
                values=values,
                gold=gold.matrix(result),
                steps=f"Write the matrix as $\\frac{{1}}{{{parts}}} {matrix_text(rows)}$ and "
                f"multiply it with itself: the whole numbers become "
                f"${matrix_text(power)}$, over ${parts}^{{{steps}}} = {parts**steps}$.",
            )
        weights, lines = [int(each == start - 1) for each in range(size)], []
        for count in range(1, steps + 1):
            weights = _times([weights], rows)[0]
            lines.append(f"$\\frac{{1}}{{{parts**count}}} ({', '.join(map(str, weights))})$")
        found = [Fraction(weight, parts**steps) for weight in weights]
        return Drawn(
            ask=ask,
            values=values,
            gold=gold.ordered(found) if ask == "spread" else gold.rational(found[end - 1]),
            steps=f"Multiply the row of probabilities by the matrix, step by step, over the common "
            f"denominator: {', '.join(lines)}.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        table = values["table"]
        size = len(table)
        bottom = 1
        for row in table:
            if sum(row) != 1:
                return None
            for entry in row:
                bottom = max(bottom, entry.denominator)
        if any(bottom % entry.denominator for row in table for entry in row):
            bottom = 60 * bottom
        rows = [[int(entry * bottom) for entry in row] for row in table]
        if ask == "lasting":
            # Equations of balance, and the sum of all is 1.
            balance = [
                [rows[j][i] - (bottom if i == j else 0) for j in range(size)] + [0]
                for i in range(size - 1)
            ]
            found = solved([*balance, [1] * (size + 1)])
            return gold.ordered(found) if found else None
        # From the end: for each start, the weight of all ways on to the state at the end.
        steps = values["steps"]
        columns = []
        for end in range(size):
            weights = [int(each == end) for each in range(size)]
            for _ in range(steps):
                weights = [
                    sum(entry * weight for entry, weight in zip(row, weights, strict=True))
                    for row in rows
                ]
            columns.append([Fraction(weight, bottom**steps) for weight in weights])
        if ask == "power":
            return gold.matrix([[columns[j][i] for j in range(size)] for i in range(size)])
        start = values["start"] - 1
        if ask == "spread":
            return gold.ordered([column[start] for column in columns])
        return gold.rational(columns[values["end"] - 1][start])


def _lasting(table: Sequence[Sequence[Fraction]], rows: Sequence[Sequence[int]]) -> Drawn:
    """By the trees of ways that lead to each state."""
    size = len(rows)
    if size == 2:
        trees = [rows[1][0], rows[0][1]]
        why = (
            f"In the long run as many steps lead from state $1$ to $2$ as back, so the "
            f"probabilities are as ${ratio_text(table[1][0])}$ to ${ratio_text(table[0][1])}$"
        )
    else:
        trees = []
        for root in range(3):
            one, other = (root + 1) % 3, (root + 2) % 3
            trees.append(
                rows[one][root] * rows[other][root]
                + rows[one][other] * rows[other][root]
                + rows[other][one] * rows[one][root]
            )
        why = (
            f"With all entries over the same denominator, add for each state the products along "
            f"the three trees that lead to it from the other two: for state $1$, "
            f"${rows[1][0]} \\cdot {rows[2][0]} + {rows[1][2]} \\cdot {rows[2][0]} + "
            f"{rows[2][1]} \\cdot {rows[1][0]} = {trees[0]}$, and likewise ${trees[1]}$ and "
            f"${trees[2]}$. The probabilities are in this ratio"
        )
    total = sum(trees)
    return Drawn(
        ask="lasting",
        values={"table": table},
        gold=gold.ordered([Fraction(tree, total) for tree in trees]),
        steps=f"{why}, and they add up to $1$.",
    )


def _times(left: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> list[list[int]]:
    columns = list(zip(*right, strict=True))
    return [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in left
    ]
