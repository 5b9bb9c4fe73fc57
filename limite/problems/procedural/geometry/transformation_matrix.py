"""Matrices of linear maps of the plane."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.geometry import points
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings, matrix_text

_Number = Fraction | int
_Rows = list[list[_Number]]
_PLAIN: dict[str, _Rows] = {
    "reflects in the $x$-axis": [[1, 0], [0, -1]],
    "reflects in the $y$-axis": [[-1, 0], [0, 1]],
    "reflects in the line $y = x$": [[0, 1], [1, 0]],
    "reflects in the line $y = -x$": [[0, -1], [-1, 0]],
    "rotates by $90$ degrees anticlockwise about the origin": [[0, -1], [1, 0]],
    "rotates by $90$ degrees clockwise about the origin": [[0, 1], [-1, 0]],
    "rotates by $180$ degrees about the origin": [[-1, 0], [0, -1]],
}
_SLOPE = re.compile(r"(reflects in|projects perpendicularly onto) the line \$y = (-?[0-9]+)x\$")
_STRETCH = re.compile(r"multiplies all \$([xy])\$-coordinates by \$(-?[0-9]+)\$")
_SHEAR = re.compile(r"takes \$\(x, y\)\$ to \$\((x|x [-+] [0-9]+y), (y|y [-+] [0-9]+x)\)\$")


@attrs.frozen(kw_only=True)
class TransformationMatrix(Family):
    """The matrix of a linear map of the plane that is described in words."""

    name = "transformation-matrix"
    tag = "geometry/transformations"
    wordings = Wordings(
        "A linear map of the plane first <steps:text>. Find its matrix with respect to the "
        "standard basis, acting on column vectors.",
        "Give the matrix, acting on column vectors in the standard basis, of the linear map of "
        "the plane that first <steps:text>.",
    )

    steps: Ends = dial(2, 4, "how many maps follow each other", least=2, most=6)
    slopes: Ends = dial(0, 0.5, "share of lines with another slope", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.steps, difficulty))
        slopes = base.steady(self.slopes, difficulty)
        whole: _Rows = [[1, 0], [0, 1]]
        said: list[str] = []
        matrices: list[str] = []
        lost = False
        while len(said) < count:
            if rng.random() < slopes:
                m = points.nonzero(rng, 3)
                m = 2 if m == 1 else -2 if m == -1 else m
                kind = "reflects in"
                below = 1 + m * m
                rows: _Rows = [
                    [Fraction(1 - m * m, below), Fraction(2 * m, below)],
                    [Fraction(2 * m, below), Fraction(m * m - 1, below)],
                ]
                if not lost and rng.random() < 0.4:
                    lost, kind = True, "projects perpendicularly onto"
                    rows = [
                        [Fraction(1, below), Fraction(m, below)],
                        [Fraction(m, below), Fraction(m * m, below)],
                    ]
                text = f"{kind} the line $y = {m}x$"
            elif rng.random() < 0.5:
                k = base.chosen(rng, (-3, -2, 2, 3, 4, 5))
                if rng.random() < 0.5:
                    axis = base.chosen(rng, "xy")
                    text = f"multiplies all ${axis}$-coordinates by ${k}$"
                    rows = [[k, 0], [0, 1]] if axis == "x" else [[1, 0], [0, k]]
                else:
                    text = f"takes $(x, y)$ to $(x {'-' if k < 0 else '+'} {abs(k)}y, y)$"
                    rows = [[1, k], [0, 1]]
            else:
                text = base.chosen(rng, tuple(_PLAIN))
                rows = _PLAIN[text]
            if said and said[-1] == text:
                continue
            said.append(text)
            matrices.append(matrix_text(rows))
            whole = _product(rows, whole)
        return Drawn(
            values={"steps": ", then ".join(said)},
            gold=gold.matrix(whole),
            steps=f"The maps have the matrices ${', '.join(matrices)}$, in this order. The map "
            f"that comes first stands last in the product: "
            f"${' '.join(reversed(matrices))}$.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # By following both vectors of the basis through the maps as geometry tells.
        images = []
        for start in ((1, 0), (0, 1)):
            at: tuple[_Number, _Number] | None = start
            for step in values["steps"].split(", then "):
                at = None if at is None else _moved(step, *at)
            if at is None:
                return None
            images.append(at)
        (a, c), (b, d) = images
        return gold.matrix([[a, b], [c, d]])


def _moved(step: str, x: _Number, y: _Number) -> tuple[_Number, _Number] | None:
    plain = {
        "reflects in the $x$-axis": (x, -y),
        "reflects in the $y$-axis": (-x, y),
        "reflects in the line $y = x$": (y, x),
        "reflects in the line $y = -x$": (-y, -x),
        "rotates by $90$ degrees anticlockwise about the origin": (-y, x),
        "rotates by $90$ degrees clockwise about the origin": (y, -x),
        "rotates by $180$ degrees about the origin": (-x, -y),
    }
    if step in plain:
        return plain[step]
    line = _SLOPE.fullmatch(step)
    if line:
        m = int(line[2])
        foot = Fraction(x + m * y) / (1 + m * m)  # (t, mt) with a gap square to (1, m)
        if line[1] == "reflects in":
            return 2 * foot - x, 2 * m * foot - y
        return foot, m * foot
    stretch = _STRETCH.fullmatch(step)
    if stretch:
        k = int(stretch[2])
        return (k * x, y) if stretch[1] == "x" else (x, k * y)
    shear = _SHEAR.fullmatch(step)
    if shear and shear[2] == "y":
        k = int(shear[1][1:-1].replace(" ", "") or 0)
        return x + k * y, y
    return None


def _product(left: _Rows, right: _Rows) -> _Rows:
    return [[left[i][0] * right[0][j] + left[i][1] * right[1][j] for j in (0, 1)] for i in (0, 1)]
