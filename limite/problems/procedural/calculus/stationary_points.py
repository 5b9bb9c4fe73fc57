"""Stationary points, inflection points and where a function rises."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
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
class StationaryPoints(Family):
    """Where a polynomial has stationary or inflection points, a minimum, or rises or falls."""

    name = "stationary-points"
    tag = "calculus/curve-sketching"
    wordings = Wordings(
        stationary=(
            "Find all values of $x$ at which $f(x) = <f:polynomial>$ has a stationary point.",
            "For which $x$ is the tangent to the graph of $y = <f:polynomial>$ horizontal? Give "
            "all of them.",
        ),
        inflection=(
            "Find all values of $x$ at which the graph of $f(x) = <f:polynomial>$ has an "
            "inflection point.",
            "At which $x$ does the graph of $y = <f:polynomial>$ change between convex and "
            "concave? Give all of them.",
        ),
        minimum=(
            "Find all values of $x$ at which $f(x) = <f:polynomial>$ has a local minimum.",
            "At which $x$ does $y = <f:polynomial>$ have a local minimum? Give all of them.",
        ),
        rising=(
            "Find the set of all real $x$ with $f'(x) > 0$, where $f(x) = <f:polynomial>$. Give "
            "it as an interval or a union of intervals.",
            "For which real $x$ does $f(x) = <f:polynomial>$ have a positive derivative? Answer "
            "with an interval or a union of intervals.",
        ),
        falling=(
            "Find the set of all real $x$ with $f'(x) < 0$, where $f(x) = <f:polynomial>$. Give "
            "it as an interval or a union of intervals.",
            "For which real $x$ does $f(x) = <f:polynomial>$ have a negative derivative? Answer "
            "with an interval or a union of intervals.",
        ),
    )

    count: Ends = dial(1, 3.4, "how many values, repeated ones counted", least=1, most=4)
    size: Ends = dial(6, 9, "largest of the values", least=2, most=50)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.count, difficulty))
        size = round(base.steady(self.size, difficulty))
        kind = base.chosen(rng, ("stationary", "minimum", "rising", "falling", "inflection"))
        size = min(size, 4) if count > 2 else size
        roots = sorted(base.distinct(rng, count, -size, size))
        if count > 2 and rng.random() < 0.3:
            roots[0] = roots[1]
        lead = exact.nonzero(rng, 2)
        if kind == "minimum" and not _minima(roots, lead):
            lead = -lead
        times = 2 if kind == "inflection" else 1
        slope = p.with_roots(roots, lead)
        f = _above(_above(slope, 0), exact.nonzero(rng, 9)) if times == 2 else _above(slope, 0)
        scale = Fraction(math.lcm(*(Fraction(each).denominator for each in f)))
        scale /= math.gcd(*(int(each * scale) for each in f))
        f = p.plus(p.scaled(f, scale), (exact.nonzero(rng, 20),))
        slope = p.scaled(slope, scale)
        turns = [root for root in sorted(set(roots)) if roots.count(root) % 2]
        which = "second derivative" if times == 2 else "derivative"
        product = _product(roots, slope[-1])
        steps = f"The {which} is ${p.latex(slope)} = {product}$. "
        if kind == "inflection":
            steps += (
                "An inflection point is where it changes its sign, at roots of odd multiplicity"
            )
            found = gold.finite_set(turns)
        elif kind == "stationary":
            steps += "It is zero at the roots of these factors"
            found = gold.finite_set(roots)
        elif kind == "minimum":
            steps += "A minimum is where it changes from negative to positive"
            found = gold.finite_set(_minima(roots, lead))
        else:
            steps += "Its sign changes only at roots of odd multiplicity, and to the right of all "
            steps += f"roots it is {'positive' if lead > 0 else 'negative'}"
            found = _signs(sorted(set(roots)), turns, (lead > 0) == (kind == "rising"))
        return Drawn(ask=kind, values={"f": f}, gold=found, steps=f"{steps}.")

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By slopes from quotients of differences, all fractions that may be roots, and the sign
        # at a point of each stretch between them.
        slope = exact.slopes(values["f"])
        if ask == "inflection":
            slope = exact.slopes(slope)
        if p.degree(slope) < 1:
            return None
        roots = exact.rational_roots(slope)
        if roots is None:
            return None
        if ask == "stationary":
            return gold.finite_set(roots)
        inner = [(low + high) / 2 for low, high in itertools.pairwise(roots)]
        probes = [roots[0] - 1, *inner, roots[-1] + 1]
        signs = [p.value(slope, each) > 0 for each in probes]
        if ask in ("inflection", "minimum"):
            found = [
                root
                for root, before, after in zip(roots, signs, signs[1:], strict=False)
                if before != after and (after or ask == "inflection")
            ]
            return gold.finite_set(found)
        ends = ["-oo", *map(str, roots), "oo"]
        wanted = [
            f"({low},{high})"
            for low, high, sign in zip(ends, ends[1:], signs, strict=False)
            if sign == (ask == "rising")
        ]
        return gold.interval("U".join(wanted), "") if wanted else None


def _above(terms: p.Polynomial, constant: int) -> p.Polynomial:
    """A polynomial whose derivative this is."""
    return p.polynomial([constant, *(Fraction(c, n + 1) for n, c in enumerate(terms))])


def _minima(roots: Sequence[int], lead: int) -> list[int]:
    """Roots at which the product turns positive: seen from the right, every other sign change."""
    found, sign = [], lead > 0
    for root in sorted(set(roots), reverse=True):
        if roots.count(root) % 2:
            if sign:
                found.append(root)
            sign = not sign
    return found


def _signs(places: Sequence[int], turns: Sequence[int], last: bool) -> Gold:
    """The stretches between ``places`` with the wanted sign, which the last one has if ``last``."""
    ends = [None, *places, None]
    parts, sign = [], last
    for low, high in zip(reversed(ends[:-1]), reversed(ends[1:]), strict=True):
        if sign:
            parts.append((low, high))
        if low in turns:
            sign = not sign
    parts.reverse()
    pairs = [("-oo" if u is None else str(u), "oo" if v is None else str(v)) for u, v in parts]
    text = "U".join(f"({low},{high})" for low, high in pairs)
    latex = " \\cup ".join(f"({low}, {high})" for low, high in pairs).replace("oo", "\\infty")
    return gold.interval(text, latex)


def _product(roots: Sequence[int], lead: p.Number) -> str:
    text = "" if lead == 1 else "-" if lead == -1 else ratio_text(lead)
    for root in sorted(set(roots)):
        count = roots.count(root)
        factor = f"(x {'+' if root < 0 else '-'} {abs(root)})" if root else "x"
        text += factor + (f"^{count}" if count > 1 else "")
    return text
