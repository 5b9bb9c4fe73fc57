"""Where series converge."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold, polynomials
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class SeriesConvergence(Family):
    """For which numbers a series converges, and whether a given one does."""

    name = "series-convergence"
    tag = "sequences/convergence"
    wordings = Wordings(
        geometric=(
            "For which real numbers $x$ does the series $\\sum_{n=0}^{\\infty} "
            "\\left(\\frac{<terms:text>}{<below>}\\right)^n$ converge? Give the interval.",
            "Find the set of all real $x$ for which $\\sum_{n=0}^{\\infty} "
            "\\left(\\frac{<terms:text>}{<below>}\\right)^n$ converges, as an interval.",
        ),
        power=(
            "For which real numbers $x$ does the series $\\sum_{n=1}^{\\infty} "
            "\\frac{(<terms:text>)^n}{<root:text> \\cdot <below>^n}$ converge? Give the interval, "
            "with the right kind of ends.",
            "Find the interval of convergence, ends included where they belong to it, of "
            "$\\sum_{n=1}^{\\infty} \\frac{(<terms:text>)^n}{<root:text> \\cdot <below>^n}$ as a "
            "series in real $x$.",
        ),
        test=(
            "Does the series $\\sum_{n=1}^{\\infty} \\frac{<above:text>}{<bottom:text>}$ "
            "converge? Answer yes or no.",
            "Is the infinite series $\\sum_{n=1}^{\\infty} \\frac{<above:text>}{<bottom:text>}$ "
            "convergent? Answer yes or no.",
        ),
        sign=(
            "Does the series $\\sum_{n=1}^{\\infty} (-1)^n \\frac{<above:text>}{<bottom:text>}$ "
            "converge? Answer yes or no.",
            "Is the alternating series $\\sum_{n=1}^{\\infty} (-1)^n "
            "\\frac{<above:text>}{<bottom:text>}$ convergent? Answer yes or no.",
        ),
    )

    size: Ends = dial(4, 12, "largest coefficient", least=3, most=60)
    kinds: Ends = dial(2, 4, "how many kinds of question are asked", most=4)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        asks = ("test", "geometric", "sign", "power")
        ask = asks[base.whole(rng, 1, base.steady(self.kinds, difficulty)) - 1]
        size = base.whole_near(rng, base.steady(self.size, difficulty))
        if ask in ("test", "sign"):
            return self._test(rng, ask, size)
        below, shift = base.whole(rng, 2, size), base.whole(rng, 1, size)
        shift = -shift if rng.random() < 0.5 else shift
        factor = base.whole(rng, 1, 1 + size // 3)
        low, high = Fraction(-below - shift, factor), Fraction(below - shift, factor)
        terms = polynomials.latex((shift, factor), "x")
        ends = f"${ratio_text(low)} < x < {ratio_text(high)}$"
        if ask == "geometric":
            return Drawn(
                ask=ask,
                values={"terms": terms, "below": below},
                gold=gold.interval(f"({low},{high})", _interval("(", low, high, ")")),
                steps=f"A geometric series converges exactly when its ratio lies strictly between "
                f"$-1$ and $1$: $-{below} < {terms} < {below}$, that is, {ends}.",
            )
        root = base.chosen(rng, ("n", "n^2", "\\sqrt{n}", "n^3"))
        left, right = ("[", "]") if root in ("n^2", "n^3") else ("[", ")")
        return Drawn(
            ask=ask,
            values={"terms": terms, "below": below, "root": root},
            gold=gold.interval(f"{left}{low},{high}{right}", _interval(left, low, high, right)),
            steps=f"By the ratio test it converges where $|{terms}| < {below}$, that is, for "
            f"{ends}, and diverges outside. At ${ratio_text(low)}$ it is "
            f"$\\sum \\frac{{(-1)^n}}{{{root}}}$, which converges by Leibniz's test. At "
            f"${ratio_text(high)}$ it is $\\sum \\frac{{1}}{{{root}}}$, which "
            f"{'converges' if right == ']' else 'diverges'}.",
        )

    def _test(self, rng: random.Random, ask: str, size: int) -> Drawn:
        """A quotient of polynomials: degrees decide."""
        gap = base.whole(rng, 1, 2)
        if ask == "sign" and rng.random() < 0.5:
            gap = 0
        bottom_degree = base.whole(rng, max(1, gap), 4)
        top_degree = bottom_degree - gap
        above = [base.whole(rng, 0, size) for _ in range(top_degree)] + [base.whole(rng, 1, size)]
        bottom = [base.whole(rng, 1, size) for _ in range(bottom_degree)]
        bottom.append(base.whole(rng, 2, size))
        holds = gap >= (1 if ask == "sign" else 2)
        if ask == "test":
            steps = (
                f"The degree below exceeds the degree above by ${gap}$, so the terms behave like a "
                f"positive constant times $\\frac{{1}}{{{'n' if gap == 1 else f'n^{gap}'}}}$, and "
                f"the series of these {'converges' if holds else 'diverges'}."
            )
        else:
            limit = Fraction(0 if gap else above[-1], bottom[-1])
            steps = f"Without the signs, the terms go to ${ratio_text(limit)}$. " + (
                "From some place on they fall, since a quotient of polynomials is monotone "
                "there, so Leibniz's test applies and the series converges."
                if holds
                else "The terms of a convergent series go to $0$, so it diverges."
            )
        return Drawn(
            ask=ask,
            values={
                "above": polynomials.latex(polynomials.polynomial(above), "n"),
                "bottom": polynomials.latex(polynomials.polynomial(bottom), "n"),
            },
            gold=gold.boolean(holds),
            steps=steps,
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        if ask in ("test", "sign"):
            above, below = (polynomials.read(values[name], "n") for name in ("above", "bottom"))
            # Condensed: the terms at powers of 2, and what doubling the place makes of them.
            place = 2**60
            one = Fraction(polynomials.value(above, place)) / polynomials.value(below, place)
            two = Fraction(polynomials.value(above, 2 * place)) / polynomials.value(
                below, 2 * place
            )
            if ask == "sign":
                return gold.boolean(abs(one) * 10**9 < 1)
            return gold.boolean(2 * two / one < Fraction(3, 4))
        terms = polynomials.read(values["terms"], "x")
        if len(terms) != 2 or terms[1] == 0:
            return None
        # Where the fraction is -1 and 1, by following the line from its value at 0.
        below = values["below"]
        ends = [(sign * below - Fraction(terms[0])) / terms[1] for sign in (-1, 1)]
        low, high = sorted(ends)
        if ask == "geometric":
            return gold.interval(f"({low},{high})", "")
        left, right = _ends(values["root"])
        if terms[1] < 0:
            return None
        return gold.interval(f"{left}{low},{high}{right}", "")


def _interval(left: str, low: Fraction, high: Fraction, right: str) -> str:
    return f"{left}{ratio_text(low)}, {ratio_text(high)}{right}"


def _ends(root: str) -> tuple[str, str]:
    """Whether the series of 1 over ``root`` converges: blocks of doubled length are compared."""
    unit = 10**15
    sizes: dict[str, Callable[[int], int]] = {
        "n": lambda n: n * unit,
        "n^2": lambda n: n * n * unit,
        "n^3": lambda n: n**3 * unit,
        "\\sqrt{n}": lambda n: math.isqrt(n * unit * unit),
    }
    size = sizes[root]
    first = sum(unit * unit // size(n) for n in range(64, 128))
    second = sum(unit * unit // size(n) for n in range(128, 256))
    return "[", "]" if 4 * second < 3 * first else ")"
