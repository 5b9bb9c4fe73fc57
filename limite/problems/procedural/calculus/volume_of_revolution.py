"""Volumes of bodies that a region sweeps as it turns about an axis."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural import polynomials as p
from limite.problems.procedural.calculus import exact
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.polynomials import Polynomial
from limite.problems.procedural.wording import Wordings, ratio_text


@attrs.frozen(kw_only=True)
class VolumeOfRevolution(Family):
    """The exact volume of a body that a region under a graph sweeps about an axis."""

    name = "volume-of-revolution"
    tag = "calculus/volumes"
    wordings = Wordings(
        disc=(
            "The region between the graph of $y = <f:polynomial>$ and the $x$-axis from "
            "$x = <low>$ to $x = <high>$ is rotated about the $x$-axis. Find the exact volume of "
            "the solid.",
            "Find the exact volume of the solid that arises when the graph of "
            "$y = <f:polynomial>$, for $<low> \\le x \\le <high>$, and the region between it and "
            "the $x$-axis turn around the $x$-axis.",
        ),
        shell=(
            "The region between the graph of $y = <f:polynomial>$ and the $x$-axis from "
            "$x = <low>$ to $x = <high>$ is rotated about the $y$-axis. Find the exact volume of "
            "the solid.",
            "Find the exact volume of the solid that the region under the graph of "
            "$y = <f:polynomial>$, above the $x$-axis and for $<low> \\le x \\le <high>$, sweeps "
            "out as it turns around the $y$-axis.",
        ),
        root=(
            "The region between the graph of $y = \\sqrt{<f:polynomial>}$ and the $x$-axis from "
            "$x = <low>$ to $x = <high>$ is rotated about the $x$-axis. Find the exact volume of "
            "the solid.",
            "Find the exact volume of the solid that the region under the graph of "
            "$y = \\sqrt{<f:polynomial>}$, for $<low> \\le x \\le <high>$, sweeps out as it turns "
            "around the $x$-axis.",
        ),
    )

    degree: Ends = dial(1, 2, "highest power of the polynomial", least=1, most=2)
    size: Ends = dial(4, 9, "largest coefficient", least=2, most=1000)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        degree = base.whole_near(rng, base.steady(self.degree, difficulty))
        size = base.steady(self.size, difficulty)
        low = base.whole(rng, 0, 2)
        high = low + base.whole(rng, 1, 3)
        # Without minus signs, so that the graph stays above the axis on the whole interval.
        f = [base.whole(rng, 0, size) for _ in range(degree)] + [base.whole(rng, 1, size)]
        f[0] += not any(f[:-1])
        terms = p.polynomial(f)
        kind = base.chosen(rng, ("disc", "shell", "root"))
        inside, what = {
            "disc": (p.times(terms, terms), "A slice at $x$ is a disc of radius $y$ and area"),
            "root": (terms, "A slice at $x$ is a disc of radius $y$ and area"),
            "shell": (p.times((0, 2), terms), "A shell at $x$ has height $y$ and unrolled area"),
        }[kind]
        above = p.polynomial([0, *(Fraction(c, n + 1) for n, c in enumerate(inside))])
        last, first = Fraction(p.value(above, high)), Fraction(p.value(above, low))
        area = "2\\pi xy" if kind == "shell" else "\\pi y^2"
        return Drawn(
            ask=kind,
            values={"f": terms, "low": low, "high": high},
            gold=surds.said({surds.PI: last - first}),
            steps=f"{what} ${area} = \\pi({p.latex(inside)})$. An antiderivative of "
            f"${p.latex(inside)}$ is ${p.latex(above)}$, which changes from ${ratio_text(first)}$ "
            f"at $x = {low}$ to ${ratio_text(last)}$ at $x = {high}$. The volume is $\\pi$ times "
            f"the difference.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By Boole's rule on five points; a body around the y-axis by horizontal rings, of which
        # the rising graph is the inner edge.
        f: Polynomial = values["f"]
        low, high = values["low"], values["high"]
        if not 0 <= low < high or p.degree(f) > 2 or any(each < 0 for each in f):
            return None
        if ask == "disc":
            volume = exact.under(p.times(f, f), low, high)
        elif ask == "root":
            volume = exact.under(f, low, high)
        else:
            # The cylinder out to the end, without its hole and what lies above the graph.
            outer = high * high * p.value(f, high) - low * low * p.value(f, low)
            volume = outer - exact.area(lambda x: x * x * exact.slope(f, x), low, high)
        return surds.said({surds.PI: volume})
