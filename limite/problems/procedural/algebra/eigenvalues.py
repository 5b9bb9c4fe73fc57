"""Eigenvalues of matrices with whole ones."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import factor
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number, latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class Eigenvalues(Family):
    """The set of all eigenvalues of a matrix with two or three rows."""

    name = "eigenvalues"
    tag = "algebra/matrices"
    wordings = Wordings(
        "Find the set of all eigenvalues of the matrix $<a:matrix>$.",
        "Let $A = <a:matrix>$. For which real numbers $\\lambda$ is $A - \\lambda I$ not "
        "invertible? Answer with the set of all of them.",
    )

    size: Ends = dial(2, 3, "rows and columns", least=2, most=3)
    value: Ends = dial(4, 8, "largest eigenvalue", least=3, most=50)
    mixing: Ends = dial(1, 3, "how often rows and columns are mixed", most=6)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        largest = int(base.steady(self.value, difficulty))
        values = [base.whole(rng, 0, 2 * largest) - largest for _ in range(size)]
        if len(set(values)) == 1:
            values[0] += 1
        # From a diagonal matrix by adding rows to others and taking columns away: similar to it.
        a = [[values[row] * (row == column) for column in range(size)] for row in range(size)]
        mixes = base.whole_near(rng, base.steady(self.mixing, difficulty)) + 1
        first = base.whole(rng, 0, size - 1)
        for turn in range(mixes + 2 * size):
            if turn >= mixes and not _triangular(a):
                break
            into, out = (first + turn) % size, (first + turn + 1) % size
            times = -1 if rng.random() < 0.5 else 1
            for column in range(size):
                a[into][column] += times * a[out][column]
            for row in range(size):
                a[row][out] -= times * a[row][into]
        characteristic = polynomials.with_roots(values)
        shown = latex(characteristic, "t")
        product = "".join(factor(each, "t") for each in sorted(values, key=lambda v: (v != 0, v)))
        return Drawn(
            values={"a": a},
            gold=gold.finite_set(values),
            steps=f"{_steps(a)} So the eigenvalues are the zeros of ${shown} = {product}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Newton's identities give the characteristic polynomial from the traces of powers.
        a = exact.plainly(values["a"])
        size = len(a)
        power: list[list[Number]] = a
        traces = []
        for _ in range(size):
            traces.append(sum((power[row][row] for row in range(size)), 0 * a[0][0]))
            power = exact.multiplied(power, a)
        elementary: list[Number] = [1]
        for k in range(1, size + 1):
            total: Number = 0
            for j in range(1, k + 1):
                total += (-1) ** (j - 1) * elementary[k - j] * traces[j - 1]
            elementary.append(polynomials.quotient(total, k))
        terms = polynomials.polynomial((-1) ** k * elementary[k] for k in range(size, -1, -1))
        roots = exact.rational_roots(terms)
        return gold.finite_set(roots) if len(roots) == size else None


def _triangular(a: list[list[int]]) -> bool:
    """Whether the eigenvalues can be read off the diagonal."""
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    return all(not a[i][j] for i, j in pairs) or all(not a[j][i] for i, j in pairs)


def _steps(a: list[list[int]]) -> str:
    """The coefficients of the characteristic polynomial from the matrix."""
    size = len(a)
    trace = sum(a[place][place] for place in range(size))
    determinant = exact.determinant(a)
    if size == 2:
        return f"The trace is ${trace}$ and the determinant is ${determinant}$."
    minors = sum(a[i][i] * a[j][j] - a[i][j] * a[j][i] for i in range(size) for j in range(i))
    return (
        f"The trace is ${trace}$, the sum of the principal minors with two rows is ${minors}$ and "
        f"the determinant is ${determinant}$."
    )
