"""Volumes of solids of revolution and of what is built from them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import surds
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings


@attrs.frozen(kw_only=True)
class SolidVolume(Family):
    """The exact volume of a cylinder, cone, ball, frustum, or of several put together."""

    name = "solid-volume"
    tag = "geometry/solids"
    wordings = Wordings(
        words={"liquid": ("water", "oil", "milk")},
        cylinder=(
            "A cylinder has radius $<r>$ and height $<h>$. Find its exact volume.",
            "A round tank of radius $<r>$ m is filled with <liquid> to a height of $<h>$ m. "
            "Exactly how many cubic metres does it hold?",
        ),
        cone=(
            "A cone has a base of radius $<r>$ and height $<h>$. Find its exact volume.",
            "A heap of sand is a cone of height $<h>$ m whose base has radius $<r>$ m. Exactly "
            "how many cubic metres of sand are in it?",
        ),
        ball=(
            "Find the exact volume of a ball of radius $<r>$.",
            "What is the exact volume inside a sphere of radius $<r>$?",
        ),
        frustum=(
            "A cone is cut off parallel to its base. The remaining frustum has height $<h>$, a "
            "base of radius $<r>$ and a top of radius $<s>$. Find its exact volume.",
            "A bucket of height $<h>$ cm is round, with radius $<s>$ cm at the bottom and radius "
            "$<r>$ cm at the top, and has straight sides. Find its exact volume in cubic "
            "centimetres.",
        ),
        silo=(
            "A silo is a cylinder of radius $<r>$ m and height $<h>$ m with a hemisphere of the "
            "same radius on top. Find its exact volume in cubic metres.",
            "A hemisphere of radius $<r>$ is put on a cylinder of radius $<r>$ and height $<h>$. "
            "Find the exact volume of the whole solid.",
        ),
        top=(
            "A cone of height $<h>$ and radius $<r>$ is put, base to base, on a hemisphere of "
            "radius $<r>$. Find the exact volume of the whole solid.",
            "A toy consists of a hemisphere of radius $<r>$ cm and a cone with the same circle as "
            "its base and height $<h>$ cm. Find its exact volume in cubic centimetres.",
        ),
        pipe=(
            "Through a cylinder of radius $<r>$ and height $<h>$ a round hole of radius $<s>$ is "
            "drilled along its axis, from end to end. Find the exact volume that remains.",
            "A pipe is $<h>$ cm long. Its outer radius is $<r>$ cm and its inner radius $<s>$ cm. "
            "Find the exact volume of its material in cubic centimetres.",
        ),
        cap=(
            "A plane cuts a ball of radius $<r>$ into two caps. The smaller cap has height $<h>$. "
            "Find its exact volume.",
            "A ball of radius $<r>$ m floats with its lowest point $<h>$ m below the surface of "
            "the water. Find the exact volume below the surface, in cubic metres.",
        ),
    )

    size: Ends = dial(9, 30, "largest length", least=4, most=10000)
    joined: Ends = dial(0, 0.9, "share of solids that are cut or joined", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        size = base.steady(self.size, difficulty)
        r, h, s = base.whole(rng, 2, size), base.whole(rng, 2, size), 1
        joined = rng.random() < base.steady(self.joined, difficulty)
        kinds = (
            ("frustum", "silo", "top", "pipe", "cap") if joined else ("cylinder", "cone", "ball")
        )
        kind = base.chosen(rng, kinds)
        if kind in ("frustum", "pipe"):
            r += 1
            s = base.whole(rng, 1, r - 1)
        if kind == "cap":
            r += 1
            h = base.whole(rng, 1, r - 1)
        cylinder, cone = r * r * h, Fraction(r * r * h, 3)
        half = Fraction(2 * r**3, 3)
        found: dict[str, tuple[surds.Number, str]] = {
            "cylinder": (cylinder, f"The base is $\\pi \\cdot {r}^2$, times the height ${h}$."),
            "cone": (
                cone,
                f"A cone is a third of the cylinder: $\\frac{{1}}{{3}} \\cdot \\pi \\cdot {r}^2 "
                f"\\cdot {h}$.",
            ),
            "ball": (2 * half, f"A ball of this radius has $\\frac{{4}}{{3}}\\pi \\cdot {r}^3$."),
            "frustum": (
                Fraction(h * (r * r + r * s + s * s), 3),
                f"It is the difference of two similar cones: $\\frac{{\\pi \\cdot {h}}}{{3}}"
                f"({r}^2 + {r} \\cdot {s} + {s}^2) = \\frac{{\\pi \\cdot {h}}}{{3}} \\cdot "
                f"{r * r + r * s + s * s}$.",
            ),
            "silo": (
                cylinder + half,
                f"The cylinder has ${surds.latex({0: cylinder})}$ and the hemisphere "
                f"$\\frac{{2}}{{3}}\\pi \\cdot {r}^3 = {surds.latex({0: half})}$.",
            ),
            "top": (
                cone + half,
                f"The cone has ${surds.latex({0: cone})}$ and the hemisphere "
                f"$\\frac{{2}}{{3}}\\pi \\cdot {r}^3 = {surds.latex({0: half})}$.",
            ),
            "pipe": (
                h * (r * r - s * s),
                f"The ring at the end has the area $\\pi({r}^2 - {s}^2) = "
                f"{surds.latex({0: r * r - s * s})}$, times the length ${h}$.",
            ),
            "cap": (
                Fraction(h * h * (3 * r - h), 3),
                f"A cap has $\\frac{{\\pi h^2}}{{3}}(3r - h)$, here $\\frac{{\\pi \\cdot {h}^2}}"
                f"{{3}}({3 * r} - {h}) = \\frac{{\\pi \\cdot {h * h}}}{{3}} \\cdot {3 * r - h}$.",
            ),
        }
        volume, steps = found[kind]
        values = {"r": r, "h": h, "s": s}
        return Drawn(ask=kind, values=values, gold=surds.said({surds.PI: volume}), steps=steps)

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By Simpson's rule, exact for cross sections that are quadratic in the height.
        r, h, s = (Fraction(values.get(name, 0)) for name in "rhs")
        parts: list[tuple[Callable[[Fraction], Fraction], Fraction, Fraction]] = {
            "cylinder": [(lambda _: r * r, Fraction(0), h)],
            "cone": [(lambda z: (r * z / h) ** 2, Fraction(0), h)],
            "ball": [(lambda z: r * r - z * z, -r, r)],
            "frustum": [(lambda z: (s + (r - s) * z / h) ** 2, Fraction(0), h)],
            "silo": [(lambda _: r * r, -h, Fraction(0)), (lambda z: r * r - z * z, Fraction(0), r)],
            "top": [
                (lambda z: (r * z / h) ** 2, Fraction(0), h),
                (lambda z: r * r - z * z, -r, Fraction(0)),
            ],
            "pipe": [(lambda _: r * r - s * s, Fraction(0), h)],
            "cap": [(lambda z: r * r - z * z, r - h, r)],
        }[ask]
        total = sum(
            (top - low) / 6 * (cut(low) + 4 * cut((low + top) / 2) + cut(top))
            for cut, low, top in parts
        )
        return surds.said({surds.PI: Fraction(total)}) if total > 0 else None
