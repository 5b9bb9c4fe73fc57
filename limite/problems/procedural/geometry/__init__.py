"""Geometry: angles, lengths, areas, coordinates, circles, solids and vectors."""

FAMILIES: dict[str, str] = {
    "circle-angles": "circle_angles:CircleAngles",
    "circle-equation": "circle_equation:CircleEquation",
    "lattice-points": "lattice_points:LatticePoints",
    "line-equation": "line_equation:LineEquation",
    "point-distance": "point_distance:PointDistance",
    "polygon-angles": "polygon_angles:PolygonAngles",
    "polygon-area": "polygon_area:PolygonArea",
    "right-triangle-sides": "right_triangle_sides:RightTriangleSides",
    "section-point": "section_point:SectionPoint",
    "triangle-centre": "triangle_centre:TriangleCentre",
    "triangle-lines": "triangle_lines:TriangleLines",
}
"""Name to ``module:Class`` in this package."""
