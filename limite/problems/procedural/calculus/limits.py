"""Limits of quotients: at roots of both parts, at infinity, with roots and sines."""

from __future__ import annotations

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
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class Limits(Family):
    """The limit of a quotient whose parts both vanish, or both grow without bound."""

    name = "limits"
    tag = "calculus/limits"
    wordings = Wordings(
        point=(
            "Compute $\\lim_{x \\to <t>} \\frac{<f:polynomial>}{<g:polynomial>}$.",
            "What does $\\frac{<f:polynomial>}{<g:polynomial>}$ tend to as $x$ tends to $<t>$?",
        ),
        infinity=(
            "Compute $\\lim_{x \\to \\infty} \\frac{<f:polynomial>}{<g:polynomial>}$.",
            "What does $\\frac{<f:polynomial>}{<g:polynomial>}$ tend to as $x$ grows without "
            "bound?",
        ),
        sine=(
            "Compute $\\lim_{x \\to 0} \\frac{\\sin(<a>x)}{<b>x}$, with angles in radians.",
            "With angles in radians, what does $\\frac{\\sin(<a>x)}{<b>x}$ tend to as $x$ tends "
            "to $0$?",
        ),
        cosine=(
            "Compute $\\lim_{x \\to 0} \\frac{1 - \\cos(<a>x)}{<b>x^2}$, with angles in radians.",
            "With angles in radians, what does $\\frac{1 - \\cos(<a>x)}{<b>x^2}$ tend to as $x$ "
            "tends to $0$?",
        ),
        exponential=(
            "Compute $\\lim_{x \\to 0} \\frac{e^{<a>x} - e^{<c>x}}{<b>x}$.",
            "What does $\\frac{e^{<a>x} - e^{<c>x}}{<b>x}$ tend to as $x$ tends to $0$?",
        ),
        root=(
            "Compute $\\lim_{x \\to <t>} \\frac{\\sqrt{<f:polynomial>} - <r>}{<g:polynomial>}$.",
            "What does $\\frac{\\sqrt{<f:polynomial>} - <r>}{<g:polynomial>}$ tend to as $x$ "
            "tends to $<t>$?",
        ),
    )

    degree: Ends = dial(1, 3, "how many factors each polynomial has, less one", least=1, most=4)
    size: Ends = dial(5, 9, "largest number in a factor", least=2, most=100)
    kinds: Ends = dial(0.1, 0.7, "share that is no quotient of polynomials", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        if rng.random() < base.steady(self.kinds, difficulty):
            kind = base.chosen(rng, ("sine", "cosine", "exponential", "root"))
            return self._standard(rng, kind, size)
        count = base.whole_near(rng, base.steady(self.degree, difficulty))
        if rng.random() < 0.3:
            f, g = exact.some(rng, count + 1, size), exact.some(rng, count + 1, size)
            power = f"x^{count + 1}"
            return Drawn(
                ask="infinity",
                values={"f": f, "g": g},
                gold=gold.rational(Fraction(f[-1]) / g[-1]),
                steps=f"Divide both parts by ${power}$. All terms but the first of each then tend "
                f"to $0$, and ${_over(str(f[-1]), str(g[-1]))}$ remains.",
            )
        t = exact.nonzero(rng, 5)
        double = count > 1 and rng.random() < 0.4
        shared = (-t, 1)
        rest = [self._rest(rng, count - double, t, size) for _ in "fg"]
        common = p.times(shared, shared) if double else shared
        f, g = (p.times(common, each) for each in rest)
        top, bottom = (p.value(each, t) for each in rest)
        factor = p.latex(shared)
        factor = f"({factor})^2" if double else f"({factor})"
        return Drawn(
            ask="point",
            values={"f": f, "g": g, "t": t},
            gold=gold.rational(Fraction(top) / bottom),
            steps=f"Both parts hold the factor ${factor}$: what remains is "
            f"${_over(p.latex(rest[0]), p.latex(rest[1]))}$. At $x = {t}$ this is "
            f"${_over(str(top), str(bottom))}$.",
        )

    def _rest(self, rng: random.Random, count: int, t: int, size: float) -> p.Polynomial:
        """A polynomial that is not zero at t."""
        found = exact.some(rng, max(count, 1), size)
        return found if p.value(found, t) else p.plus(found, (1,))

    def _standard(self, rng: random.Random, kind: str, size: float) -> Drawn:
        a, b, c = (base.whole(rng, 2, size + 2) for _ in range(3))
        if kind == "sine":
            return Drawn(
                ask=kind,
                values={"a": a, "b": b},
                gold=gold.rational(Fraction(a, b)),
                steps=f"For small angles the sine is like its angle: "
                f"$\\frac{{\\sin({a}x)}}{{{a}x}}$ tends to $1$. The quotient is this times "
                f"$\\frac{{{a}}}{{{b}}}$.",
            )
        if kind == "cosine":
            return Drawn(
                ask=kind,
                values={"a": a, "b": b},
                gold=gold.rational(Fraction(a * a, 2 * b)),
                steps=f"By the double angle $1 - \\cos({a}x) = 2\\sin^2(\\frac{{{a}x}}{{2}})$, and "
                f"the sine is like its angle: the numerator is like $2 \\cdot "
                f"\\frac{{{a * a}x^2}}{{4}}$. Divide by ${b}x^2$.",
            )
        if kind == "exponential":
            c = -c if rng.random() < 0.5 else c + (c == a)
            return Drawn(
                ask=kind,
                values={"a": a, "b": b, "c": c},
                gold=gold.rational(Fraction(a - c, b)),
                steps=f"Both parts are $0$ at $x = 0$. Their derivatives there are ${a} - "
                f"{exact.factor(c)} = {a - c}$ and ${b}$, and the limit is the quotient of these.",
            )
        t, r = exact.nonzero(rng, 4), base.whole(rng, 2, size)
        slope = exact.nonzero(rng, size)
        f = p.polynomial((r * r - slope * t, slope))
        rest = self._rest(rng, 1, t, size)
        g = p.times((-t, 1), rest)
        bottom = p.value(rest, t)
        return Drawn(
            ask=kind,
            values={"t": t, "r": r, "f": f, "g": g},
            gold=gold.rational(Fraction(slope) / (2 * r * bottom)),
            steps=f"Multiply both parts by $\\sqrt{{{p.latex(f)}}} + {r}$. The numerator becomes "
            f"${p.latex(p.minus(f, (r * r,)))}$, which is ${slope}$ times ${p.latex((-t, 1))}$, "
            f"and the denominator holds this factor too, with ${p.latex(rest)}$. What remains is "
            f"${slope}$ over $({p.latex(rest)})(\\sqrt{{{p.latex(f)}}} + {r})$, at $x = {t}$ that "
            f"is ${slope}$ over ${exact.factor(bottom)} \\cdot {2 * r}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By power series in what x is more than the point: their first terms that are not zero.
        if ask == "infinity":  # in 1/x
            f, g = values["f"], values["g"]
            if len(f) != len(g):
                return None
            return _limit(f[::-1], g[::-1])
        if ask in ("point", "root"):
            t = values["t"]
            f, g = (_around(values[name], t) for name in "fg")
            if ask == "root":
                r = values["r"]
                if f[0] != r * r or p.degree(f) > 1:
                    return None
                # sqrt(r^2 + sh) = r + sh/2r - s^2h^2/8r^3 + ...
                s = Fraction(f[1])
                f = (0, s / (2 * r), -s * s / (8 * r**3))
            return _limit(f, g)
        a, b = values["a"], values["b"]
        if ask == "sine":
            return _limit((0, a, 0, Fraction(-(a**3), 6)), (0, b))
        if ask == "cosine":
            return _limit((0, 0, Fraction(a * a, 2), 0), (0, 0, b))
        c = values["c"]
        return _limit((0, a - c, Fraction(a * a - c * c, 2)), (0, b))


def _around(terms: p.Polynomial, t: int) -> p.Polynomial:
    """The coefficients in x - t, by dividing by it again and again."""
    found = []
    while terms:
        terms, rest = p.divided(terms, (-t, 1))
        found.append(rest[0] if rest else 0)
    return tuple(found)


def _over(above: str, below: str) -> str:
    return above if below == "1" else f"\\frac{{{above}}}{{{below}}}"


def _limit(above: Sequence[p.Number], below: Sequence[p.Number]) -> Gold | None:
    for top, bottom in zip(above, below, strict=False):
        if bottom:
            return gold.rational(Fraction(top) / bottom)
        if top:
            return None
    return None
