"""Angles of a convex polygon from the others, from their ratio, or from one unknown."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import attrs

from limite.problems.procedural import base, gold
from limite.problems.procedural.family import Drawn, Ends, Family, dial
from limite.problems.procedural.gold import Gold
from limite.problems.procedural.wording import Wordings

_SHAPES = ("triangle", "quadrilateral", "pentagon", "hexagon", "heptagon", "octagon")


@attrs.frozen(kw_only=True)
class PolygonAngles(Family):
    """An interior angle of a convex polygon, from the others or from their ratio."""

    name = "polygon-angles"
    tag = "geometry/angles"
    wordings = Wordings(
        missing=(
            "All interior angles of <shape:text> except one are known. In degrees they "
            "are $<angles:integers>$. How many degrees does the last one measure?",
            "The interior angles of <shape:text> measure $<angles:integers>$ and $x$ "
            "degrees. Find $x$.",
        ),
        ratio=(
            "The interior angles of <shape:text> are in the ratio $<ratio:text>$. How "
            "many degrees does the largest of them measure?",
            "The sizes of the interior angles of <shape:text> are as $<ratio:text>$. "
            "Find the largest one in degrees.",
        ),
        unknown=(
            "The interior angles of <shape:text> measure $<sizes:text>$ degrees. How "
            "many degrees does the largest of them measure?",
            "In <shape:text> the interior angles are, in degrees, $<sizes:text>$. Find "
            "the largest angle in degrees.",
        ),
    )

    sides: Ends = dial(3, 8, "how many sides", least=3, most=8)
    indirect: Ends = dial(0, 0.9, "share that gives no angle outright", least=0, most=1)

    def draw(self, rng: random.Random, difficulty: float) -> Drawn:
        count = base.whole_near(rng, base.steady(self.sides, difficulty))
        indirect = rng.random() < base.steady(self.indirect, difficulty)
        shape, total = _SHAPES[count - 3], 180 * (count - 2)
        begin = (
            f"The interior angles of a polygon with ${count}$ sides sum to "
            f"${count - 2} \\cdot 180 = {total}$ degrees"
        )
        if not indirect:
            angles = _spread(rng, count, total, 20, 172)
            known = " + ".join(map(str, angles[:-1]))
            return Drawn(
                ask="missing",
                values={"shape": _named(shape), "angles": angles[:-1]},
                gold=gold.integer(angles[-1], "degrees"),
                steps=f"{begin}. The known ones sum to ${known} = {total - angles[-1]}$, and "
                f"${total} - {total - angles[-1]} = {angles[-1]}$ degrees remain.",
            )
        if rng.random() < 0.5:
            unit = base.chosen(rng, [each for each in range(5, 31) if total % each == 0])
            parts = _spread(rng, count, total // unit, 1, 175 // unit)
            if len(set(parts)) == 1:
                parts[0], parts[1] = parts[0] - 1, parts[1] + 1
            shared = math.gcd(*parts)
            parts, unit = [part // shared for part in parts], unit * shared
            ratio = " : ".join(map(str, parts))
            return Drawn(
                ask="ratio",
                values={"shape": _named(shape), "ratio": ratio},
                gold=gold.integer(max(parts) * unit, "degrees"),
                steps=f"{begin}, and there are ${' + '.join(map(str, parts))} = {sum(parts)}$ "
                f"parts. One part is ${total} : {sum(parts)} = {unit}$ degrees, and the largest "
                f"angle has {max(parts)} parts: ${max(parts)} \\cdot {unit} = "
                f"{max(parts) * unit}$.",
            )
        angles = _spread(rng, count, total, 30, 172)
        x = base.whole(rng, 7, 28)
        factors = [base.whole(rng, 1, min(7, angle // x)) for angle in angles]
        rests = [angle - factor * x for angle, factor in zip(angles, factors, strict=True)]
        sizes = [_linear(factor, rest) for factor, rest in zip(factors, rests, strict=True)]
        return Drawn(
            ask="unknown",
            values={"shape": _named(shape), "sizes": ", ".join(sizes)},
            gold=gold.integer(max(angles), "degrees"),
            steps=f"{begin}. So ${_linear(sum(factors), sum(rests))} = {total}$, which gives "
            f"$x = {x}$. The angles are then ${', '.join(map(str, angles))}$ degrees.",
        )

    def solve(self, ask: str, values: Mapping[str, Any]) -> Gold | None:
        # Who walks once around the polygon turns by 360 degrees: at each corner by what is
        # missing to 180.
        article, _, shape = values["shape"].partition(" ")
        if shape not in _SHAPES or article != _named(shape).partition(" ")[0]:
            return None
        count = _SHAPES.index(shape) + 3
        if ask == "missing":
            turned = sum(180 - angle for angle in values["angles"])
            found = 180 - (360 - turned) if len(values["angles"]) == count - 1 else 0
        else:
            if ask == "ratio":
                lines = [(int(part), 0) for part in values["ratio"].split(" : ")]
            else:
                lines = [_read(part) for part in values["sizes"].split(", ")]
            fits = [
                x
                for x in range(1, 181)
                if sum(180 - factor * x - rest for factor, rest in lines) == 360
            ]
            if len(fits) != 1 or len(lines) != count:
                return None
            found = max(factor * fits[0] + rest for factor, rest in lines)
        return gold.integer(found, "degrees") if 0 < found < 180 else None


def _named(shape: str) -> str:
    """The shape with its article."""
    return f"{'an' if shape == 'octagon' else 'a'} {shape}"


def _spread(rng: random.Random, count: int, total: int, low: int, high: int) -> list[int]:
    """Whole numbers with a sum: equal at first, then each gives some to its neighbour."""
    sizes = [total // count + (place < total % count) for place in range(count)]
    for place in range(count):
        giver, taker = sizes[place], sizes[place - 1]
        given = base.whole(rng, 0, max(0, min(giver - low, high - taker)))
        sizes[place], sizes[place - 1] = giver - given, taker + given
    return sizes


def _linear(factor: int, rest: int) -> str:
    """``3x + 10``."""
    sign = f" {'-' if rest < 0 else '+'} {abs(rest)}" if rest else ""
    return base.term(factor, "x", first=True) + sign


def _read(text: str) -> tuple[int, int]:
    factor, _, rest = text.partition("x")
    return int(factor or 1), int(rest.replace(" ", "") or 0)
