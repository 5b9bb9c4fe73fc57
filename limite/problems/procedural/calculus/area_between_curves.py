"""Areas between curves and volumes of bodies that they sweep."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class AreaBetweenCurves(Family):
    """The area that two graphs enclose."""

    name = "area-between-curves"
    tag = "calculus/areas"
    wordings = Wordings(
        axis=(
            "Find the area enclosed by the graph of $y = <f:polynomial>$ and the $x$-axis.",
            "The parabola $y = <f:polynomial>$ and the $x$-axis enclose a region. What is its "
            "area?",
        ),
        curves=(
            "Find the total area of the regions enclosed by the graphs of $y = <f:polynomial>$ "
            "and $y = <g:polynomial>$.",
            "The graphs of $f(x) = <f:polynomial>$ and $g(x) = <g:polynomial>$ enclose one or "
            "more bounded regions between them. Find their total area.",
        ),
    )

    crossings: Ends = dial(2, 4, "how many crossings", least=2, most=4)
    size: Ends = dial(7, 9, "largest place of a crossing", least=3, most=50)
    curves: Ends = dial(0, 1, "share with two curves", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = round(base.steady(self.size, difficulty))
        two = rng.random() < base.steady(self.curves, difficulty)
        count = base.whole_near(rng, base.steady(self.crossings, difficulty)) if two else 2
        size = min(size, 5) if count > 2 else size
        roots = sorted(base.distinct(rng, count, -size, size))
        gap = p.with_roots(roots, exact.nonzero(rng, 2 if two else 3))
        if two:
            g = exact.some(rng, base.whole(rng, 1, 2), 6)
            f = p.plus(gap, g)
            if p.degree(f) < 1:
                g = p.plus(g, (0, 1))
                f = p.plus(gap, g)
            values = {"f": f, "g": g}
            begin = f"The difference of the functions is ${p.latex(gap)}$, which is zero"
        else:
            values = {"f": gap}
            begin = f"The function ${p.latex(gap)}$ is zero"
        above = p.polynomial([0, *(Fraction(c, n + 1) for n, c in enumerate(gap))])
        parts = [
            Fraction(p.value(above, high)) - p.value(above, low)
            for low, high in itertools.pairwise(roots)
        ]
        places = ", ".join(map(str, roots))
        said = ", ".join(f"${ratio_text(part)}$" for part in parts)
        return Drawn(
            ask="curves" if two else "axis",
            values=values,
            gold=gold.rational(sum(map(abs, parts))),
            steps=f"{begin} at $x = {places}$. With the antiderivative ${p.latex(above)}$ the "
            + (
                f"integral between the two is {said}, and the area is its absolute value."
                if len(parts) == 1
                else f"integrals from each of these places to the next are {said}. The areas are "
                f"their absolute values, and are added."
            ),
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Crossings by trying all fractions; the area by Boole's rule on five points.
        f, g = values["f"], values.get("g", ())
        gap = p.minus(f, g)
        if not 2 <= p.degree(gap) <= 5:
            return None
        roots = exact.rational_roots(gap)
        if roots is None or len(roots) < 2:
            return None
        areas = [
            abs(exact.under(gap, p.plain_number(roots[k]), p.plain_number(roots[k + 1])))
            for k in range(len(roots) - 1)
        ]
        return gold.rational(sum(areas))
