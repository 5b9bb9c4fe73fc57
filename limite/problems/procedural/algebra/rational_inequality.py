"""Inequalities between a quotient of polynomials and a number."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, intervals, polynomials
from limite.problems.procedural.algebra import exact
from limite.problems.procedural.algebra.writing import factor, fraction, later, listed
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.intervals import HIGH, LOW, End, Piece
from limite.problems.procedural.polynomials import Number, latex
from limite.problems.procedural.wording import Wordings

_SIGNS = ("<", "\\le", ">", "\\ge")


@attrs.frozen(kw_only=True)
class RationalInequality(Family):
    """Where a quotient of two polynomials is above or below a number, as a union of intervals."""

    name = "rational-inequality"
    tag = "algebra/inequalities"
    wordings = Wordings(
        "Solve $\\frac{<above:polynomial>}{<below:polynomial>} <sign:text> <bound>$ over the real "
        "numbers. Answer with a union of intervals.",
        "Find all real $x$ with $\\frac{<above:polynomial>}{<below:polynomial>} <sign:text> "
        "<bound>$, as a union of intervals.",
        "For which real numbers $x$ is $\\frac{<above:polynomial>}{<below:polynomial>} "
        "<sign:text> <bound>$? Write the solution set with intervals.",
    )

    points: Ends = dial(2, 5, "how many zeros above and below together", least=2, most=6)
    size: Ends = dial(5, 9, "largest of these zeros", least=4, most=30)
    bound: Ends = dial(0, 0.7, "share with a bound other than zero", least=0, most=1)
    double: Ends = dial(0, 0.5, "share with a double zero", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.points, difficulty))
        size = int(base.steady(self.size, difficulty))
        points = base.distinct(rng, count, -size, size)
        zeros, poles = points[: (count + 1) // 2], points[(count + 1) // 2 :]
        powers = dict.fromkeys(points, 1)
        if count > 2 and rng.random() < base.steady(self.double, difficulty):
            powers[base.chosen(rng, zeros)] = 2
        sign = base.chosen(rng, _SIGNS)
        bound = 0
        if rng.random() < base.steady(self.bound, difficulty):
            bound = base.chosen(rng, (-3, -2, -1, 1, 2, 3))
        over = [zero for zero in zeros for _ in range(powers[zero])]
        below = polynomials.with_roots(poles)
        above = polynomials.plus(polynomials.with_roots(over), polynomials.scaled(below, bound))
        text = ""
        quotient = fraction(_product(zeros, powers), _product(poles, powers, alone=True))
        if bound:
            text = "Subtracting the bound and factoring gives "
        elif count > 2 or powers[zeros[0]] > 1:
            text = "Factoring gives "
        text += f"${quotient} {sign} 0$. " if text else ""
        signs = _signs(sorted(points), powers)
        return Drawn(
            values={"above": above, "below": below, "sign": sign, "bound": bound},
            gold=intervals.union(_chosen(sorted(points), signs, zeros, sign)),
            steps=f"{text}The sign of the quotient can change only at "
            f"{listed([f'${each}$' for each in sorted(points)])}. From left to right it is "
            f"{listed(['negative' if each < 0 else 'positive' for each in signs])}"
            f"{_about_double(powers)}. "
            + (
                f"At {listed([f'${each}$' for each in sorted(zeros)])} it is zero, which counts"
                if sign in ("\\le", "\\ge")
                else f"Where it is zero, at {listed([f'${each}$' for each in sorted(zeros)])}, "
                "the strict inequality fails"
            )
            + f", and at {listed([f'${each}$' for each in sorted(poles)])} it is not defined.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Zeros by trying divisors, then a point in every gap, and the zeros themselves.
        below, bound, sign = values["below"], values["bound"], values["sign"]
        difference = polynomials.minus(values["above"], polynomials.scaled(below, bound))
        zeros, poles = exact.rational_roots(difference), exact.rational_roots(below)
        if len(zeros) < len(difference) - 1 or len(poles) < len(below) - 1:
            return None

        def holds(at: Number) -> bool:
            under = polynomials.value(below, at)
            if not under:
                return False
            over = polynomials.value(values["above"], at) - bound * under
            found = over if under > 0 else -over
            if not found:
                return sign in ("\\le", "\\ge")
            return bool(found < 0) == (sign in ("<", "\\le"))

        return intervals.where([*zeros, *poles], holds)


def _product(roots: list[int], powers: dict[int, int], *, alone: bool = False) -> str:
    ordered = sorted(roots)
    if len(ordered) == 1 and powers[ordered[0]] == 1:
        return latex((-ordered[0], 1))
    return "".join(
        factor(each) + (f"^{powers[each]}" if powers[each] > 1 else "") for each in ordered
    )


def _signs(points: list[int], powers: dict[int, int]) -> list[int]:
    """The signs in the gaps: 1 on the far right, another after every odd power."""
    found = [1]
    for point in reversed(points):
        found.append(found[-1] if powers[point] % 2 == 0 else -found[-1])
    return found[::-1]


def _about_double(powers: dict[int, int]) -> str:
    double = [point for point, power in powers.items() if power > 1]
    return (
        f" (the square $(x{later(-double[0])})^2$ changes no sign)"
        if double and double[0]
        else (" (the square $x^2$ changes no sign)" if double else "")
    )


def _chosen(points: list[int], signs: list[int], zeros: list[int], sign: str) -> list[Piece]:
    """The gaps of the right sign, joined where the point between them counts."""
    wanted = -1 if sign in ("<", "\\le") else 1
    closed = {point: sign in ("\\le", "\\ge") and point in zeros for point in points}
    ends: list[End] = [LOW, *map(intervals.end, points), HIGH]
    belongs = [False, *(closed[point] for point in points), False]
    pieces: list[Piece] = []
    for gap, found in enumerate(signs):
        if found != wanted:
            # A zero between gaps of the other sign stands alone.
            alone = gap + 1 < len(signs) and signs[gap + 1] != wanted and belongs[gap + 1]
            if alone:
                pieces.append((ends[gap + 1], True, ends[gap + 1], True))
        elif pieces and pieces[-1][2] == ends[gap] and belongs[gap]:
            pieces[-1] = (*pieces[-1][:2], ends[gap + 1], belongs[gap + 1])
        else:
            pieces.append((ends[gap], belongs[gap], ends[gap + 1], belongs[gap + 1]))
    return pieces
