"""Equations of parabolas with a vertical axis."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.core.types import Answer
from limite.problems.procedural import base, polynomials
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import linear, nonzero
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Number, Polynomial, latex
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class ParabolaEquation(Family):
    """The equation of a parabola from its zeros, its vertex or three of its points."""

    name = "parabola-equation"
    tag = "algebra/quadratics"
    wordings = Wordings(
        zeros=(
            "A parabola with a vertical axis meets the $x$-axis at $x = <p>$ and $x = <q>$ and "
            "passes through $(<r>, <s>)$. Find its equation in $x$ and $y$.",
            "Which equation in $x$ and $y$ has the parabola through $(<p>, 0)$, $(<q>, 0)$ and "
            "$(<r>, <s>)$ whose axis is vertical?",
        ),
        vertex=(
            "A parabola with a vertical axis has its vertex at $(<p>, <q>)$ and passes through "
            "$(<r>, <s>)$. Find its equation in $x$ and $y$.",
            "Which equation in $x$ and $y$ has the parabola through $(<r>, <s>)$ whose vertex is "
            "$(<p>, <q>)$ and whose axis is vertical?",
        ),
        points=(
            "A parabola with a vertical axis passes through $(<p>, <q>)$, $(<r>, <s>)$ and "
            "$(<t>, <u>)$. Find its equation in $x$ and $y$.",
            "Which equation in $x$ and $y$ describes the parabola with a vertical axis through "
            "$(<p>, <q>)$, $(<r>, <s>)$ and $(<t>, <u>)$?",
        ),
    )

    size: Ends = dial(4, 9, "largest coordinate drawn", least=3, most=50)
    lead: Ends = dial(1, 4, "largest leading coefficient", most=20)
    points: Ends = dial(0, 0.6, "share given by three points", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = int(base.steady(self.size, difficulty))
        lead = nonzero(rng, base.steady(self.lead, difficulty))
        if rng.random() < base.steady(self.points, difficulty):
            p, r, t = sorted(base.distinct(rng, 3, -4, 4))
            terms: Polynomial = (nonzero(rng, size), nonzero(rng, size), lead)
            q, s, u = (int(polynomials.value(terms, each)) for each in (p, r, t))
            first, second = (s - q) // (r - p), (u - s) // (t - r)
            return Drawn(
                ask="points",
                values={"p": p, "q": q, "r": r, "s": s, "t": t, "u": u},
                gold=_gold(terms),
                steps="Subtracting the equations $y = ax^2 + bx + c$ of two points and dividing by "
                f"the difference of their $x$ gives ${linear([p + r, 1], 'ab')} = {first}$ and "
                f"${linear([r + t, 1], 'ab')} = {second}$. So ${linear([t - p], 'a')} = "
                f"{second - first}$, $a = {lead}$, $b = {terms[1]}$ and then $c = {terms[0]}$.",
            )
        if rng.random() < 0.5:
            p, q = sorted(base.distinct(rng, 2, -size, size), key=lambda root: (root != 0, root))
            r = q + nonzero(rng, 3)
            if r == p:
                r = q + 4 if p < q else q - 4
            terms = polynomials.with_roots((p, q), lead)
            s = int(polynomials.value(terms, r))
            return Drawn(
                ask="zeros",
                values={"p": p, "q": q, "r": r, "s": s},
                gold=_gold(terms),
                steps=f"It has the form $y = a{_factor(p)}{_factor(q)}$. The point gives "
                f"${s} = {linear([(r - p) * (r - q)], 'a')}$, so $a = {lead}$. Multiplying out, "
                f"$y = {latex(terms)}$.",
            )
        p, q, step = nonzero(rng, size), nonzero(rng, size), nonzero(rng, 4)
        terms = polynomials.plus(polynomials.with_roots((p, p), lead), (q,))
        r, s = p + step, lead * step * step + q
        return Drawn(
            ask="vertex",
            values={"p": p, "q": q, "r": r, "s": s},
            gold=_gold(terms),
            steps=f"It has the form $y = a{_factor(p)}^2 {'-' if q < 0 else '+'} {abs(q)}$. The "
            f"point gives ${s} = {linear([step * step], 'a', q)}$, so $a = {lead}$. Multiplying "
            f"out, $y = {latex(terms)}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Always by a linear system for the three coefficients; the vertex gives a second point
        # by symmetry.
        if ask == "zeros":
            points = [(values["p"], 0), (values["q"], 0), (values["r"], values["s"])]
        elif ask == "points":
            points = [(values["p"], values["q"]), (values["r"], values["s"])]
            points.append((values["t"], values["u"]))
        else:
            p, q, r, s = (values[name] for name in "pqrs")
            points = [(p, q), (r, s), (2 * p - r, s)]
        rows: list[list[Number]] = [[x * x, x, 1] for x, _ in points]
        found = exact.solved(rows, [y for _, y in points])
        if found is None or not found[0]:
            return None
        return _gold(polynomials.polynomial(reversed(found)))


def _factor(root: int) -> str:
    return f"({latex((-root, 1))})" if root else "x"


def _gold(terms: Polynomial) -> Gold:
    return Gold(
        Answer(
            type="equation",
            value=f"y={polynomials.plain(terms)}",  # is canonical
            params={"variables": ["x", "y"]},
        ),
        f"y = {latex(terms)}",
    )
