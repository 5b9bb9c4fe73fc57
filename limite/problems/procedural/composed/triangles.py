"""Lengths in triangles where one of them is the answer to another question."""

from __future__ import annotations

import attrs

from limite.problems.procedural.chain import Composed, Link
from limite.problems.procedural.geometry.circle_angles import CircleAngles
from limite.problems.procedural.geometry.lattice_points import LatticePoints
from limite.problems.procedural.geometry.polygon_angles import PolygonAngles
from limite.problems.procedural.geometry.right_triangle_sides import RightTriangleSides
from limite.problems.procedural.geometry.triangle_radii import TriangleRadii
from limite.problems.procedural.sequences.figurate_numbers import FigurateNumbers


@attrs.frozen(kw_only=True)
class ComposedGeometry(Composed):
    """A question about triangles with lengths that other questions give."""

    name = "composed-geometry"
    tag = "composed/geometry"
    givers = (
        LatticePoints(),
        PolygonAngles(),
        CircleAngles(),
    )
    middles = (
        Link(
            FigurateNumbers(),
            {
                "triangular": ("place",),
                "polygonal": ("place",),
                "index": ("value",),
                "below": ("value",),
                "pyramid": ("place",),
                "tetrahedron": ("place",),
            },
        ),
    )
    lasts = (
        Link(
            RightTriangleSides(),
            {
                "hypotenuse": (
                    "a",
                    "b",
                ),
                "leg": (
                    "c",
                    "a",
                ),
                "altitude": ("a",),
                "isosceles": ("a",),
                "chain": ("a",),
            },
        ),
        Link(
            TriangleRadii(),
            {
                "area": (
                    "a",
                    "b",
                ),
                "altitude": ("c",),
                "inradius": ("a",),
                "circumradius": ("b",),
            },
        ),
    )
